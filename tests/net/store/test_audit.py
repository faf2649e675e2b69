"""Entries that the trail leaves out, and those that count as a use of a client.

The kit (test_conformance.py) checks all other entries, and the history and ending of each session.
"""

from typing import cast

from ostiary_core.events import ClientDisabled, GraceExpired, Operator
from ostiary_core.model.audit import NOT_KEPT
from ostiary_core.model.fact import FactKind
from ostiary_core.model.reply import TokensIssued
from ostiary_net.sql.store import SQLStore
from ostiary_net.turns.ports import TrailEnd
from tests.support import asks, story
from tests.support.stores import ContractStore, world_on
from tests.support.story import START


def test_a_refusal_that_changes_nothing_and_housekeeping_are_not_kept(store: ContractStore) -> None:
    world = world_on(store)
    world.tokens()
    before = store.audit()
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    world.when(asks.refresh(world.basic(), world.tokens())).then(TokensIssued)
    world.wait(60)
    salted = [session.session_id for session in world.sessions() if session.salt is not None]
    [decision] = store.turn([GraceExpired(session_id=salted[0])], world.now)
    assert [fact.kind for fact in decision.facts] == [FactKind.SALT_ERASED]
    assert {entry.kind for entry in store.audit()[len(before) :]}.isdisjoint(NOT_KEPT)


def test_changes_and_refusals_of_a_client_are_no_use_of_it(store: ContractStore) -> None:
    world = world_on(store)
    pair = world.tokens()
    used_at = world.now
    world.wait(60).when(asks.revoke(world.basic(), pair.refresh_token))
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    world.given(ClientDisabled(caller=Operator(), client_id="app"), story.client("unused"))
    assert store.last_used(["app", "unused", "\0"]) == {"app": used_at}


def test_the_trail_ends_with_its_last_entry_and_is_read_in_parts(durable_store: ContractStore) -> None:
    store = cast(SQLStore, durable_store)
    assert store.trail_end().number == 0
    durable_store.turn([asks.user(f"user{number}") for number in range(9)], START)
    assert store.trail_end() == TrailEnd(9, frozenset())
    parts = [store.entries_between(after, 8, 4) for after in (0, 4, 8)]
    assert [[entry.number for entry in part] for part in parts] == [[1, 2, 3, 4], [5, 6, 7, 8], []]
