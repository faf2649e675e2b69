"""A turn: atomic, durable, and the same whether its events come together or one by one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostiary_core import Decision, Entropy, MemoryStore, Why
from ostiary_core.decide import READ_ONLY
from ostiary_core.events import (
    Event,
    Operator,
    RoleChanged,
    RoleDeleted,
    RoleRegistered,
    SignInAttempted,
    UserChanged,
    UserDeleted,
)
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Refused, TokensIssued, UserKnown
from ostiary_core.model.records import RECORD_TABLES, Identifier, Record, Table
from tests.core import asks, story
from tests.core.story import START
from tests.net.store.lives import FIRST_ADMINISTRATOR, a_life, origin_of
from tests.net.store.stores import KINDS, ContractStore, opened


def all_of(store: ContractStore) -> tuple[set[object], Sequence[object]]:
    """Everything a store holds."""
    return {record for table in RECORD_TABLES for record in store.records(table)}, store.audit()


EVENTS = tuple(chain.from_iterable(a_life()))
WAVES = tuple(accumulate(len(wave) for wave in a_life()))
"""Where each wave ends, and so where there must be a cut."""


def live(store: ContractStore, cuts: Iterable[int] = ()) -> list[Decision]:
    """Live the recorded life in turns cut between the waves and at these places."""
    origins = [origin_of(place) for place in range(len(EVENTS))]
    decisions = []
    for start, end in pairwise([0, *sorted({*WAVES, *cuts})]):
        decisions += store.turn(EVENTS[start:end], START, origins[start:end])
    return decisions


def live_one_by_one(store: ContractStore) -> list[Decision]:
    return live(store, range(1, len(EVENTS)))


@pytest.fixture(scope="module")
def reference() -> tuple[list[Decision], ContractStore]:
    """The life on the reference store, an event a turn."""
    store = MemoryStore()
    return live_one_by_one(store), store


def test_the_recorded_life_touches_every_table(reference: tuple[list[Decision], ContractStore]) -> None:
    assert all(reference[1].records(table) for table in RECORD_TABLES)


@pytest.mark.parametrize("kind", KINDS)
def test_however_events_are_cut_into_turns_the_outcome_is_the_same(
    kind: str, reference: tuple[list[Decision], ContractStore]
) -> None:
    @settings(max_examples=8)
    @given(st.sets(st.integers(1, len(EVENTS) - 1)))
    def cut(places: set[int]) -> None:
        with TemporaryDirectory() as folder, opened(kind, Path(folder)) as open_store, open_store() as store:
            assert live(store, places) == reference[0]
            assert all_of(store) == all_of(reference[1])

    cut()


def test_turns_of_many_events_are_the_same_as_an_event_a_turn(
    store: ContractStore, reference: tuple[list[Decision], ContractStore]
) -> None:
    assert live(store) == reference[0]
    assert all_of(store) == all_of(reference[1])


def test_events_that_only_read_find_the_same_beside_the_turns(durable_store: ContractStore) -> None:
    live(durable_store)
    reading: list[Event] = [event for event in EVENTS if isinstance(event, READ_ONLY)]
    assert reading
    before = all_of(durable_store)
    assert cast(Any, durable_store).read(reading, START) == durable_store.turn(reading, START)
    assert all_of(durable_store) == before


def test_an_event_that_may_write_is_not_decided_beside_the_turns(durable_store: ContractStore) -> None:
    with pytest.raises(TypeError, match="turn"):
        cast(Any, durable_store).read([story.client()], START)


# --- failing


class Unheard:
    """No event of ours: whatever is done with it raises."""


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_turn_that_fails_leaves_nothing_and_the_next_one_works(store: ContractStore, place: int) -> None:
    store.turn(a_life()[0], START)
    before = all_of(store)
    events = [asks.user("dave"), asks.user("erin")]
    events.insert(place, cast(Any, Unheard()))
    with pytest.raises(BaseException):  # noqa: B017, PT011 (whatever the rules raise for it)
        store.turn(events, START)
    assert all_of(store) == before
    [decision] = store.turn([asks.user("dave")], START)
    assert isinstance(decision.reply, UserKnown)


@pytest.mark.parametrize(
    "user_agent", ["nul\x00inside", "\x00", "\xff\xfe", "x" * 60_000, "\U0010ffff\ufffe", "%s ?"]
)
def test_no_user_agent_fails_the_turn_that_others_share(store: ContractStore, user_agent: str) -> None:
    world = world_on(store)
    odd = replace(asks.machine(world.basic()), user_agent=user_agent)
    guess = SignInAttempted(
        username="alice",
        verified_against=None,
        password_matches=False,
        user_agent=user_agent,
        source="203.0.113.7",
        entropy=asks.fresh_entropy(),
    )
    origin = Origin(trace_id="trace", source="203.0.113.7", user_agent=user_agent)
    decisions = store.turn([odd, guess, asks.machine(world.basic())], START, [origin, origin, None])
    assert [type(decision.reply) for decision in decisions] == [TokensIssued, Refused, TokensIssued]
    assert len(world.sessions()) == 2


@pytest.mark.parametrize("text", ["half a pair \ud800", "nul\x00inside", "\udfff"])
def test_text_that_no_store_can_hold_is_refused_as_a_bad_field(store: ContractStore, text: str) -> None:
    world = world_on(store)
    decisions = store.turn(
        [
            story.client("another", name=text),
            story.client(text),
            story.client("another", redirectUris=[f"https://app.example/{text}"]),
            asks.user(text),
        ],
        START,
    )
    assert [decision.reply.why for decision in decisions if isinstance(decision.reply, Refused)] == (
        [Why.FIELDS_INVALID] * 4
    )
    assert len(store.records(Table.USER)) == len(world.user_ids)


# --- uniqueness


@pytest.mark.parametrize("second", ["alice", "ALICE", "\uff41lice"])
@pytest.mark.parametrize("together", [True, False], ids=["in one turn", "in two turns"])
def test_a_user_name_is_given_out_once(store: ContractStore, second: str, together: bool) -> None:
    events = [asks.user("alice"), asks.user(second)]
    turns = [events] if together else [[event] for event in events]
    first, refused = [decision for turn in turns for decision in store.turn(turn, START)]
    assert isinstance(first.reply, UserKnown)
    assert isinstance(refused.reply, Refused)
    assert refused.reply.why is Why.ALREADY_TAKEN
    assert len(store.records(Table.USER)) == 1


# --- deleted and made again


def _name(username: str, user_id: str, **fields: object) -> Event:
    return UserChanged(caller=Operator(), user_id=user_id, fields={"username": username, **fields})


def _role(name: str) -> Event:
    return RoleRegistered(caller=Operator(), fields={"code": "clerk", "name": name})


_UNMADE: Event = RoleDeleted(caller=Operator(), role_id="clerk")
_RENAMED: Event = RoleChanged(caller=Operator(), role_id="clerk", fields={"name": "Clerks"})

AGAIN: dict[str, Callable[[str, str], list[Event]]] = {
    "a name and back": lambda one, _: [_name("bobby", one), _name("alice", one)],
    "a number off and on": lambda one, _: [
        _name("alice", one, phone=None),
        _name("alice", one, phone="+15550100"),
    ],
    "a name to another": lambda one, two: [_name("bobby", one), _name("alice", two)],
    "two names swapped": lambda one, two: [_name("x", one), _name("alice", two), _name("ben", one)],
    "a user and another of the name": lambda one, _: [
        UserDeleted(caller=Operator(), user_id=one),
        replace(asks.user("alice", phone="+15550100"), entropy=Entropy(b"again".ljust(32))),
    ],
    "a role as it was": lambda *_: [_UNMADE, _role("Clerk")],
    "a role otherwise": lambda *_: [_UNMADE, _role("Another")],
    "a role changed between": lambda *_: [
        _RENAMED,
        _UNMADE,
        _role("Clerk"),
        _RENAMED,
        _UNMADE,
        _role("Clerk"),
    ],
    "a role gone in the end": lambda *_: [_UNMADE, _role("Clerk"), _UNMADE],
}
"""What happens to two users and a role in one turn."""


def _standing(store: ContractStore) -> set[Record]:
    """What stands, apart from revisions: how often something was written is for the turn to say."""
    return {replace(record, revision=1) for table in RECORD_TABLES for record in store.records(table)}


@pytest.mark.parametrize("again", AGAIN)
def test_what_is_deleted_and_made_again_in_one_turn_is_there(store: ContractStore, again: str) -> None:
    """And what comes after finds it as it would after as many turns."""
    one_by_one = MemoryStore()
    alice, ben = asks.user("alice", phone="+15550100"), asks.user("ben")
    known: list[str] = []
    for each in (store, one_by_one):
        made = each.turn([FIRST_ADMINISTRATOR, alice, ben, _role("Clerk")], START)
        known = [decision.reply.user.user_id for decision in made if isinstance(decision.reply, UserKnown)][
            1:
        ]
    events = AGAIN[again](*known)
    before = {record.key: record for table in RECORD_TABLES for record in store.records(table)}
    afterwards: list[Event] = [
        _UNMADE,
        _role("Last"),
        *(_name(f"free{at}", id) for at, id in enumerate(known)),
    ]
    together = store.turn(events, START)
    assert [type(each.reply) for each in together] == [
        type(one_by_one.turn([event], START)[0].reply) for event in events
    ]
    assert _standing(store) == _standing(one_by_one)
    for record in (record for table in RECORD_TABLES for record in store.records(table)):
        earlier = before.get(record.key, record)
        if not isinstance(record, Identifier):
            assert record == earlier or record.revision > earlier.revision
    for event in afterwards:
        [found], [expected] = store.turn([event], START), one_by_one.turn([event], START)
        assert type(found.reply) is type(expected.reply)
    assert _standing(store) == _standing(one_by_one)


def world_on(store: ContractStore) -> story.World:
    """The story's world with one client and one user, on this store."""
    world = story.World()
    world.store = cast(MemoryStore, store)
    return world.given(
        FIRST_ADMINISTRATOR,
        story.client(),
        story.user(),
    )
