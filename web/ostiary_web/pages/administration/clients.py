"""Pages of clients: registration, which shows the secret once, and what their developers need."""

from typing import Any, Final

from ostiary_core.clients.client_secret import KEEP_OLD_FOR
from ostiary_core.events import ClientForcedOut, ClientSecretReset, Event, OldSecretEnded
from ostiary_core.model.client import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS, SCOPES
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, GrantType
from ostiary_core.storage.summaries import REFUSALS_KEPT, Refusal
from ostiary_web.api.resources.clients import RESOURCE
from ostiary_web.http.browser import own_address
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.administration.actions import (
    RecordAction,
    action_event,
    deletion_action,
    enabling_actions,
)
from ostiary_web.pages.administration.audit import reason_text
from ostiary_web.pages.administration.list_page import ListPage
from ostiary_web.pages.administration.records import Form, RecordPages, make_record_pages
from ostiary_web.pages.administration.session_count import count_running_sessions
from ostiary_web.pages.administration.snippets import endpoints_for, snippets_for
from ostiary_web.pages.context import PageContext

_PLACE: Final = "/admin/clients"


def _fields_of(form: Form, new: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": form.get("name", "").strip(),
        "redirectUris": [line.strip() for line in form.get("redirectUris", "").splitlines() if line.strip()],
        "grantTypes": form.getlist("grantTypes"),
        "scopes": form.getlist("scopes"),
        "autoApproveScopes": form.getlist("autoApproveScopes"),
    }
    for name in ("accessTokenTtl", "refreshTokenTtl"):
        text = form.get(name, "").strip()
        if text:
            fields[name] = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
    if new:
        fields["clientId"] = form.get("clientId", "").strip()
    return fields


def _values_of(client: Client) -> dict[str, Any]:
    return {
        "clientId": client.client_id,
        "name": client.name,
        "redirectUris": list(client.redirect_uris),
        "grantTypes": [grant.value for grant in client.grant_types],
        "scopes": list(client.scopes),
        "autoApproveScopes": list(client.auto_approve_scopes),
        "accessTokenTtl": client.access_token_seconds,
        "refreshTokenTtl": client.refresh_token_seconds,
    }


async def _extra_context(page: PageContext, client: Client | None) -> dict[str, Any]:
    return {
        "grants": [grant.value for grant in GrantType],
        "scopes": SCOPES,
        "access": ACCESS_TOKEN_SECONDS,
        "refresh": REFRESH_TOKEN_SECONDS,
        "may_list_sessions": page.may(Permission.ONLINE_LIST),
        "refusals": [] if client is None else await _refusals(page, client),
        "refusals_kept": REFUSALS_KEPT,
        "endpoints": [] if client is None or client.built_in else endpoints_for(client, own_address()),
        "snippets": [] if client is None or client.built_in else snippets_for(client, own_address()),
    }


async def _refusals(page: PageContext, client: Client) -> list[tuple[Refusal, str]]:
    """Return the client's last refused requests, each with its reason in words."""
    last = await page.request.query(lambda store, now: store.last_refusals(client.client_id))
    return [(refusal, reason_text(refusal.why, page.language)) for refusal in last]


async def _count_running(context: RequestContext, client_id: str) -> int:
    return await count_running_sessions(context, client_id=client_id)


async def _reset(page: PageContext, client_id: str) -> Event:
    chosen = page.form.get(KEEP_OLD_FOR, "0")
    seconds = int(chosen) if chosen.isascii() and chosen.isdigit() and len(chosen) < 10 else chosen
    return ClientSecretReset(
        caller=page.request.caller,
        client_id=client_id,
        fields={KEEP_OLD_FOR: seconds},
        entropy=page.request.entropy(),
    )


_LIST: Final = ListPage(
    list_view=RESOURCE.list_view,
    place=_PLACE,
    heading="page.clients",
    columns=("clientId", "name", "grantTypes", "enabled", "createdAt", "lastUsedAt"),
    filters=("enabled", "createdAt"),
    is_exported=True,
    link=lambda shown: f"{_PLACE}/{shown.client.client_id}",
)

_ENABLE, _DISABLE = enabling_actions(RESOURCE, "page.client_disable_will")

client_pages = make_record_pages(
    RecordPages(
        resource=RESOURCE,
        list_page=_LIST,
        new="page.client_new",
        item_template="administration/client.html",
        form_template="administration/client_form.html",
        fields_of=_fields_of,
        values_of=_values_of,
        checkbox_fields=("grantTypes", "scopes", "autoApproveScopes"),
        actions=(
            _ENABLE,
            RecordAction(
                path="reset-secret",
                name="page.client_reset",
                confirm_text="page.client_reset_will",
                permission=Permission.CLIENT_UPDATE,
                event=_reset,
                asks_overlap=True,
            ),
            RecordAction(
                path="end-old-secret",
                name="page.client_end_old",
                confirm_text="page.client_end_old_will",
                permission=Permission.CLIENT_UPDATE,
                event=action_event(lambda who, client_id: OldSecretEnded(caller=who, client_id=client_id)),
                is_available=lambda client: client.old_secret_digest is not None,
            ),
            RecordAction(
                path="force-out",
                name="page.client_force",
                confirm_text="page.client_force_will",
                permission=Permission.CLIENT_UPDATE,
                event=action_event(lambda who, client_id: ClientForcedOut(caller=who, client_id=client_id)),
            ),
            _DISABLE,
            deletion_action(RESOURCE, "page.client_delete_will"),
        ),
        extra_context=_extra_context,
        count_running=_count_running,
        is_fixed=lambda client: client.built_in,
    )
)
