"""Summaries are made in batches of the trail, each followed by a rest as long, and a sample an hour."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import MockClock

from ostiary_core.model.audit import audit_entries
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import CLIENT_ENDINGS, CONSENT_ENDINGS, USER_ENDINGS, Fact, FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import Done
from ostiary_net.observability.summaries import HOUR_MS, Metric, Tally, hour_of, tally_entries
from ostiary_net.runtime.system import run_inline
from ostiary_net.upkeep import summarising
from ostiary_net.upkeep.summarising import Summarising
from tests.support import asks
from tests.support.stores import HandClock, PlainStore, world_on
from tests.support.story import START

T = TypeVar("T")
STEP_SECONDS = 2.0


async def run_slowly(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
    await trio.sleep(STEP_SECONDS)
    return sync_fn()


@pytest.mark.parametrize(
    "until, counted, steps", [(1_000.0, 8, 3 + 2 + 2), (1.0, 3, 1 + 2)], ids=["to the end", "for a moment"]
)
async def test_each_batch_is_followed_by_a_rest_as_long_until_the_time_is_up(
    until: float, counted: int, steps: int, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarising, "_ENTRIES_A_BATCH", 3)
    store, clock = PlainStore(), HandClock()
    store.turn([asks.user(f"user{number}") for number in range(8)], START)
    clock.wait(120)
    assert await Summarising(store, clock, run_sync=run_slowly).summarise_once(until) == counted
    assert trio.current_time() == steps * STEP_SECONDS, "batches, their rests, a sample, what is old"


async def test_running_sessions_are_counted_by_kind_once_an_hour() -> None:
    store, clock = PlainStore(), HandClock()
    world = world_on(store)

    async def sample() -> dict[str, int]:
        await Summarising(store, clock, run_sync=run_inline).summarise_once()
        hour = hour_of(clock.now())
        found: Any = store.summaries(hour, Instant(hour + HOUR_MS), of_clients=False)
        return {key.detail: tally.number for key, tally in found.items() if key.what is Metric.RUNNING}

    world.machine_token()
    first = {kind.value: int(kind is SessionKind.CLIENT_CREDENTIALS) for kind in SessionKind}
    assert await sample() == first
    world.machine_token()
    assert await sample() == first
    clock.wait(60 * 60)
    assert await sample() == {**first, "client_credentials": 2}


def tally(fact: Fact) -> dict[tuple[Metric, str, str], Tally]:
    """Return what a fact adds to the summaries, by metric, detail and client."""
    entries = audit_entries([Decision(Done(), facts=(fact,))], [], START)
    return {(key.what, key.detail, key.client_id): added for key, added in tally_entries(entries).items()}


@pytest.mark.parametrize(
    "late_ms, most", [(0, 1), (1_000, 1), (1_001, 5), (5_001, 10), (10_001, 20), (20_001, 30), (30_001, 30)]
)
def test_a_retry_counts_under_the_least_bound_of_its_delay(late_ms: int, most: int) -> None:
    fact = Fact(kind=FactKind.PAIR_REPEATED, client_id="app", earlier_at=Instant(START - late_ms))
    assert tally(fact) == {
        (Metric.RETRIED, str(most), client_id): Tally(1, late_ms, late_ms) for client_id in ("", "app")
    }


def test_what_an_entry_does_not_say_counts_as_none() -> None:
    for earlier_at in (None, Instant(START + 5)):
        fact = Fact(kind=FactKind.PAIR_REPEATED, earlier_at=earlier_at)
        assert tally(fact) == {(Metric.RETRIED, "1", ""): Tally(1, 0, 0)}
    assert tally(Fact(kind=FactKind.SESSION_ENDED)) == {(Metric.ENDED, "", ""): Tally(1)}


@pytest.mark.parametrize("kind", [*USER_ENDINGS, *CLIENT_ENDINGS, *CONSENT_ENDINGS])
def test_what_ends_sessions_together_counts_once(kind: FactKind) -> None:
    assert tally(Fact(kind=kind)) == {(Metric.ENDED_TOGETHER, kind.value, ""): Tally(1)}
