"""The list of active sessions that a caller may see, and the end of all of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from ostiary_core.events import Caller, Event, EverybodyForcedOut, Operator
from ostiary_core.model.instant import Instant
from ostiary_core.model.record_type import Kind
from ostiary_core.model.records import Client, SessionKind
from ostiary_core.model.reply import Reply
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.storage.listing import (
    CLIENTS,
    ONLINE_SESSIONS,
    ONLINE_USERS,
    Listing,
    ListingStore,
    OnlineSession,
)
from ostiary_net.turns.turns import ListQuery
from ostiary_web.application.resources.fields import Field, ListView
from ostiary_web.http.context import RequestContext

T = TypeVar("T")

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "login": (SessionKind.LOGIN.value,),
    "token": (SessionKind.PERSONAL_TOKEN.value,),
    "oauth": (SessionKind.AUTHORIZATION_CODE.value, SessionKind.CLIENT_CREDENTIALS.value),
}
"""Kinds of sessions by their codes in the interface."""
_MACHINE: Final = SessionKind.CLIENT_CREDENTIALS
_WHOSE: Final = {
    "person": tuple(kind for kind in SessionKind if kind is not _MACHINE),
    "machine": (_MACHINE,),
}
"""Kinds of sessions by whether they are a user's or a client's own."""


def kind_code(kind: SessionKind | UnknownWord) -> str:
    """Return the code of a kind of sessions in the interface; of an unknown kind, its word."""
    return next((code for code, kinds in KINDS.items() if kind.value in kinds), kind.value)


_FIELDS: Final[tuple[Field[OnlineSession], ...]] = (
    Field("id", Kind.TEXT, lambda session: session.session_id, listing_name="session_id"),
    Field("userId", Kind.TEXT, lambda session: session.user_id, listing_name="user_id", is_filter_only=True),
    Field(
        "kind",
        Kind.TEXT,
        lambda session: kind_code(session.kind),
        listing_name="kind",
        choices=KINDS,
        groups=_WHOSE,
    ),
    Field("username", Kind.TEXT, lambda session: session.username, listing_name="username"),
    Field("name", Kind.TEXT, lambda session: session.name, listing_name="name"),
    Field("clientId", Kind.TEXT, lambda session: session.client_id, listing_name="client_id"),
    Field("scope", Kind.TEXT, lambda session: " ".join(session.scopes)),
    Field("ip", Kind.TEXT, lambda session: session.source, listing_name="source"),
    Field("userAgent", Kind.TEXT, lambda session: session.user_agent),
    Field("tokenName", Kind.TEXT, lambda session: session.label),
    Field("signedInAt", Kind.TIME, lambda session: session.signed_in_at, listing_name="signed_in_at"),
    Field("lastSeenAt", Kind.TIME, lambda session: session.last_seen_at, listing_name="last_seen_at"),
    Field("expiresAt", Kind.TIME, lambda session: session.expires_at, listing_name="expires_at"),
)


RUNNING_SESSIONS: Final = ListView(name="sessions", source=ONLINE_SESSIONS, fields=_FIELDS)
"""All active sessions."""


def select_visible_sessions(context: RequestContext) -> ListView[OnlineSession, OnlineSession]:
    """Return the sessions that the caller may see ("Session (grant)")."""
    return (
        RUNNING_SESSIONS if context.is_super_administrator else replace(RUNNING_SESSIONS, source=ONLINE_USERS)
    )


def operator_for(context: RequestContext) -> Operator:
    """Return the operator who goes on in the name of the request's user."""
    return Operator(context.user.username, context.user.user_id)


class RulesAndLists(Protocol):
    """What decides events and reads lists: a request or a command."""

    async def decide(self, event: Event) -> Reply: ...

    async def query(self, read: ListQuery[T]) -> T: ...


_AT_A_TIME: Final = 1_000


async def force_out_everybody(rules: RulesAndLists, caller: Caller, operator: Operator) -> int:
    """End everything of every client, the built-in one included; return the number of clients.

    `operator` goes on once the caller is signed out by it. Raises `RequestRefused`, `TurnFailed`.
    """
    ended: set[str] = set()
    while new := [client_id for client_id in await rules.query(_list_client_ids) if client_id not in ended]:
        await rules.decide(EverybodyForcedOut(caller=caller, client_ids=tuple(new)))
        ended.update(new)
        # The caller is signed out by now; a client may have been registered while the others were listed.
        caller = operator
    return len(ended)


def _list_client_ids(store: ListingStore, now: Instant) -> list[str]:
    """Return every client that is not deleted."""
    listing, found = Listing(resource=CLIENTS, page_size=_AT_A_TIME), list[Client]()
    while items := store.items_after(listing, found[-1] if found else None, now):
        found += items
    return [client.client_id for client in found]
