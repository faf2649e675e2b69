"""Pages for a forgotten password: a code by text message, then a new password."""

from typing import Final

from quart import Response

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.reply import Refused
from ostiary_core.model.user import is_phone, new_password_faults
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.application.recovery import has_text_recovery, recover_password, send_recovery_code
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import OPEN_TO_ALL
from ostiary_web.pages.addresses import has_parameter, local_path, recovery_page, return_address
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.kept import forget_kept
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.pages.sent_codes import find_sent_code, redirect_to_code

recovery_pages = PageRoutes("recovery_pages", __name__)

_PLACE: Final = "/recover"


@recovery_pages.get(_PLACE, gate=OPEN_TO_ALL)
async def show_recovery(page: PageContext) -> Response:
    """Show the form for the telephone number, or for a code that the user has."""
    off = None if has_text_recovery(page.request) else Refused(Why.TEXT_RECOVERY_OFF)
    coded = has_parameter("code")
    sent = find_sent_code(page, _PLACE) if coded else None
    return await _form(page, return_address(), off, coded=coded, phone=sent.phone if sent else "")


@recovery_pages.post(_PLACE, gate=OPEN_TO_ALL)
async def send_code(page: PageContext) -> Response:
    """Send a code if the number is known; the page that follows does not tell."""
    phone = page.request.phone_number(page.form.get("phone", ""))
    return_to = local_path(page.form.get("next", ""))
    page.address = recovery_page(return_to)
    try:
        page.require_own_form()
        page.request.count_against_limit(Operation.TEXT_CODE)
        if not is_phone(phone):
            page.request.refuse(Why.FIELDS_INVALID, (FieldFault("phone", FieldRule.PHONE),))
        sent = find_sent_code(page, _PLACE)
        if sent is not None and sent.phone == phone and sent.wait_seconds:
            return page.redirect(_with_code(return_to))
        await send_recovery_code(page.request, phone)
    except RequestRefused as refusal:
        return await _form(page, return_to, refusal.reply, phone=phone)
    return redirect_to_code(page, _with_code(return_to), phone)


@recovery_pages.post(f"{_PLACE}/password", gate=OPEN_TO_ALL)
async def set_new_password(page: PageContext) -> Response:
    """Set the new password by the code, and redirect to the sign-in page."""
    phone, new = page.request.phone_number(page.form.get("phone", "")), page.form.get("new_password", "")
    return_to = local_path(page.form.get("next", ""))
    page.address = _with_code(return_to)
    try:
        page.require_own_form()
        page.request.count_against_limit(Operation.RESET_PASSWORD)
        faults = new_password_faults("newPassword", new)
        if faults:
            page.request.refuse(Why.FIELDS_INVALID, faults)
        await recover_password(page.request, phone, page.form.get("code", "").strip(), new)
    except RequestRefused as refusal:
        return await _form(page, return_to, refusal.reply, coded=True, phone=phone)
    forget_kept(page)
    return page.redirect(page.sign_in_page(return_to, "recovered=1"))


def _with_code(return_to: str) -> str:
    return recovery_page(return_to, "code=1")


async def _form(
    page: PageContext,
    return_to: str,
    reply: Refused | None = None,
    *,
    coded: bool = False,
    phone: str = "",
) -> Response:
    sent = find_sent_code(page, _PLACE) if coded else None
    notice = None
    if sent is not None and reply is None:
        notice = page.text("page.code_sent", count=SPECIFICATION.text_code_seconds // 60)
    return await render(
        page,
        "recover.html",
        refused=reply,
        is_off=not has_text_recovery(page.request),
        return_to=return_to,
        have_code=_with_code(return_to),
        sign_in=page.sign_in_page(return_to),
        coded=coded,
        phone=phone,
        sent=sent,
        notice=notice,
    )
