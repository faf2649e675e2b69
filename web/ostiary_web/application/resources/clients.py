"""The resource of clients: third parties and their settings ("Client")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ostiary_core import events
from ostiary_core.model.client import CLIENT, SCOPES, Client
from ostiary_core.model.fields import Fields
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import GrantType
from ostiary_core.storage.listing import CLIENTS, ListingStore
from ostiary_web.application.resources.fields import ListView, fields_of
from ostiary_web.application.resources.resource import Permissions, RecordContext, Resource

PATH: Final = "/api/oauth/clients"


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
    path=PATH,
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


def make_secret_reset(context: RecordContext, client_id: str, fields: Fields) -> events.ClientSecretReset:
    """Return the event for `{keepOldForSeconds}`, or for nothing."""
    return events.ClientSecretReset(
        caller=context.caller, client_id=client_id, fields=fields, entropy=context.draw_entropy()
    )
