"""Pages of a user's own account: profile, preferences, security and sessions."""

import re
from collections.abc import Awaitable

from quart import Response, request

from ostiary_core.events import LocaleChosen, OtherSessionsEnded, OwnSessionEnded, TimezoneChosen
from ostiary_core.http.answer import Answer
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ONLINE_USERS, Listing
from ostiary_core.texts import Language
from ostiary_web.application.avatars import remove_picture, store_picture
from ostiary_web.application.sign_ins import list_sign_ins
from ostiary_web.http.browser import forget_preference
from ostiary_web.http.context import RequestRefused, respond
from ostiary_web.http.gate import SIGNED_IN
from ostiary_web.http.zones import is_zone
from ostiary_web.pages.context import LANGUAGE_COOKIE, PageContext, render, render_question
from ostiary_web.pages.moments import zone_groups
from ostiary_web.pages.routes import PageRoutes

account_pages = PageRoutes("account_pages", __name__)

_ACCOUNT = "/account"
_SESSIONS = "/account/sessions"
_ELSEWHERE = "/account/sessions/end-others"
_SESSIONS_A_PAGE = 100
_SIGN_INS_SHOWN = 20
_SHOWN_KINDS = (SessionKind.LOGIN.value, SessionKind.AUTHORIZATION_CODE.value)
_PAGE_NUMBER = re.compile("[1-9][0-9]{0,5}", re.ASCII)


@account_pages.get(_ACCOUNT, gate=SIGNED_IN)
async def show_account(page: PageContext) -> Response:
    """Show profile, preferences and security."""
    return await _account(page)


@account_pages.post("/account/language", gate=SIGNED_IN, form_is_on=_ACCOUNT)
async def set_language(page: PageContext) -> Response:
    """Set the account's language, and forget the one chosen in this browser."""
    tag = page.form.get("locale", "")
    chosen = LocaleChosen(caller=page.request.caller, locale=tag)
    answer = await _back_to_account(page, page.request.decide(chosen), page.request.languages.by_tag(tag))
    return forget_preference(answer, LANGUAGE_COOKIE)


@account_pages.post("/account/zone", gate=SIGNED_IN, form_is_on=_ACCOUNT)
async def set_zone(page: PageContext) -> Response:
    """Set the account's time zone; a page that is to stay as it is, with what was typed, gets no other."""
    zone = page.form.get("timezone", "")
    chosen = TimezoneChosen(caller=page.request.caller, timezone=zone if is_zone(zone) else "")
    if page.form.get("stay"):
        await page.request.decide(chosen)
        return page.keep(respond(Answer(204, (), b"")))
    return await _back_to_account(page, page.request.decide(chosen))


@account_pages.post("/account/picture", gate=SIGNED_IN, form_is_on=_ACCOUNT)
async def set_picture(page: PageContext) -> Response:
    """Set the picture that clients show."""
    return await _back_to_account(page, store_picture(page.request))


@account_pages.post("/account/picture/remove", gate=SIGNED_IN, form_is_on=_ACCOUNT)
async def delete_picture(page: PageContext) -> Response:
    """Remove the picture."""
    return await _back_to_account(page, remove_picture(page.request))


async def _back_to_account(
    page: PageContext, change: Awaitable[object], language: Language | None = None
) -> Response:
    """Return to the account once `change` is done, in this language, with its faults if it was refused."""
    try:
        await change
    except RequestRefused as refusal:
        return await _account(page, refusal.reply)
    return page.redirect(_ACCOUNT, (language or page.language).text("page.done"))


@account_pages.get(_SESSIONS, gate=SIGNED_IN)
async def show_sessions(page: PageContext) -> Response:
    """Show the user's sessions in browsers and applications."""
    context = page.request
    asked = request.args.get("page", "")
    number = int(asked) if _PAGE_NUMBER.fullmatch(asked) else 1
    listing = Listing(
        resource=ONLINE_USERS,
        filters={"user_id": context.user.user_id, "kind": _SHOWN_KINDS},
        page=number,
        page_size=_SESSIONS_A_PAGE,
    )
    found = await context.query(lambda store, now: store.page(listing, now))
    pages = max(1, -(-found.total // _SESSIONS_A_PAGE))
    return await render(
        page,
        "sessions.html",
        place=_SESSIONS,
        sign_ins=[] if number > 1 else await list_sign_ins(context, _SIGN_INS_SHOWN),
        sessions=found.items,
        total=found.total,
        number=number,
        pages=pages,
        before=f"{_SESSIONS}?page={min(number - 1, pages)}" if number > 1 else None,
        after=f"{_SESSIONS}?page={number + 1}" if number < pages else None,
    )


@account_pages.get(_ELSEWHERE, gate=SIGNED_IN)
async def ask_to_end_others(page: PageContext) -> Response:
    """Ask before the user is signed out everywhere else."""
    return await render_question(
        page,
        place=_SESSIONS,
        heading=page.text("page.elsewhere_sure"),
        confirm_text=page.text("page.elsewhere_will"),
        action_name=page.text("page.elsewhere"),
        back=_SESSIONS,
    )


@account_pages.post(_ELSEWHERE, gate=SIGNED_IN)
async def end_others(page: PageContext) -> Response:
    """Sign the user out everywhere else."""
    await page.request.decide(OtherSessionsEnded(caller=page.request.caller))
    return page.redirect(_SESSIONS, page.text("page.done"))


@account_pages.post("/account/sessions/<session_id>/end", gate=SIGNED_IN, form_is_on=_SESSIONS)
async def end_session(page: PageContext, session_id: str) -> Response:
    """End one of the user's sessions."""
    try:
        await page.request.decide(OwnSessionEnded(caller=page.request.caller, session_id=session_id))
    except RequestRefused as refusal:
        # A session that ended in the meantime is what the user asked for.
        if refusal.reply.why is not Why.NOT_FOUND:
            raise
    return page.redirect(_SESSIONS)


async def _account(page: PageContext, reply: Refused | None = None) -> Response:
    return await render(
        page,
        "account.html",
        place=_ACCOUNT,
        refused=reply,
        zones=zone_groups(page.zone.key),
        has_permissions=bool(page.request.account.permissions),
    )
