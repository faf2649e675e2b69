"""Authenticate clients by their secrets."""

import hmac
from collections.abc import Callable
from typing import Final, TypeVar

from ostiary_core.events.event import AuthenticatedEvent, ClientCredentials
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.client import is_secret_expired
from ostiary_core.model.decision import Decision, refuse
from ostiary_core.model.records import Client, GrantType
from ostiary_core.model.reply import Refused, Reply
from ostiary_core.model.secret import Digest, digest_of
from ostiary_core.model.why import Why

_NOT_AUTHENTICATED: Final = frozenset(
    {
        *(Why.CLIENT_UNKNOWN, Why.CLIENT_BUILT_IN, Why.CLIENT_SECRET_WRONG),
        *(Why.CLIENT_DELETED, Why.CLIENT_DISABLED, Why.CLIENT_SECRET_EXPIRED),
    }
)
"""Reasons answered with `invalid_client` ("Authentication", rule 1)."""

_NO_SECRET: Final = digest_of("")
"""Stand-in that is compared if there is no secret."""


def authenticate_client(credentials: ClientCredentials, snapshot: Snapshot) -> Client | Why:
    """Return the client whose secret is right, or why there is none ("Authentication", rule 1)."""
    client = snapshot.client(credentials.client_id)
    if client is None or client.secret_digest is None:
        # An unknown client takes as long as a wrong secret: timing tells neither from the other.
        _is_one_of(credentials, _NO_SECRET, None)
        return Why.CLIENT_UNKNOWN if client is None else Why.CLIENT_BUILT_IN
    old_stands = client.old_secret_until is not None and snapshot.now < client.old_secret_until
    old = client.old_secret_digest if old_stands else None
    # The secret first: only a caller who has it learns that a client is deleted or disabled.
    if not _is_one_of(credentials, client.secret_digest, old):
        return Why.CLIENT_SECRET_WRONG
    if client.deleted_at is not None:
        return Why.CLIENT_DELETED
    if is_secret_expired(client, snapshot.now) and not (old and _is_one_of(credentials, old, None)):
        return Why.CLIENT_SECRET_EXPIRED
    return client if client.enabled else Why.CLIENT_DISABLED


def is_authenticated(reply: Reply) -> bool:
    """Whether the client authenticated, even if its request was refused for another reason."""
    return not (isinstance(reply, Refused) and reply.why in _NOT_AUTHENTICATED)


def _is_one_of(credentials: ClientCredentials, present: Digest, old: Digest | None) -> bool:
    """Whether the presented secret is the present or the old one.

    Digests are compared, in a time that tells neither which of the two it was nor whether there are two
    (READINGS 20).
    """
    presented = credentials.secret.digest
    return bool(
        hmac.compare_digest(present, presented)
        | hmac.compare_digest(present if old is None else old, presented)
    )


E = TypeVar("E", bound=AuthenticatedEvent)


def require_client(
    grant: GrantType | None = None,
) -> Callable[[Callable[[E, Client, Snapshot], Decision]], Callable[[E, Snapshot], Decision]]:
    """Refuse clients that do not authenticate, then those without `grant`; the rule is given the client."""

    def decorate(handler: Callable[[E, Client, Snapshot], Decision]) -> Callable[[E, Snapshot], Decision]:
        def decide(event: E, snapshot: Snapshot) -> Decision:
            client = authenticate_client(event.credentials, snapshot)
            if isinstance(client, Why):
                return refuse(client)
            if grant is not None and grant not in client.grant_types:
                return refuse(Why.GRANT_NOT_REGISTERED)
            return handler(event, client, snapshot)

        return decide

    return decorate
