"""Serve `/api/iam/users`: accounts, as an administrator handles them."""

from quart import Response

from ostiary_core import events
from ostiary_core.model.fields import FieldFault, FieldReader
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import BatchDone, BatchRefused, UserKnown
from ostiary_core.model.why import Why
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.api.resources.routes import add_event_route, make_routes
from ostiary_web.api.second_factor import SecondFactorLeft
from ostiary_web.application.answer_data import AnswerData, Count
from ostiary_web.application.failed_sign_ins import FailedSignIns, describe_failures
from ostiary_web.application.grants import Grant, list_grants_of_user
from ostiary_web.application.invitations import (
    encode_invitation,
    encode_invitations,
    invite,
    invite_all,
)
from ostiary_web.application.resources.batches import decide_each
from ostiary_web.application.resources.records import combine_refusals, ids_in, read_optional_boolean
from ostiary_web.application.resources.users import (
    PATH,
    RESOURCE,
    make_password_reset,
    make_role_change,
    read_role_changes,
    request_user,
)
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

users = make_routes(RESOURCE)


# --- actions


class RolesChanged(AnswerData):
    """The number of users whose roles were changed; the others had them so already."""

    changed: Count


@users.post(f"{PATH}/batch-roles", gate=require_permission(Permission.USER_UPDATE))
async def batch_roles(context: RequestContext) -> RolesChanged:
    """Give `{add}` to and take `{remove}` from the users `{ids}`: from all of them, or from none."""
    ids, add, remove = await read_role_changes(context)
    caller = context.caller
    known = await decide_each(context, [events.UserRequested(caller=caller, user_id=each) for each in ids])
    if None in known:
        # Not all of them were read in time: that says nothing of whether they are there.
        raise TurnFailed
    users_found = [RESOURCE.item_in_reply(each.reply) for each in known if each is not None]
    faults = [
        FieldFault(f"ids.{place}", Why.NOT_FOUND) for place, user in enumerate(users_found) if user is None
    ]
    if faults:
        context.refuse(Why.NOT_FOUND, faults)
    if context.user.user_id in ids:
        place = ids.index(context.user.user_id)
        context.refuse(Why.OWN_ACCOUNT_ALONE, [FieldFault(f"ids.{place}", Why.OWN_ACCOUNT_ALONE)])
    made = {
        place: event
        for place, user in enumerate(users_found)
        if user is not None and (event := make_role_change(context, user, add, remove)) is not None
    }
    reply = await context.decide(events.BatchRequested(events=tuple(made.values())))
    if isinstance(reply, BatchRefused):
        raise combine_refusals(reply, [f"ids.{place}" for place in made])
    assert isinstance(reply, BatchDone)
    # Another caller may have changed some since they were read.
    unchanged = sum(isinstance(each, UserKnown) and each.is_unchanged for each in reply.replies)
    return RolesChanged(changed=len(made) - unchanged)


@users.put(f"{PATH}/<user_id>/password", gate=require_permission(Permission.USER_UPDATE))
async def reset_password(context: RequestContext, user_id: str) -> None:
    """Set `{password}`, which the user must change; end everything of the user."""
    content = await context.json_object()
    await context.decide(await make_password_reset(context, user_id, content))


@users.post(f"{PATH}/<user_id>/invitation", gate=require_permission(Permission.USER_UPDATE))
async def post_invitation(context: RequestContext, user_id: str) -> Response:
    """Read `{send}` and answer a link by which the user sets a password, once, or send it."""
    send = await read_optional_boolean(context, "send")
    invited = await invite(context, user_id, by_text_message=send)
    return context.success(encode_invitation(invited), status=201)


@users.post(f"{PATH}/batch-invitation", gate=require_permission(Permission.USER_UPDATE))
async def batch_invitation(context: RequestContext) -> Response:
    """Read `{ids, send}` and invite these users, all of them or none."""
    reader = FieldReader(await context.json_object(), frozenset({"ids", "send"}))
    ids, send = ids_in(reader), reader.boolean("send", False)
    if reader.faults:
        context.refuse(Why.FIELDS_INVALID, reader.faults)
    return context.success(
        encode_invitations(await invite_all(context, ids, by_text_message=send)), status=201
    )


@users.get(f"{PATH}/<user_id>/failed-sign-ins", gate=require_permission(Permission.USER_LIST))
async def show_failed_sign_ins(context: RequestContext, user_id: str) -> FailedSignIns:
    """Show the failed sign-ins that this process counts, and until when they make the user wait."""
    return await describe_failures(context, user_id)


@users.get(f"{PATH}/<user_id>/second-factor", gate=require_permission(Permission.USER_LIST))
async def show_second_factor(context: RequestContext, user_id: str) -> SecondFactorLeft:
    """Say how many recovery codes the second factor of a user has left; 404 if there is none."""
    left = (await request_user(context, user_id)).recovery_codes_left
    return context.refuse(Why.NOT_FOUND) if left is None else SecondFactorLeft(recovery_codes_left=left)


@users.get(f"{PATH}/<user_id>/grants", gate=require_permission(Permission.USER_LIST))
async def list_grants(context: RequestContext, user_id: str) -> list[Grant]:
    """List the clients that the user has approved, each with its active sessions."""
    await context.decide(events.UserRequested(caller=context.caller, user_id=user_id))
    return await list_grants_of_user(context, user_id)


for _method, _path, _event in (
    ("DELETE", "second-factor", events.SecondFactorReset),
    ("POST", "force-logout", events.UserForcedOut),
    ("POST", "unlock", events.UserUnlocked),
    ("DELETE", "grants/<client_id>", events.ConsentWithdrawnByAdministrator),
):
    _gate = require_permission(Permission.USER_UPDATE)
    add_event_route(users, _method, f"{PATH}/<user_id>/{_path}", _event, _gate)
