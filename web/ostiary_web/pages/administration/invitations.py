"""Pages that invite several users at once, as those of an import who have no password."""

from collections.abc import Sequence
from typing import Final

from quart import Response

from ostiary_core.events import InvitationMade
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Refused, Reply
from ostiary_core.model.why import Why
from ostiary_web.application.invitations import (
    Invited,
    hand_over,
    has_gateway,
    invite_all,
    make_invitation_event,
)
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.list_return import HOME
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.sheets.cells import MOST_ROWS

_PLACE: Final = "/admin/people"


def add_invitations(routes: PageRoutes) -> None:
    """Add the route that invites the users whom a form names."""

    @routes.post(
        f"{_PLACE}/invitations",
        gate=require_permission(Permission.USER_UPDATE),
        form_is_on=f"{_PLACE}/import",
    )
    async def invite_several(page: PageContext) -> Response:
        """Invite all of them or none, and show once the links that no text message took."""
        user_ids = tuple(dict.fromkeys(page.form.get("user_ids", "").split()))
        try:
            if not 0 < len(user_ids) <= MOST_ROWS:
                rule = FieldRule.TOO_LONG if user_ids else FieldRule.REQUIRED
                page.request.refuse(Why.FIELDS_INVALID, (FieldFault("ids", rule),))
            invited = await invite_all(page.request, user_ids, by_text_message=_is_by_text_message(page))
        except RequestRefused as refusal:
            return await _render(page, (), refusal.reply, user_ids)
        return await _render(page, invited)


async def make_event(page: PageContext, user_id: str) -> InvitationMade:
    """Return the event that invites one user."""
    return make_invitation_event(page.request, user_id)


async def show_invitation(page: PageContext, reply: Reply) -> Response:
    """Send an invitation of one user, or show its link once."""
    return await _render(page, [await hand_over(page.request, reply, _is_by_text_message(page))])


def _is_by_text_message(page: PageContext) -> bool:
    return page.form.get("by_text_message") == "true"


async def _render(
    page: PageContext,
    invited: Sequence[Invited],
    refused: Refused | None = None,
    user_ids: Sequence[str] = (),
) -> Response:
    return await render(
        page,
        "administration/invitations.html",
        refused=refused,
        place=_PLACE,
        back=_PLACE if page.may(Permission.USER_LIST) else HOME,
        heading=page.text("page.invitations"),
        shown=[each for each in invited if not each.is_sent],
        sent=sum(each.is_sent for each in invited),
        user_ids=user_ids,
        has_gateway=has_gateway(page.request),
        asks_proof=page.asks_proof,
    )
