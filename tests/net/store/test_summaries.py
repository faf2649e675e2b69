"""Summaries: every store counts each entry of its trail once, and keeps what it is given beside."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import cast

from fuzz.shared.memory_store import merge_hours
from ostiary_core.conformance.scenario import make_scenario
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant
from ostiary_core.model.why import Why
from ostiary_net.observability.summaries import (
    ALL_CLIENTS,
    HOUR_MS,
    REFUSALS_KEPT,
    Metric,
    Milestone,
    Refusal,
    SummaryKey,
    SummaryStore,
    Tallies,
    Tally,
    tally_entries,
)
from tests.support import asks
from tests.support.stores import ContractStore, OpenStore

DAY_SECONDS = 24 * 60 * 60
HOUR = Instant(500_000 * HOUR_MS)
END = Instant(HOUR + 9_000_000 * HOUR_MS)


def live(store: ContractStore) -> Instant:
    """Give a store a trail; return its last instant."""
    at = Instant(0)
    for batch in make_scenario():
        store.turn(batch.events, batch.at)
        at = max(at, batch.at)
    return at


def everything(store: SummaryStore) -> Tallies:
    """Return all tallies that a store keeps."""
    return {
        **store.summaries(Instant(0), END, of_clients=False),
        **store.summaries(Instant(0), END, of_clients=True),
    }


def count_trail(store: ContractStore) -> Tallies:
    """Return the tallies that a store should keep: by the hour over all clients, and for each client."""
    of_all = tally_entries(store.audit())
    of_clients = {key: of_all.pop(key) for key in list(of_all) if key.client_id != ALL_CLIENTS}
    return {**of_all, **merge_hours(of_clients)}


def test_each_entry_is_counted_once(store: ContractStore) -> None:
    now = Instant(live(store) + 2 * MINUTE_MS)
    expected = count_trail(store)
    assert {key.what for key in expected} >= {Metric.STARTED, Metric.REFRESHED, Metric.RETRIED, Metric.ENDED}
    counts = [*iter(lambda: store.count_entries(now, 3), 0)]
    assert (sum(counts), max(counts)) == (len(store.audit()), 3)
    assert everything(store) == expected
    assert store.state().uncounted == 0
    store.turn([asks.user("ahead")], END)
    store.turn([asks.user("behind")], now)
    store.count_entries(Instant(END + 2 * MINUTE_MS), 3)
    store.forget_entries(END, DAY_SECONDS, 10_000)
    assert store.state().uncounted == 0, "the last entry that was counted is gone, and one before it is left"


def test_several_that_count_at_once_count_each_entry_once(open_durable_store: OpenStore) -> None:
    with open_durable_store() as one, open_durable_store() as other:
        now = Instant(live(one) + 2 * MINUTE_MS)
        of_a_later_release = SummaryKey("app", HOUR, cast(Metric, "of a later release"), "")
        one.add_tallies({of_a_later_release: Tally(1)}, (), now)
        with ThreadPoolExecutor(4) as pool:
            rounds = (pool.map(lambda each: each.count_entries(now, 2), [one, other] * 2) for _ in range(60))
            assert sum(map(sum, rounds)) == len(one.audit())
        assert everything(other) == count_trail(one)


def test_tallies_add_up_and_are_forgotten_when_they_are_old(store: ContractStore) -> None:
    retry = SummaryKey("app", HOUR, Metric.RETRIED, "5")
    refused = SummaryKey(ALL_CLIENTS, Instant(HOUR + HOUR_MS), Metric.REFUSED, Why.CLIENT_UNKNOWN.value)
    add = partial(store.add_tallies, refusals=(), now=HOUR)
    add({retry: Tally(1, 2_000, 2_000), refused: Tally(7)})
    add({retry._replace(hour=refused.hour): Tally(2, 5_000, 4_000)})
    assert store.summaries(HOUR, END, of_clients=True) == {retry: Tally(3, 7_000, 4_000)}
    assert store.summaries(HOUR, END, of_clients=False) == {refused: Tally(7)}
    assert not store.summaries(HOUR, HOUR, of_clients=True)
    assert store.forget_summaries(Instant(refused.hour + DAY_SECONDS * SECOND_MS), DAY_SECONDS, 10) == 1
    assert everything(store) == {refused: Tally(7), retry._replace(hour=refused.hour): Tally(2, 5_000, 4_000)}


def test_the_last_refusals_of_a_client_are_kept(store: ContractStore) -> None:
    refusals = [
        Refusal(client_id, Instant(HOUR + place), f"{place:032}", "refresh_requested", Why.TOKEN_UNKNOWN)
        for place in range(2 * REFUSALS_KEPT)
        for client_id in ("app", "other")
    ]
    for start in range(0, len(refusals), 9):
        store.add_tallies({}, refusals[start : start + 9], HOUR)
    of_app = [each for each in refusals if each.client_id == "app"]
    assert store.last_refusals("app") == of_app[: -1 - REFUSALS_KEPT : -1]
    assert store.last_refusals("nobody") == []
    gone = store.forget_summaries(Instant(HOUR + 2 * DAY_SECONDS * SECOND_MS), DAY_SECONDS, 1)
    assert gone == 2 * REFUSALS_KEPT


def test_a_store_remembers_when_something_was_last_done(store: ContractStore) -> None:
    assert (store.state().milestones, store.state().uncounted) == ({}, 0)
    for at in (HOUR, Instant(HOUR + 5)):
        store.record_milestone(Milestone.SWEPT, at)
    live(store)
    state = store.state()
    assert (state.milestones, state.schema) == ({Milestone.SWEPT: HOUR + 5}, state.known_schema)
    assert state.uncounted == len(store.audit())
