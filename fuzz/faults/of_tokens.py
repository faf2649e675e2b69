"""Mistakes in what a token shows and ends: introspection, revocation, user-info, housekeeping."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from fuzz.faults.planting import Fault, replaced, wrapped
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.records import Table

Original = Callable[..., Any]


def of_any_client(original: Original) -> Original:
    def asked_by_owner(secret: Any, client: Any, snapshot: Any, now: Any) -> Any:
        session = snapshot.session_by_access_token(secret.digest)
        if session is None:
            token = snapshot.refresh_token(secret.digest)
            session = None if token is None else snapshot.session(token.session_id)
        owner = None if session is None else snapshot.client(session.client_id)
        return original(secret, owner or client, snapshot, now)

    return asked_by_owner


def access_revokes_nothing(original: Original) -> Original:
    def revoke(secret: Any, client: Any, snapshot: Any, now: Any) -> Any:
        decision = original(secret, client, snapshot, now)
        spared = snapshot.session_by_access_token(secret.digest) is not None
        return Decision(decision.reply) if spared else decision

    return revoke


def spent_refresh_active(original: Original) -> Original:
    def introspect(secret: Any, client: Any, snapshot: Any, now: Any) -> Any:
        token = snapshot.refresh_token(secret.digest)
        session = None if token is None else snapshot.session(token.session_id)
        if session is not None and token.generation == session.generation - 1:
            current = replace(token, generation=session.generation)
            snapshot = snapshot.after((Update(token, current),))
        return original(secret, client, snapshot, now)

    return introspect


def alive_at_its_end(original: Original) -> Original:
    return lambda secret, client, snapshot, now: original(secret, client, snapshot, now - 1)


def salt_erased_early(original: Original) -> Original:
    no_grace = {"grace_seconds": 0, "salt_margin_seconds": 0}
    return lambda session, now, policy: original(session, now, replace(policy, **no_grace))


def either_token(token: Any) -> tuple[Any, ...]:
    return (Table.ACCESS_TOKEN, token.digest), (Table.REFRESH_TOKEN, token.digest)


def refresh_at_user_info(original: Original) -> Original:
    def show(event: Any, snapshot: Any, now: Any) -> Any:
        digest = event.access_token.digest
        token = snapshot.refresh_token(digest)
        session = None if token is None else snapshot.session(token.session_id)
        if session is not None and token.generation == session.generation:
            snapshot = snapshot.after((Update(session, replace(session, access_digest=digest)),))
        return original(event, snapshot, now)

    return show


@contextmanager
def looked_for_among_both() -> Iterator[None]:
    with (
        replaced("keys", "access_token_keys", either_token),
        wrapped("oauth.token_service", "show_profile", refresh_at_user_info)(),
    ):
        yield


FAULTS: Final = (
    Fault(
        "introspection-open",
        "introspection tells any client",
        wrapped("session", "introspect", of_any_client),
    ),
    Fault("revocation-open", "any client may revoke", wrapped("session", "revoke", of_any_client)),
    Fault(
        "access-revokes-nothing",
        "revoking with an access token ends nothing",
        wrapped("session", "revoke", access_revokes_nothing),
    ),
    Fault(
        "spent-refresh-active",
        "a spent refresh token introspects as active",
        wrapped("session", "introspect", spent_refresh_active),
    ),
    Fault("alive-at-its-end", "a token is good at exp", wrapped("session", "introspect", alive_at_its_end)),
    Fault(
        "salt-erased-early", "the sweeper cuts the grace", wrapped("session", "erase_salt", salt_erased_early)
    ),
    Fault(
        "refresh-at-user-info",
        "user-info takes a refresh token",
        looked_for_among_both,
    ),
)
