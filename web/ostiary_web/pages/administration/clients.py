"""Pages of clients: registration, which shows the secret once, and what their developers need."""

from typing import Any, Final

from ostiary_core.clients.client_secret import KEEP_OLD_FOR
from ostiary_core.events import ClientForcedOut, Event, OldSecretEnded
from ostiary_core.model.client import SCOPES
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, GrantType
from ostiary_net.observability.summaries import REFUSALS_KEPT, Refusal
from ostiary_web.application.resources.clients import RESOURCE, USUAL_FIELDS, make_secret_reset
from ostiary_web.http.browser import own_address
from ostiary_web.pages.administration.actions import (
    RecordAction,
    deletion_action,
    enabling_actions,
)
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.audit import reason_text
from ostiary_web.pages.administration.record_forms import read_number
from ostiary_web.pages.administration.records import RecordPages, make_record_pages
from ostiary_web.pages.administration.snippets import endpoints_for, snippets_for
from ostiary_web.pages.context import PageContext
from ostiary_web.server.checks import check_client

_PLACE: Final = "/admin/clients"


async def _extra_context(page: PageContext, client: Client | None) -> dict[str, Any]:
    # Nobody develops the built-in ones.
    developed = None if client is None or client.built_in else client
    return {
        "hints": {
            "clientId": page.text("page.client_hint_id"),
            "redirectUris": page.text("page.client_hint_uris"),
            "autoApproveScopes": page.text("page.client_hint_automatic"),
        },
        "options": {
            "autoApproveScopes": [(scope, scope) for scope in SCOPES],
            "grantTypes": [(grant.value, page.text(f"grant.{grant}")) for grant in GrantType],
        },
        "findings": [] if developed is None else _findings(page, developed),
        "may_list_sessions": page.may(Permission.ONLINE_LIST),
        "refusals": [] if client is None else await _refusals(page, client),
        "refusals_kept": REFUSALS_KEPT,
        "endpoints": [] if developed is None else endpoints_for(developed, own_address()),
        "snippets": [] if developed is None else snippets_for(developed, own_address()),
    }


def _findings(page: PageContext, client: Client) -> list[str]:
    """Return what makes a client useless or is advised against, in words."""
    found = check_client(client, page.request.service.clock.now())
    return [page.text(finding.key, **finding.values) for finding in found]


async def _refusals(page: PageContext, client: Client) -> list[tuple[Refusal, str]]:
    """Return the client's last refused requests, each with its reason in words."""
    last = await page.request.query(lambda store, now: store.last_refusals(client.client_id))
    return [(refusal, reason_text(refusal.why, page.language)) for refusal in last]


async def _reset(page: PageContext, client_id: str) -> Event:
    seconds = read_number(page.form.get(KEEP_OLD_FOR, "0"))
    return make_secret_reset(page.request, client_id, {KEEP_OLD_FOR: seconds})


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
        new_lead="page.client_new_lead",
        new_submit="page.client_register",
        new_values=USUAL_FIELDS,
        actions=(
            _ENABLE,
            RecordAction(
                "reset-secret",
                "page.client_reset",
                "page.client_reset_will",
                _reset,
                done_text="page.done",
                asks_overlap=True,
            ),
            RecordAction(
                "end-old-secret",
                "page.client_end_old",
                "page.client_end_old_will",
                OldSecretEnded,
                done_text="page.client_end_old_done",
                is_available=lambda client, page: client.old_secret_digest is not None,
            ),
            RecordAction(
                "force-out",
                "page.client_force",
                "page.client_force_will",
                ClientForcedOut,
                done_text="page.force_done",
            ),
            _DISABLE,
            deletion_action(RESOURCE, "page.client_delete_will"),
        ),
        extra_context=_extra_context,
        in_title=frozenset({"id", "clientId", "name", "enabled", "builtIn", "updatedAt"}),
    )
)
