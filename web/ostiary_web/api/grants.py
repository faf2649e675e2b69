"""What a user lets other systems do: remembered consents and running sessions by client (READINGS 26)."""

from typing import Final

from ostiary_core.events import ClientRequested, Operator
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import ClientKnown
from ostiary_core.storage.listing import (
    CONSENTS,
    ONLINE_USERS,
    Listing,
    ListingStore,
    OnlineSession,
    RememberedConsent,
)
from ostiary_web.api.answer_data import AnswerData, Time
from ostiary_web.http.context import RequestContext

_MOST_CONSENTS: Final = 1_000
_MOST_SESSIONS: Final = 1_000
"""The newest are shown. Withdrawing ends all of a client's, shown or not."""


class GrantSession(AnswerData):
    """A running session of a client for the user."""

    id: str
    scope: str
    signed_in_at: Time
    last_seen_at: Time
    expires_at: Time
    ip: str
    user_agent: str | None


class Grant(AnswerData):
    """What the user lets one client do. Without a remembered consent `grantedAt` is null."""

    client_id: str
    name: str
    scopes: list[str]
    granted_at: Time | None
    sessions: list[GrantSession]


Found = tuple[tuple[RememberedConsent, ...], tuple[OnlineSession, ...]]


async def grants_of(context: RequestContext, user_id: str) -> list[Grant]:
    """What a user lets other systems do: one entry a client, in the order of their identifiers.

    A client may have sessions and no remembered consent, where nobody needed to be asked.
    """

    def question(store: ListingStore, now: Instant) -> Found:
        consents = Listing(resource=CONSENTS, filters={"user_id": user_id}, page_size=_MOST_CONSENTS)
        sessions = Listing(
            resource=ONLINE_USERS,
            filters={"user_id": user_id, "kind": SessionKind.AUTHORIZATION_CODE.value},
            page_size=_MOST_SESSIONS,
        )
        return store.page(consents, now).items, store.page(sessions, now).items

    consents, sessions = await context.look(question)
    grants = {
        consent.client_id: Grant(
            client_id=consent.client_id,
            name=consent.client_name,
            scopes=list(consent.scopes),
            granted_at=iso_time(consent.granted_at),
            sessions=[],
        )
        for consent in consents
    }
    for session in sessions:
        client_id = session.client_id
        if client_id not in grants:
            name = await _name_of(context, client_id)
            grants[client_id] = Grant(client_id=client_id, name=name, scopes=[], granted_at=None, sessions=[])
        grants[client_id].sessions.append(_session(session))
    return [grants[client_id] for client_id in sorted(grants)]


def _session(session: OnlineSession) -> GrantSession:
    return GrantSession(
        id=session.session_id,
        scope=" ".join(session.scopes),
        signed_in_at=iso_time(session.signed_in_at),
        last_seen_at=iso_time(session.last_seen_at),
        expires_at=iso_time(session.expires_at),
        ip=session.source,
        user_agent=session.user_agent,
    )


async def _name_of(context: RequestContext, client_id: str) -> str:
    """The display name of a client; no secret from a user who is signed in to it, so the server asks."""
    reply = (await context.submit(ClientRequested(caller=Operator(), client_id=client_id))).reply
    return reply.client.name if isinstance(reply, ClientKnown) else client_id
