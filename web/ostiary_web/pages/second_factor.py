"""Pages of a user's own second factor: set it up, new recovery codes, remove it."""

from collections.abc import Sequence
from typing import Final

from quart import Response

from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_web.application.second_factor import (
    begin,
    confirm,
    count_own_recovery_codes,
    remove,
    renew_recovery_codes,
)
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import BEFORE_SECOND_FACTOR, SIGNED_IN
from ostiary_web.pages.addresses import return_address, second_factor_page
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.offered_factor import read_offer, show_set_up
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.pages.sign_in import show_signed_out

second_factor_pages = PageRoutes("second_factor_pages", __name__)

_PLACE: Final = "/account/second-factor"
_CONFIRM: Final = f"{_PLACE}/confirm"


@second_factor_pages.get(_PLACE, gate=BEFORE_SECOND_FACTOR)
async def show_second_factor(page: PageContext) -> Response:
    """Show whether the user has a second factor, and what they can do."""
    return await _form(page)


@second_factor_pages.post(_PLACE, gate=BEFORE_SECOND_FACTOR)
async def begin_set_up(page: PageContext) -> Response:
    """Offer a second factor to a user who entered the current password."""
    try:
        offered = await begin(page.request, page.form.get("password", ""))
    except RequestRefused as refusal:
        return await _refuse(page, refusal.reply)
    return await show_set_up(page, offered, _with_return(_CONFIRM), return_to=_return_address())


@second_factor_pages.post(_CONFIRM, gate=BEFORE_SECOND_FACTOR, form_is_on=_PLACE)
async def confirm_set_up(page: PageContext) -> Response:
    """Take the second factor into use by a first code."""
    try:
        await confirm(page.request, page.form.get("code", ""))
    except RequestRefused as refusal:
        offered = read_offer(page, page.request.user.username)
        if offered is None or refusal.reply.why in (Why.NOT_FOUND, Why.SECOND_FACTOR_EXISTS):
            return await _form(page, refusal.reply)
        return await show_set_up(
            page, offered, _with_return(_CONFIRM), refusal.reply, return_to=_return_address()
        )
    return page.redirect(_return_address(), page.text("page.done"))


@second_factor_pages.post(f"{_PLACE}/recovery-codes", gate=SIGNED_IN, form_is_on=_PLACE)
async def renew_codes(page: PageContext) -> Response:
    """Show new recovery codes, once."""
    try:
        renewed = await renew_recovery_codes(
            page.request, page.form.get("password", ""), page.form.get("code", "")
        )
    except RequestRefused as refusal:
        return await _refuse(page, refusal.reply)
    return await _form(page, recovery_codes=renewed.recovery_codes)


@second_factor_pages.post(f"{_PLACE}/remove", gate=SIGNED_IN, form_is_on=_PLACE)
async def remove_second_factor(page: PageContext) -> Response:
    """Remove the second factor."""
    try:
        await remove(page.request, page.form.get("password", ""), page.form.get("code", ""))
    except RequestRefused as refusal:
        return await _refuse(page, refusal.reply)
    return page.redirect("/account", page.text("page.done"))


async def _refuse(page: PageContext, reply: Refused) -> Response:
    if reply.why is Why.CURRENT_PASSWORD_WRONG_REPEATEDLY:
        return await show_signed_out(page, _PLACE, reply)
    return await _form(page, reply)


async def _form(
    page: PageContext, reply: Refused | None = None, recovery_codes: Sequence[str] = ()
) -> Response:
    is_on = page.request.user.has_second_factor and not recovery_codes
    return await render(
        page,
        "second_factor.html",
        codes_left=await count_own_recovery_codes(page.request) if is_on else None,
        place="/account",
        refused=reply,
        recovery_codes=recovery_codes,
        action=_with_return(_PLACE),
        is_required=page.request.account.must_set_up_second_factor,
    )


def _return_address() -> str:
    """Return the page that required a second factor, which this one leads on to; else the account."""
    return_to = return_address()
    return "/account" if return_to == "/" else return_to


def _with_return(path: str) -> str:
    """Return the path with the page to lead on to, if one required this."""
    return_to = return_address()
    return path if return_to == "/" else second_factor_page(return_to, path)
