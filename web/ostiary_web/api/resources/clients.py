"""Serve `/api/oauth/clients`: third parties, their secrets and their sessions ("Client")."""

from typing import Annotated

from msgspec import Meta
from quart import Response

from ostiary_core import events
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import SecretIssued
from ostiary_web.api.resources.routes import add_event_route, make_routes
from ostiary_web.application.answer_data import AnswerData
from ostiary_web.application.resources.clients import PATH, RESOURCE, make_secret_reset
from ostiary_web.application.resources.lists import answer_list
from ostiary_web.application.resources.online import select_visible_sessions
from ostiary_web.application.resources.records import answer_change, read_object_or_nothing, refuse_body
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

clients = make_routes(RESOURCE)

ClientSecret = Annotated[str, Meta(pattern="^[A-Za-z0-9]{43,}$", description="Shown this once.")]


class NewSecret(AnswerData):
    """The secret that a client authenticates with from now on."""

    secret: ClientSecret


@clients.post(f"{PATH}/<client_id>/secret", gate=require_permission(Permission.CLIENT_UPDATE))
async def reset_secret(context: RequestContext, client_id: str) -> NewSecret:
    """Issue a new secret, shown this once; with `{keepOldForSeconds}` the old one keeps working that long.

    A current secret that was never used is replaced at once: then the one before it keeps working.
    """
    fields = await read_object_or_nothing(context)
    reply = await context.decide(make_secret_reset(context, client_id, fields))
    assert isinstance(reply, SecretIssued)
    return NewSecret(secret=reply.secret.reveal())


@clients.delete(f"{PATH}/<client_id>/old-secret", gate=require_permission(Permission.CLIENT_UPDATE))
async def end_old_secret(context: RequestContext, client_id: str) -> Response:
    """End the old secret's grace now."""
    refuse_body(context)
    reply = await context.decide(events.OldSecretEnded(caller=context.caller, client_id=client_id))
    return await answer_change(context, RESOURCE, reply)


add_event_route(
    clients,
    "POST",
    f"{PATH}/<client_id>/force-logout",
    events.ClientForcedOut,
    require_permission(Permission.CLIENT_UPDATE),
)


@clients.get(f"{PATH}/<client_id>/sessions", gate=require_permission(Permission.CLIENT_LIST))
async def list_sessions(context: RequestContext, client_id: str) -> Response:
    """List the client's active sessions that the caller may see."""
    await context.decide(events.ClientRequested(caller=context.caller, client_id=client_id))
    return await answer_list(context, select_visible_sessions(context), only={"client_id": client_id})
