"""What a user lets other systems do: remembered consents and running sessions by client (READINGS 26)."""

from typing import Any, Final

from ostiary_core.events import ClientRequested, Operator
from ostiary_core.model.decision import ClientKnown
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.records import SessionKind, User
from ostiary_core.storage.listing import (
    CONSENTS,
    ONLINE_USERS,
    Listing,
    ListingStore,
    OnlineSession,
    RememberedConsent,
)
from ostiary_web.exchange import Exchange

__all__ = ["grants_of"]

_MOST_CONSENTS: Final = 1_000
_MOST_SESSIONS: Final = 1_000
"""The newest are shown. Withdrawing ends all of a client's, shown or not."""

Found = tuple[tuple[RememberedConsent, ...], tuple[OnlineSession, ...]]


async def grants_of(here: Exchange, user: User) -> list[dict[str, Any]]:
    """One entry a client, in the order of their identifiers.

    A client may have sessions and no remembered consent, where nobody needed to be asked: then no scopes
    are remembered and `grantedAt` is null.
    """

    def question(store: ListingStore, now: Instant) -> Found:
        consents = Listing(resource=CONSENTS, filters={"user_id": user.user_id}, page_size=_MOST_CONSENTS)
        sessions = Listing(
            resource=ONLINE_USERS,
            filters={"user_id": user.user_id, "kind": SessionKind.AUTHORIZATION_CODE.value},
            page_size=_MOST_SESSIONS,
        )
        return store.page(consents, now).items, store.page(sessions, now).items

    consents, sessions = await here.service.look(question, here.origin)
    grants = {
        consent.client_id: _grant(
            consent.client_id, consent.client_name, consent.scopes, iso_time(consent.granted_at)
        )
        for consent in consents
    }
    for session in sessions:
        client_id = session.client_id
        if client_id not in grants:
            grants[client_id] = _grant(client_id, await _name_of(here, client_id), (), None)
        grants[client_id]["sessions"].append(_session(session))
    return [grants[client_id] for client_id in sorted(grants)]


def _grant(client_id: str, name: str, scopes: tuple[str, ...], granted_at: str | None) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "name": name,
        "scopes": list(scopes),
        "grantedAt": granted_at,
        "sessions": [],
    }


def _session(session: OnlineSession) -> dict[str, object]:
    return {
        "id": session.session_id,
        "scope": " ".join(session.scopes),
        "signedInAt": iso_time(session.signed_in_at),
        "lastSeenAt": iso_time(session.last_seen_at),
        "expiresAt": iso_time(session.expires_at),
        "ip": session.source,
        "userAgent": session.user_agent,
    }


async def _name_of(here: Exchange, client_id: str) -> str:
    """The display name of a client; no secret from a user who is signed in to it, so the server asks."""
    reply = (await here.decide(ClientRequested(caller=Operator(), client_id=client_id))).reply
    return reply.client.name if isinstance(reply, ClientKnown) else client_id
