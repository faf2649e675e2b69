"""Pages that invite several users at once, as those of an import who have no password."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from quart import Response

from ostiary_core.events import InvitationMade
from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Instant
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
from ostiary_web.pages.kept import redirect_if_short, take_kept
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.sheets.cells import MOST_ROWS

_PLACE: Final = "/admin/people"
_OUTCOME: Final = f"{_PLACE}/invitations"
"""Page that shows once what came of inviting."""


def add_invitations(routes: PageRoutes) -> None:
    """Add the routes that invite the users whom a form names, and show once what came of it."""
    gate = require_permission(Permission.USER_UPDATE)

    @routes.post(_OUTCOME, gate=gate, form_is_on=f"{_PLACE}/import")
    async def invite_several(page: PageContext) -> Response:
        """Invite all of them or none."""
        user_ids = tuple(dict.fromkeys(page.form.get("user_ids", "").split()))
        try:
            if not 0 < len(user_ids) <= MOST_ROWS:
                rule = FieldRule.TOO_LONG if user_ids else FieldRule.REQUIRED
                page.request.refuse(Why.FIELDS_INVALID, (FieldFault("ids", rule),))
            invited = await invite_all(page.request, user_ids, by_text_message=_is_by_text_message(page))
        except RequestRefused as refusal:
            return await _render(page, {}, refusal.reply, user_ids)
        return await _show_once(page, invited)

    @routes.get(_OUTCOME, gate=gate)
    async def show_outcome(page: PageContext) -> Response:
        """Show the links that no text message took."""
        outcome = take_kept(page, _OUTCOME)
        return await _render(page, outcome) if outcome else page.redirect(_back(page))


async def make_event(page: PageContext, user_id: str) -> InvitationMade:
    """Return the event that invites one user."""
    return make_invitation_event(page.request, user_id)


async def show_invitation(page: PageContext, reply: Reply) -> Response:
    """Send an invitation of one user, or show its link once."""
    return await _show_once(page, [await hand_over(page.request, reply, _is_by_text_message(page))])


def _is_by_text_message(page: PageContext) -> bool:
    return page.form.get("by_text_message") == "true"


def _back(page: PageContext) -> str:
    return _PLACE if page.may(Permission.USER_LIST) else HOME


async def _show_once(page: PageContext, invited: Sequence[Invited]) -> Response:
    """Redirect to the page with the links; show it at once if it has more than a cookie keeps."""
    shown = [each for each in invited if not each.is_sent]
    links = [(each.user.username, each.user.name, each.link.reveal()) for each in shown]
    outcome = {
        "sent": str(len(invited) - len(shown)),
        "links": msgspec.json.encode(links).decode(),
        "expires_at": str(max((each.expires_at for each in shown), default=0)),
    }
    return redirect_if_short(page, _OUTCOME, outcome) or await _render(page, outcome)


def _list_faults(page: PageContext, refused: Refused | None) -> Iterable[str]:
    """Return each fault once, as several users may be refused for one reason, which stands above them."""
    if refused is None:
        return ()
    faults = (fault for fault in refused.faults if fault.rule is not refused.why)
    return dict.fromkeys(field_text(fault, page.language) for fault in faults)


async def _render(
    page: PageContext,
    outcome: Mapping[str, str],
    refused: Refused | None = None,
    user_ids: Sequence[str] = (),
) -> Response:
    return await render(
        page,
        "administration/invitations.html",
        refused=refused,
        faults=_list_faults(page, refused),
        place=_PLACE,
        back=_back(page),
        heading=page.text("page.invitations"),
        links=msgspec.json.decode(outcome.get("links", "[]")),
        expires_at=Instant(int(outcome.get("expires_at", "0"))),
        sent=int(outcome.get("sent", "0")),
        user_ids=user_ids,
        has_gateway=has_gateway(page.request),
        asks_proof=page.asks_proof,
    )
