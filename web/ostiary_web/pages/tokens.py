"""Pages of personal access tokens: one's own, making one, and ending one."""

from collections.abc import Mapping
from typing import Final

from quart import Response

from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import fingerprint_of
from ostiary_core.model.why import Why
from ostiary_core.users.personal_token import DAYS, LIFETIME_DAYS, NAME, PERMISSIONS
from ostiary_web.application.resources.roles import describe_permission
from ostiary_web.application.tokens import create_token, end_token, list_tokens
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import SIGNED_IN
from ostiary_web.pages.administration.record_forms import Values, faults_by_field, read_number
from ostiary_web.pages.context import PageContext, render, render_question
from ostiary_web.pages.kept import forget_kept, redirect_keeping, take_kept
from ostiary_web.pages.routes import PageRoutes

token_pages = PageRoutes("token_pages", __name__)

_PLACE: Final = "/account/tokens"
_TOKEN: Final = "token"
"""Field under which a new token is kept for its page."""
_USED_WITH: Final[Mapping[TokenPower, tuple[Permission, ...]]] = {
    TokenPower.CREDENTIALS: (Permission.USER_UPDATE,),
    TokenPower.ROLES: (Permission.USER_UPDATE, Permission.USER_CREATE, Permission.ROLE_UPDATE),
}
"""Permissions with which a power does anything."""
_OFFERED_DAYS: Final = (1, 7, 30, LIFETIME_DAYS.default, 180, LIFETIME_DAYS.most)


@token_pages.get(_PLACE, gate=SIGNED_IN)
async def show_tokens(page: PageContext) -> Response:
    """Show the user's tokens, one just made in full and once, and the form for a new one."""
    token = take_kept(page, _PLACE).get(_TOKEN)
    return await _tokens(page, {DAYS: str(LIFETIME_DAYS.default)}, token=token)


@token_pages.post(_PLACE, gate=SIGNED_IN)
async def make_token(page: PageContext) -> Response:
    """Make a token, and redirect to the page that shows it once; show it at once if it came twice."""
    form = page.form
    name, chosen, days = form.get(NAME, "").strip(), form.getlist(PERMISSIONS), form.get(DAYS, "")
    values: Values = {NAME: name, PERMISSIONS: chosen, DAYS: days}
    try:
        created = await create_token(page.request, {**values, DAYS: read_number(days)})
    except RequestRefused as refusal:
        return await _tokens(page, values, refusal.reply)
    token = created.reply.token.reveal()
    if not created.is_repeated:
        return redirect_keeping(page, _PLACE, {_TOKEN: token})
    page.request.log_refusal(Why.SUBMITTED_TWICE)
    forget_kept(page)
    return await _tokens(page, {DAYS: days}, Refused(Why.SUBMITTED_TWICE), token)


@token_pages.get(f"{_PLACE}/<session_id>/end", gate=SIGNED_IN)
async def ask_to_end(page: PageContext, session_id: str) -> Response:
    """Ask before a token is ended."""
    found = await list_tokens(page.request, session_id)
    if not found:
        page.request.refuse(Why.NOT_FOUND)
    return await render_question(
        page,
        place="/account",
        heading=page.text("page.token_end_sure", name=found[0].label or ""),
        confirm_text=page.text("page.token_end_will"),
        action_name=page.text("page.token_end"),
        back=_PLACE,
    )


@token_pages.post(f"{_PLACE}/<session_id>/end", gate=SIGNED_IN)
async def end(page: PageContext, session_id: str) -> Response:
    """End a token; one that has ended meanwhile is no error."""
    try:
        await end_token(page.request, session_id)
    except RequestRefused as refusal:
        if refusal.reply.why is not Why.NOT_FOUND:
            raise
    return page.redirect(_PLACE)


async def _tokens(
    page: PageContext,
    values: Values,
    reply: Refused | None = None,
    token: str | None = None,
) -> Response:
    by_field = faults_by_field(page, () if reply is None else reply.faults, {})
    held: list[Permission | TokenPower] = [
        *(each for each in Permission if page.may(each)),
        *(power for power, used_with in _USED_WITH.items() if any(map(page.may, used_with))),
    ]
    return await render(
        page,
        "tokens.html",
        place="/account",
        refused=reply,
        tokens=await list_tokens(page.request),
        fingerprint_of=fingerprint_of,
        token=token,
        values=values,
        wrong={name: by_field[name] for name in (NAME, PERMISSIONS, DAYS) if name in by_field},
        permissions=[(each.value, f"{describe_permission(each, page.language)} ({each})") for each in held],
        days=[(str(days), page.text("page.days", count=days)) for days in _OFFERED_DAYS],
    )
