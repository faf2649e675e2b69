"""Checks of whole turns: decided as the reference decides, stored whole or not at all, and durable."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from ostiary_core.conformance.harness import (
    Broken,
    Check,
    CheckedStore,
    Contents,
    StoreFactory,
    WatchedSequence,
    crash,
    difference,
    require,
)
from ostiary_core.conformance.scenario import Backend, EventBatch, make_scenario, origin_of, registration_of
from ostiary_core.events import Event, Operator, RoleChanged, RoleDeleted, RoleRegistered
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Table
from ostiary_core.model.reply import TokensIssued, UserKnown
from ostiary_core.storage.store import LostRace, MemoryStore

_AT_ONCE = 6
_PATIENCE = 1_000_000
"""Polls of what another call has done; some tenths of a second."""

Split = Callable[[EventBatch], Iterable[tuple[Event, ...]]]


def a_turn_of_one_event_is_decided_and_kept(stores: StoreFactory) -> None:
    """Check the store against the reference after every turn, with one event in each turn."""
    _run_scenario_on(stores, lambda batch: [(event,) for event in batch.events])


def a_turn_of_many_events_is_the_same_as_many_turns(stores: StoreFactory) -> None:
    """Check that each event of a turn sees what those before it changed, and that a turn may have none."""
    _run_scenario_on(stores, lambda batch: [(), batch.events])


def _run_scenario_on(stores: StoreFactory, split: Split) -> None:
    """Compare every decision and all contents, at the end of each batch also of the store opened again."""
    store, reference = stores.make(), MemoryStore()
    for batch in make_scenario():
        for events in split(batch):
            origins = [origin_of(place) for place in range(len(events))]
            found = store.turn(events, batch.at, origins)
            expected = reference.turn(events, batch.at, origins)
            _compare(events, found, expected)
            wrong = difference(Contents.of(store), Contents.of(reference))
            require(wrong is None, f"after a turn of {_in_words(events)}: {wrong}")
        if stores.reopen is not None:
            store = stores.reopen(store)
            wrong = difference(Contents.of(store), Contents.of(reference))
            require(wrong is None, f"an answered turn was not durable: opened again, {wrong}")


def _compare(events: Sequence[Event], found: Sequence[Decision], expected: Sequence[Decision]) -> None:
    require(len(found) == len(expected), f"{len(events)} events were given {len(found)} decisions")
    for event, decision, right in zip(events, found, expected, strict=True):
        require(
            decision == right,
            f"{type(event).__name__} was not decided on what is kept: a stale read, or out of order",
        )


def _in_words(events: Sequence[Event]) -> str:
    return ", ".join(dict.fromkeys(type(event).__name__ for event in events))


def a_turn_that_fails_leaves_nothing(stores: StoreFactory) -> None:
    """Check that a turn leaves nothing if an event fails, or the program ends while origins are read."""
    store = stores.make()
    store.turn([registration_of("anna", "before")], Instant(1))
    before = Contents.of(store)
    for place in range(3):
        events: list[Any] = [registration_of("dave", "one"), registration_of("erin", "two")]
        events.insert(place, object())
        _must_raise(store, events, (), "an event that is none")
        store = stores.require_unchanged(store, before, "a turn that failed on an event")
    for place in range(3):
        events = [registration_of(name, "torn") for name in ("dave", "erin", "fred")]
        origins = WatchedSequence([origin_of(number) for number in range(3)], place, crash)
        _must_raise(store, events, origins, "an error while the audit trail was written")
        store = stores.require_unchanged(
            store, before, "a turn that failed while its audit trail was written"
        )
    two = [registration_of("dave", "one"), registration_of("erin", "two")]
    _must_raise(store, two, [origin_of(0)], "one origin for two events")
    store = stores.require_unchanged(store, before, "a turn with too few origins")
    [decision] = store.turn(two[:1], Instant(2))
    require(isinstance(decision.reply, UserKnown), "after a turn that failed the next one does not work")


def a_turn_that_loses_its_race_leaves_nothing(stores: StoreFactory) -> None:
    """Check that a turn leaves neither records nor entries if one of its writes finds a record in its place.

    One of its accounts has an identifier in use, which no turn reads, as randomness is never drawn twice.
    """
    store = stores.make()
    taken = registration_of("anna", "taken")
    store.turn([taken], Instant(1))
    before = Contents.of(store)
    for place in range(3):
        events: list[Event] = [registration_of(name, "one") for name in ("dave", "erin")]
        events.insert(place, replace(registration_of("fred", "two"), entropy=taken.entropy))
        try:
            store.turn(events, Instant(2), [origin_of(number) for number in range(len(events))])
        except LostRace:
            store = stores.require_unchanged(store, before, "a turn that lost its race")
        else:
            raise Broken("a turn that lost its race was answered; it must raise LostRace")


def _must_raise(
    store: CheckedStore, events: Sequence[Event], origins: Sequence[Origin | None], what: str
) -> None:
    try:
        store.turn(events, Instant(2), origins)
    except BaseException:  # whatever it is, the turn did not happen
        return
    raise Broken(f"{what} did not fail the turn")


# --- at once


def one_of_racing_events_wins(stores: StoreFactory) -> None:
    """Check that of all who race for one user name, code or refresh token exactly one gets it."""
    assert stores.at_once is not None
    store = stores.make()
    accounts = [registration_of("anna", f"race {place}") for place in range(_AT_ONCE)]
    replies = _race(stores, store, Instant(1), accounts)
    made = sum(isinstance(reply, UserKnown) for reply in replies)
    require(made == 1, f"lost races: {made} accounts were given one name at the same time")
    require(len(store.records(Table.USER)) == 1, "lost races: of one name there are several accounts")
    here = Backend(stores.make())
    here.populate()
    code = here.code(here.login("alice"))
    replies = _race(stores, here.store, here.now, [here.redemption(code) for _ in range(_AT_ONCE)])
    pairs = [reply for reply in replies if isinstance(reply, TokensIssued)]
    require(len(pairs) == 1, f"lost races: one code was redeemed {len(pairs)} times")
    replies = _race(stores, here.store, here.now, [here.refreshing(pairs[0]) for _ in range(_AT_ONCE)])
    answers = {reply.access_token for reply in replies if isinstance(reply, TokensIssued)}
    require(len(answers) == 1, f"lost races: one refresh token led to {len(answers)} pairs")


def _race(stores: StoreFactory, store: Any, at: Instant, events: Sequence[Event]) -> list[object]:
    assert stores.at_once is not None

    def persistent(event: Event) -> Callable[[], object]:
        def ask() -> object:
            while True:
                try:
                    [decision] = store.turn([event], at)
                except LostRace:
                    continue
                return decision.reply

        return ask

    return list(stores.at_once([persistent(event) for event in events]))


def a_record_that_was_made_again_meanwhile_is_not_written_over(stores: StoreFactory) -> None:
    """Check that a turn loses, or is waited for, if another one deletes and makes again what it has read.

    The new record is at the revision of the old one, so that no guard tells them apart (`Store`).
    """
    assert stores.at_once is not None
    for first_pass in (True, False):
        store = stores.make()
        store.turn([_clerk("audit.read")], Instant(1))
        signs: list[str] = []

        def interrupt(signs: list[str] = signs) -> None:
            signs.append("has read")
            _await("made again", signs)

        def change(store: Any = store, interrupt: Any = interrupt, in_events: bool = first_pass) -> None:
            event = RoleChanged(caller=Operator(), role_id="clerk", fields={"name": "late"})
            # The events are gone through for their keys, and at the third read they are decided; the origins
            # are read after that.
            events = WatchedSequence([event], 2, interrupt) if in_events else [event]
            origins = [None] if in_events else WatchedSequence([None], 0, interrupt)
            try:
                store.turn(events, Instant(2), origins)
            except Exception:  # it lost
                return

        def make_again(store: Any = store, signs: list[str] = signs) -> str:
            _await("has read", signs)
            try:
                store.turn([RoleDeleted(caller=Operator(), role_id="clerk")], Instant(2))
                store.turn([_clerk("iam.user.list")], Instant(2))
            except Exception:  # it lost
                return "audit.read"
            finally:
                signs.append("made again")
            return "iam.user.list"

        _, permission = stores.at_once([change, make_again])
        stored = [role.permissions for role in store.records(Table.ROLE)]
        require(
            stored == [(permission,)],
            "a lost update: a turn wrote over a record that was made again after it had read the one before",
        )


def _clerk(permission: str) -> RoleRegistered:
    fields = {"code": "clerk", "name": "a clerk", "permissions": [permission]}
    return RoleRegistered(caller=Operator(), fields=fields)


def _await(sign: str, signs: Sequence[str]) -> None:
    """Wait for another call's sign, but not for ever: a store may let one turn wait for the other."""
    for _ in range(_PATIENCE):
        if sign in signs:
            return


CHECKS: Final[tuple[Check, ...]] = (
    a_turn_of_one_event_is_decided_and_kept,
    a_turn_of_many_events_is_the_same_as_many_turns,
    a_turn_that_fails_leaves_nothing,
    a_turn_that_loses_its_race_leaves_nothing,
)

CHECKS_AT_ONCE: Final[tuple[Check, ...]] = (
    one_of_racing_events_wins,
    a_record_that_was_made_again_meanwhile_is_not_written_over,
)
