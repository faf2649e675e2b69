"""Checks of session histories: the entries of a session, and which ending of many ended it."""

from collections.abc import Mapping, Sequence
from typing import Final

from ostiary_core import events
from ostiary_core.conformance.harness import Check, StoreFactory, require, without_number
from ostiary_core.conformance.scenario import Backend, play, run_scenario
from ostiary_core.model.instant import DAY_SECONDS
from ostiary_core.model.records import Table
from ostiary_core.model.reply import TokensIssued
from ostiary_core.oauth.session import state_of
from ostiary_core.storage.session_history import SessionHistory
from ostiary_core.storage.store import MemoryStore


def a_session_has_its_own_history_and_ending(stores: StoreFactory) -> None:
    """Check that `session_history` returns each session, its own entries, and the ending that ended it."""
    for here in (run_scenario(), _end_from_above()):
        for found, expected in _histories(stores, here):
            require(found.session == expected.session, "the history of a session is that of another one")
            entries = [without_number(entry) for entry in found.entries]
            right = [without_number(entry) for entry in expected.entries]
            require(
                entries == right, "the history of a session lacks entries, or has others, or is out of order"
            )
            require(
                state_of(found.session, found.snapshot.at(here.now))
                is state_of(expected.session, expected.snapshot.at(here.now)),
                "the history of a session has its user, client or consent not as they stand",
            )
            ending, first = found.inherited_ending, expected.inherited_ending
            require(
                (ending and without_number(ending)) == (first and without_number(first)),
                "what ended a session from above is not found, or something else is",
            )


def _histories(stores: StoreFactory, here: Backend) -> list[tuple[SessionHistory, SessionHistory]]:
    store, reference = stores.make(), MemoryStore()
    play(here.batches, store, reference)
    require(store.session_history("nobody") is None, "a session that is not there has a history")
    histories = []
    for session in reference.records(Table.SESSION):
        session_id = str(session.key.id)
        found, expected = store.session_history(session_id), reference.session_history(session_id)
        assert expected is not None
        require(found is not None, "a session that is there has no history")
        histories.append((found, expected))
    return histories


def _end_from_above() -> Backend:
    """Run a backend in which users, clients and consents are ended over and over; return it."""
    here = Backend()
    here.populate()
    here.wait(1)
    for number in range(2):
        for place in range(5):
            logins = {username: here.login(username) for username in here.user_ids}
            here.ask(here.machine(), TokensIssued)
            here.wait(1)
            codes = [
                (here.code(login, client_id), client_id)
                for login in logins.values()
                for client_id in here.secrets
            ]
            here.wait(1)
            for code, client_id in codes:
                here.ask(here.redemption(code, client_id), TokensIssued)
            here.wait(1)
            for event in _endings(here, logins)[place]:
                here.ask(event, object)
                # The last are all at one time: of these the first of the trail counts.
                here.wait(1 if place < 4 else 0)
            # The last sessions reach their maximum before they are ended once more.
            here.wait(1 if number < 1 else 400 * DAY_SECONDS)
    for client_id in here.secrets:
        here.ask(events.ClientForcedOut(caller=events.Operator(), client_id=client_id), object)
    here.wait(1)
    return here


def _endings(here: Backend, logins: Mapping[str, events.SignedIn]) -> Sequence[Sequence[events.Event]]:
    """Make the events that end sessions of consents, clients and users, and some of each together."""
    operator = events.Operator()
    withdrawals = [events.ConsentWithdrawn(caller=login, client_id="app") for login in logins.values()]
    clients = [events.ClientForcedOut(caller=operator, client_id=each) for each in here.secrets]
    switches = [
        kind(caller=operator, client_id=each)
        for each in here.secrets
        for kind in (events.ClientDisabled, events.ClientEnabled)
    ]
    users = [events.UserForcedOut(caller=operator, user_id=each) for each in here.user_ids.values()]
    together = [
        events.ConsentWithdrawn(caller=logins["bob"], client_id="other"),
        *users[1:],
        *clients,
        users[0],
    ]
    return withdrawals, clients, switches, users, together


CHECKS: Final[tuple[Check, ...]] = (a_session_has_its_own_history_and_ending,)
