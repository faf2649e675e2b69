"""Pages for a new telephone number, proved by a code sent to it and the current password."""

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
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.pages.sign_in import show_signed_out

telephone_pages = PageRoutes("telephone_pages", __name__)

_PHONE = "/account/phone"


@telephone_pages.get(_PHONE, gate=SIGNED_IN)
async def show_phone(page: PageContext) -> Response:
    """Show the form for a new number."""
    return await _form(page)


@telephone_pages.post(_PHONE, gate=SIGNED_IN)
async def send_code(page: PageContext) -> Response:
    """Send a code to the new number."""
    phone = page.request.phone_number(page.form.get("phone", ""))
    try:
        page.request.count_against_limit(Operation.TEXT_CODE)
        if not is_phone(phone):
            page.request.refuse(Why.FIELDS_INVALID, (FieldFault("phone", FieldRule.PHONE),))
        await send_code_to_new_number(page.request, phone)
    except RequestRefused as refusal:
        return await _form(page, refusal.reply, phone=phone)
    return await _form(page, phone=phone, notice=page.text("page.phone_code_sent"), coded=True)


@telephone_pages.post(f"{_PHONE}/code", gate=SIGNED_IN, form_is_on=_PHONE)
async def set_phone(page: PageContext) -> Response:
    """Set the new number by the code that was sent to it."""
    phone, code = page.request.phone_number(page.form.get("phone", "")), page.form.get("code", "").strip()
    try:
        await change_phone(page.request, phone, code, page.form.get("password", ""))
    except RequestRefused as refusal:
        if refusal.reply.why is Why.CURRENT_PASSWORD_WRONG_REPEATEDLY:
            return await show_signed_out(page, _PHONE, refusal.reply)
        return await _form(page, refusal.reply, phone=phone, coded=True)
    return page.redirect("/account", page.text("page.done"))


async def _form(
    page: PageContext,
    reply: Refused | None = None,
    *,
    phone: str = "",
    notice: str | None = None,
    coded: bool = False,
) -> Response:
    return await render(
        page, "phone.html", place="/account", refused=reply, phone=phone, notice=notice, coded=coded
    )
