"""Pages for a new telephone number, proved by a code sent to it and the current password."""

from typing import Final

from quart import Response

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.reply import Refused
from ostiary_core.model.user import is_phone
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.application.own_account import change_phone
from ostiary_web.application.recovery import send_code_to_new_number
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import SIGNED_IN
from ostiary_web.pages.addresses import has_parameter
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.kept import forget_kept
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.pages.sent_codes import find_sent_code, redirect_to_code
from ostiary_web.pages.sign_in import show_signed_out

telephone_pages = PageRoutes("telephone_pages", __name__)

_PHONE: Final = "/account/phone"
_WITH_CODE: Final = f"{_PHONE}?code=1"


@telephone_pages.get(_PHONE, gate=SIGNED_IN)
async def show_phone(page: PageContext) -> Response:
    """Show the form for a new number, or for the code that was sent to it."""
    sent = find_sent_code(page, _PHONE) if has_parameter("code") else None
    return await _form(page, phone=sent.phone, coded=True) if sent else await _form(page)


@telephone_pages.post(_PHONE, gate=SIGNED_IN)
async def send_code(page: PageContext) -> Response:
    """Send a code to the new number."""
    phone = page.request.phone_number(page.form.get("phone", ""))
    try:
        page.request.count_against_limit(Operation.TEXT_CODE)
        if not is_phone(phone):
            page.request.refuse(Why.FIELDS_INVALID, (FieldFault("phone", FieldRule.PHONE),))
        sent = find_sent_code(page, _PHONE)
        if sent is not None and sent.phone == phone and sent.wait_seconds:
            return page.redirect(_WITH_CODE)
        await send_code_to_new_number(page.request, phone)
    except RequestRefused as refusal:
        return await _form(page, refusal.reply, phone=phone)
    return redirect_to_code(page, _WITH_CODE, phone)


@telephone_pages.post(f"{_PHONE}/code", gate=SIGNED_IN, form_is_on=_PHONE)
async def set_phone(page: PageContext) -> Response:
    """Set the new number by the code that was sent to it."""
    phone, code = page.request.phone_number(page.form.get("phone", "")), page.form.get("code", "").strip()
    page.address = _WITH_CODE
    try:
        await change_phone(page.request, phone, code, page.form.get("password", ""))
    except RequestRefused as refusal:
        if refusal.reply.why is Why.CURRENT_PASSWORD_WRONG_REPEATEDLY:
            return await show_signed_out(page, _PHONE, refusal.reply)
        return await _form(page, refusal.reply, phone=phone, coded=True)
    forget_kept(page)
    return page.redirect("/account", page.text("page.done"))


async def _form(
    page: PageContext, reply: Refused | None = None, *, phone: str = "", coded: bool = False
) -> Response:
    sent = find_sent_code(page, _PHONE) if coded else None
    return await render(
        page,
        "phone.html",
        place="/account",
        refused=reply,
        phone=phone,
        sent=sent,
        notice=page.text("page.phone_code_sent") if sent is not None and reply is None else None,
        coded=coded,
    )
