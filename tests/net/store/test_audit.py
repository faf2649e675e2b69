"""The audit trail of a store: all that was told, with where it came from, and nothing that was not kept."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from ostiary_core import Instant, Why
from ostiary_core.conformance.scenario import origin_of
from ostiary_core.events import ClientDisabled, ClientEnabled, GraceExpired, Operator, UserForcedOut
from ostiary_core.model.audit import NOT_KEPT, AuditEntry, Origin
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import SECOND_MS
from ostiary_core.model.reply import TokensIssued
from tests.support import asks
from tests.support.stores import KINDS, ContractStore, live, make_scenario, open_kind, world_on
from tests.support.story import START

PHONE = Origin(trace_id="trace of the request", source="2001:db8::1", user_agent="Phone/1.0")


def test_every_fact_is_kept_with_the_origin_of_its_event(store: ContractStore) -> None:
    told = [
        (fact.kind, fact.changes, origin_of(place))
        for place, (_, decision) in enumerate(live(store))
        for fact in decision.facts
        if fact.kind not in NOT_KEPT
    ]
    instants = {batch.at for batch in make_scenario()}
    entries = store.audit()
    assert len(entries) == len(told)
    assert [entry.number for entry in entries] == sorted({entry.number for entry in entries})
    assert {type(value) for _, changes, _ in told for change in changes for value in change[1:]} >= {
        *(str, bool, int, tuple, type(None))
    }
    for entry, (kind, changes, origin) in zip(entries, told, strict=True):
        assert (entry.kind, entry.changes) == (kind, changes)
        assert entry.at in instants
        assert entry.trace_id == (origin and origin.trace_id)
        assert entry.source == (origin and origin.source)


def test_a_refusal_that_changes_nothing_and_housekeeping_are_not_kept(store: ContractStore) -> None:
    world = world_on(store)
    world.tokens()
    before = store.audit()
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    pair = world.tokens()
    world.when(asks.refresh(world.basic(), pair)).then(TokensIssued)
    world.wait(60)
    salted = [session.session_id for session in world.sessions() if session.salt is not None]
    [decision] = store.turn([GraceExpired(session_id=salted[0])], world.now)
    assert [fact.kind for fact in decision.facts] == [FactKind.SALT_ERASED]
    kinds = {entry.kind for entry in store.audit()[len(before) :]}
    assert kinds.isdisjoint(NOT_KEPT)


@pytest.mark.parametrize("kind", KINDS)
def test_entries_go_by_their_age_whatever_order_they_were_kept_in(kind: str) -> None:

    @settings(max_examples=10)
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 10), st.integers(1, 8))
    def forgotten(seconds: list[int], older_than: int, limit: int) -> None:
        with (
            TemporaryDirectory() as folder,
            open_kind(kind, Path(folder)) as open_store,
            open_store() as store,
        ):
            credentials = world_on(store).basic()
            for second in seconds:
                store.turn([asks.machine(credentials)], Instant(START + second * SECOND_MS))
            now = Instant(START + 10 * SECOND_MS)
            entries = store.audit()
            kept = [entry for entry in entries if entry.at >= now - older_than * SECOND_MS]
            due = len(entries) - len(kept)
            while due:
                assert store.forget_entries(now, older_than, limit) == min(due, limit)
                due -= min(due, limit)
                assert len(store.audit()) == len(kept) + due
                assert set(kept) <= set(store.audit())
            assert store.forget_entries(now, older_than, limit) == 0
            assert list(store.audit()) == kept

    forgotten()


# --- the life of one session


def test_the_life_of_a_session_is_told_in_order(store: ContractStore) -> None:
    world = world_on(store)
    pair = world.tokens()
    world.wait(60)
    store.turn([asks.refresh(world.basic(), pair)], world.now, [PHONE])
    world.wait(31)
    store.turn([asks.refresh(world.basic(), pair)], world.now, [PHONE])
    life = store.session_history(world.the_session().session_id)
    assert life is not None
    assert life.session == world.the_session()
    assert [entry.kind for entry in life.entries] == [
        FactKind.CODE_USED,
        FactKind.SESSION_STARTED,
        FactKind.PAIR_ROTATED,
        FactKind.SESSION_ENDED,
    ]
    assert life.entries[-1].why is Why.REPLAYED_AFTER_GRACE
    assert life.entries[-1].earlier_at == life.entries[-2].at
    assert life.inherited_ending is None


def test_a_session_that_is_not_there_has_no_life(store: ContractStore) -> None:
    assert store.session_history("nobody") is None
    assert store.session_history("\ud800") is None


@pytest.mark.parametrize("what", ["user", "client"])
@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("later", [0, 2])
def test_the_ending_from_above_is_the_first_after_the_session_began(
    store: ContractStore, what: str, earlier: int, later: int
) -> None:
    world = world_on(store)

    def end() -> None:
        world.wait(1)
        if what == "user":
            world.when(UserForcedOut(caller=Operator(), user_id=world.user_ids["alice"]))
        else:
            world.given(ClientDisabled(caller=Operator(), client_id="app"))
            world.given(ClientEnabled(caller=Operator(), client_id="app"))

    for _ in range(earlier):
        end()
    world.tokens()
    session = world.the_session()
    alive = store.session_history(session.session_id)
    assert alive is not None
    assert alive.inherited_ending is None
    end()
    ended_at = world.now
    for _ in range(later):
        end()
    life = store.session_history(session.session_id)
    assert life is not None
    ending = life.inherited_ending
    assert isinstance(ending, AuditEntry)
    assert ending.at == ended_at
    assert ending.kind is (FactKind.USER_SESSIONS_ENDED if what == "user" else FactKind.CLIENT_DISABLED)
