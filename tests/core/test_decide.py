"""`decide` is pure and total, and `keys` names what it reads, for any event over any state."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given as for_all, settings, strategies as st

import ostiary_core.events
from ostiary_core import (
    Entropy,
    Instant,
    MemoryStore,
    NotLoaded,
    Policy,
    Secret,
    Why,
    events as e,
    keys,
    load,
)
from ostiary_core.conformance.scenario import make_scenario
from ostiary_core.decide import READ_ONLY, RULES, decide, take_turn
from ostiary_core.model.decision import Decision, Delete, Insert, Update
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.records import RECORD_TABLES, Key, Record
from ostiary_core.model.reply import AuthorizationOffered, LoginIssued, Refused, Reply, TokensIssued
from ostiary_core.model.secret import digest_of
from tests.support import asks
from tests.support.story import World, client, given, user
from tests.support.strategies import EVENTS, Pool, copy_of, events, instants


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_entropy_of_another_length_than_32_bytes_is_a_fault_of_the_program(world: World, length: int) -> None:
    event = replace(asks.machine(world.basic()), entropy=Entropy(bytes(length)))
    with pytest.raises(ValueError, match=f"expected 32 random bytes as entropy, got {length}"):
        decide(event, load([keys(event)], world.store.fetch), world.now)


def everything(store: MemoryStore) -> dict[Key, Record]:
    return {record.key: record for table in RECORD_TABLES for record in store.records(table)}


ALLOWED = ["iam.user.list", "iam.user.update", "iam.role.create", "oauth.client.create"]
NOW = Instant(make_scenario()[-1].at + 1_000)


def make_store() -> tuple[MemoryStore, Pool]:
    """Make a store after the kit's recorded life, and list what a caller may know of it."""
    store, secrets = MemoryStore(Policy(second_factor_key=bytes(32))), list[str]()
    for batch in make_scenario():
        for decision in store.turn(batch.events, batch.at):
            secrets.extend(secret.reveal() for secret in secrets_in((decision.reply, batch.events)))
    clerk = asks.role("scribe", *ALLOWED)
    people = [user("erin", roles=("super_admin",)), user("carl", roles=("scribe",)), user("gus")]
    world = World(store=store, now=NOW).given(clerk, *people, user("dave", must_change_password=True))
    world.given(client("shop", autoApproveScopes=["user.read"]), client("off"))
    replies = [world.tokens(name, client_id) for name in ("gus", "erin") for client_id in ("shop", "off")]
    replies.append(world.when(asks.refresh(world.basic("shop"), replies[0])).then(TokensIssued))
    logins = [world.login(name) for name in ("erin", "carl", "gus", "dave")]
    secrets.extend(secret.reveal() for secret in secrets_in((*replies, *logins, *world.secrets.values())))
    world.given(e.ClientDisabled(caller=e.Operator(), client_id="off"))
    by_name = {
        "permission": ALLOWED,
        "response_type": ["code"],
        "code_challenge_method": ["S256"],
        "code_verifier": [asks.VERIFIER],
        "scope": ["user.read"],
        "verified_against": ["the hash of a password", asks.hash_of("right")],
    }
    for record in everything(store).values():
        for each in fields(record):
            value = getattr(record, each.name)
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and text not in by_name.setdefault(each.name, []):
                    by_name[each.name].append(text)
    apt = {name: tuple(texts) for name, texts in by_name.items() if texts}
    words = tuple(dict.fromkeys(word for texts in apt.values() for word in texts))
    return store, Pool(words, tuple(dict.fromkeys(secrets)), apt)


def secrets_in(value: object) -> Iterator[Secret]:
    """Yield every secret in events and replies, however deep."""
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from secrets_in(item)
    elif is_dataclass(value):
        yield from secrets_in(tuple(getattr(value, each.name) for each in fields(value)))


STORE, POOL = make_store()


def decide_twice(event: e.Event, store: MemoryStore, now: Instant) -> Decision:
    """Decide twice, expect the same decision, and return it."""
    snapshot = load([keys(event)], store.fetch)
    decision = decide(event, snapshot, now, store.policy)
    assert decide(event, snapshot, now, store.policy) == decision
    assert isinstance(decision.reply, Reply)
    if type(event) in READ_ONLY:
        assert decision.changes == ()
    return decision


def assert_writable(decision: Decision, store: MemoryStore) -> None:
    """Check that each change starts from what stands and leads to its next revision."""
    seen: dict[Key, Record | None] = {}

    def standing(record: Record) -> Record | None:
        if record.key in seen:
            return seen[record.key]
        return next(iter(store.fetch(record.key.table, [record.key.id])), None)

    for change in decision.changes:
        match change:
            case Insert(record):
                assert standing(record) is None
                assert record.revision == 1
                seen[record.key] = record
            case Update(before, after):
                assert standing(before) == before
                assert (after.key, after.revision) == (before.key, before.revision + 1)
                seen[after.key] = after
            case Delete(before):
                known = standing(before)
                assert known is not None
                assert known.revision == before.revision
                seen[before.key] = None


def test_every_event_has_its_rule_and_only_events_have_one() -> None:
    assert set(RULES) == set(EVENTS)
    assert {kind.__name__ for kind in EVENTS} <= vars(ostiary_core.events).keys()


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@settings(max_examples=20)
@for_all(data=st.data())
def test_any_event_over_a_state_that_history_led_to_is_decided(kind: type, data: st.DataObject) -> None:
    assert_writable(decide_twice(data.draw(events(kind, POOL)), STORE, data.draw(instants(NOW))), STORE)


@settings(max_examples=60)
@for_all(
    batch=st.lists(
        st.deferred(lambda: st.one_of([events(kind, POOL) for kind in EVENTS])), min_size=2, max_size=6
    ),
    now=instants(NOW),
)
def test_a_turn_decides_as_one_by_one(batch: list[e.Event], now: Instant) -> None:
    """Load at once what all events of a turn need, and decide each as if it came alone."""
    batch = [_with_own_entropy(event, place) for place, event in enumerate(batch)]
    together, one_by_one = copy_of(STORE), copy_of(STORE)

    assert together.turn(batch, now) == [one_by_one.turn([event], now)[0] for event in batch]
    assert everything(together) == everything(one_by_one)


def _with_own_entropy(event: Any, place: int) -> Any:
    """Give an event its own random bytes, as no two events share them and no caller knows them before."""
    if isinstance(event, e.BatchRequested):
        parts = tuple(_with_own_entropy(part, 10 * place + nth) for nth, part in enumerate(event.events, 1))
        return replace(event, events=parts)
    own: dict[str, Any] = {"entropy": Entropy(digest_of(f"turn {place}"))}
    return replace(event, **own) if any(field.name in own for field in fields(event)) else event


def test_a_turn_leaves_the_snapshot_it_was_handed_alone(world: World) -> None:
    event = client("newcomer")
    snapshot = load([keys(event)], world.store.fetch)
    first = take_turn([event, event], snapshot, world.now)
    assert take_turn([event, event], snapshot, world.now) == first
    taken = (FieldFault("clientId", Why.ALREADY_TAKEN),)
    assert [decision.reply for decision in first][1] == Refused(Why.ALREADY_TAKEN, taken)


@pytest.mark.parametrize("makes", ["a sign-in", "a login refresh"])
def test_a_token_that_is_foreseen_is_for_a_later_turn_than_the_one_that_makes_it(makes: str) -> None:
    """Raise `NotLoaded` in one turn; in two turns the same events are decided."""
    world = given(client(), user())
    making = asks.login_refresh(world.login()) if makes == "a login refresh" else asks.sign_in()
    foreseen = decide_twice(making, world.store, world.now).reply
    assert isinstance(foreseen, LoginIssued)
    using = asks.check(foreseen)
    with pytest.raises(NotLoaded, match="CONSENT"):
        world.store.turn([making, using], world.now)
    world.when(making).then(LoginIssued)
    world.when(using).then(AuthorizationOffered)
