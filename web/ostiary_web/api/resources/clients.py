"""Serve `/api/oauth/clients`: third parties, their secrets and their sessions ("Client")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from msgspec import Meta
from quart import Response

from ostiary_core import events
from ostiary_core.model.client import CLIENT, SCOPES, Client
from ostiary_core.model.fields import Fields
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import GrantType
from ostiary_core.model.reply import SecretIssued
from ostiary_core.storage.listing import CLIENTS, ListingStore
from ostiary_web.api.answer_data import AnswerData
from ostiary_web.api.event_routes import add_event_route
from ostiary_web.api.resources.fields import ListView, fields_of
from ostiary_web.api.resources.lists import answer_list
from ostiary_web.api.resources.online import select_visible_sessions
from ostiary_web.api.resources.records import answer_change, read_object_or_nothing, refuse_body
from ostiary_web.api.resources.resource import Permissions, RecordContext, Resource
from ostiary_web.api.resources.routes import make_routes
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

_PATH: Final = "/api/oauth/clients"


@dataclass(frozen=True, slots=True)
class ClientWithUse:
    """A client, with its last use from the audit trail."""

    client: Client
    last_used_at: Instant | None


def _add_last_use(store: ListingStore | None, found: Sequence[Client]) -> list[ClientWithUse]:
    if store is None:
        return [ClientWithUse(client, None) for client in found]
    last_used = store.last_used([client.client_id for client in found])
    return [ClientWithUse(client, last_used.get(client.client_id)) for client in found]


async def _make_registration(context: RecordContext, fields: Fields) -> events.ClientRegistered:
    return events.ClientRegistered(caller=context.caller, fields=fields, entropy=context.draw_entropy())


async def _make_import(context: RecordContext, fields: Fields, replace: bool) -> events.ClientImported:
    return events.ClientImported(
        caller=context.caller, fields=fields, replace=replace, entropy=context.draw_entropy()
    )


USUAL_FIELDS: Final[Mapping[str, Any]] = {
    "grantTypes": [GrantType.AUTHORIZATION_CODE.value, GrantType.REFRESH_TOKEN.value],
    "scopes": list(SCOPES),
}
"""Fields that pages and command line propose for a new client, which signs users in."""

RESOURCE: Final = Resource(
    path=_PATH,
    permissions=Permissions.of("oauth.client"),
    list_view=ListView(
        name="clients", source=CLIENTS, fields=fields_of(CLIENT, "client"), add_details=_add_last_use
    ),
    record_type=CLIENT,
    show=events.ClientRequested,
    register=_make_registration,
    change=lambda context, client_id, fields, shown: events.ClientChanged(
        caller=context.caller, client_id=client_id, fields=fields, shown=shown
    ),
    delete=events.ClientDeleted,
    enable=events.ClientEnabled,
    disable=events.ClientDisabled,
    import_row=_make_import,
)

clients = make_routes(RESOURCE)

ClientSecret = Annotated[str, Meta(pattern="^[A-Za-z0-9]{43,}$", description="Shown this once.")]


class NewSecret(AnswerData):
    """The secret that a client authenticates with from now on."""

    secret: ClientSecret


@clients.post(f"{_PATH}/<client_id>/secret", gate=require_permission(Permission.CLIENT_UPDATE))
async def reset_secret(context: RequestContext, client_id: str) -> NewSecret:
    """Issue a new secret, shown this once; with `{keepOldForSeconds}` the old one keeps working that long.

    A current secret that was never used is replaced at once: then the one before it keeps working.
    """
    fields = await read_object_or_nothing(context)
    reply = await context.decide(make_secret_reset(context, client_id, fields))
    assert isinstance(reply, SecretIssued)
    return NewSecret(secret=reply.secret.reveal())


def make_secret_reset(context: RecordContext, client_id: str, fields: Fields) -> events.ClientSecretReset:
    """Return the event for `{keepOldForSeconds}`, or for nothing."""
    return events.ClientSecretReset(
        caller=context.caller, client_id=client_id, fields=fields, entropy=context.draw_entropy()
    )


@clients.delete(f"{_PATH}/<client_id>/old-secret", gate=require_permission(Permission.CLIENT_UPDATE))
async def end_old_secret(context: RequestContext, client_id: str) -> Response:
    """End the old secret's grace now."""
    refuse_body(context)
    reply = await context.decide(events.OldSecretEnded(caller=context.caller, client_id=client_id))
    return await answer_change(context, RESOURCE, reply)


add_event_route(
    clients,
    "POST",
    f"{_PATH}/<client_id>/force-logout",
    events.ClientForcedOut,
    require_permission(Permission.CLIENT_UPDATE),
)


@clients.get(f"{_PATH}/<client_id>/sessions", gate=require_permission(Permission.CLIENT_LIST))
async def list_sessions(context: RequestContext, client_id: str) -> Response:
    """List the client's active sessions that the caller may see."""
    await context.decide(events.ClientRequested(caller=context.caller, client_id=client_id))
    return await answer_list(context, select_visible_sessions(context), only={"client_id": client_id})
