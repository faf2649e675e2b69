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
from ostiary_web.pages.kept import forget_kept, read_kept, redirect_keeping
from ostiary_web.pages.offered_factor import (
    CODES_FILE,
    offer_fields,
    read_offer,
    send_codes_file,
    show_set_up,
)
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.pages.sign_in import show_signed_out

second_factor_pages = PageRoutes("second_factor_pages", __name__)

_PLACE: Final = "/account/second-factor"
_SET_UP: Final = f"{_PLACE}/set-up"
_CONFIRM: Final = f"{_PLACE}/confirm"
_CODES: Final = f"{_PLACE}/recovery-codes"


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
    return redirect_keeping(page, _with_return(_SET_UP), offer_fields(offered))


@second_factor_pages.get(_SET_UP, gate=BEFORE_SECOND_FACTOR)
async def show_offered(page: PageContext) -> Response:
    """Show the second factor that this browser was offered, or where one begins."""
    offered = read_offer(page, read_kept(page, _SET_UP), page.request.user.username)
    if offered is None:
        return page.redirect(_with_return(_PLACE))
    return await show_set_up(page, offered, _with_return(_CONFIRM), return_to=_return_address())


@second_factor_pages.post(_CONFIRM, gate=BEFORE_SECOND_FACTOR, form_is_on=_SET_UP)
async def confirm_set_up(page: PageContext) -> Response:
    """Take the second factor into use by a first code."""
    try:
        await confirm(page.request, page.require_code())
    except RequestRefused as refusal:
        offered = read_offer(page, page.form, page.request.user.username)
        if offered is None or refusal.reply.why in (Why.NOT_FOUND, Why.SECOND_FACTOR_EXISTS):
            return await _form(page, refusal.reply)
        return await show_set_up(
            page, offered, _with_return(_CONFIRM), refusal.reply, return_to=_return_address()
        )
    forget_kept(page)
    return page.redirect(_return_address(), page.text("page.done"))


@second_factor_pages.post(_CODES, gate=SIGNED_IN, form_is_on=_PLACE)
async def renew_codes(page: PageContext) -> Response:
    """Make new recovery codes, and redirect to the page that shows them."""
    try:
        renewed = await renew_recovery_codes(page.request, page.form.get("password", ""), page.require_code())
    except RequestRefused as refusal:
        return await _refuse(page, refusal.reply)
    return redirect_keeping(page, _CODES, {"recovery_codes": " ".join(renewed.recovery_codes)})


@second_factor_pages.get(_CODES, gate=SIGNED_IN)
async def show_new_codes(page: PageContext) -> Response:
    """Show new recovery codes to the browser that asked for them."""
    codes = read_kept(page, _CODES).get("recovery_codes", "")
    return await _form(page, recovery_codes=codes.split()) if codes else page.redirect(_PLACE)


@second_factor_pages.get(f"{_PLACE}/{CODES_FILE}", gate=BEFORE_SECOND_FACTOR)
async def send_codes(page: PageContext) -> Response:
    """Send the recovery codes that this browser is shown, as a file."""
    kept = read_kept(page, _SET_UP) or read_kept(page, _CODES)
    if "recovery_codes" not in kept:
        return page.redirect(_PLACE)
    return send_codes_file(page, kept["recovery_codes"].split())


@second_factor_pages.post(f"{_PLACE}/remove", gate=SIGNED_IN, form_is_on=_PLACE)
async def remove_second_factor(page: PageContext) -> Response:
    """Remove the second factor."""
    try:
        await remove(page.request, page.form.get("password", ""), page.require_code())
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
        codes_file=f"{_PLACE}/{CODES_FILE}",
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
