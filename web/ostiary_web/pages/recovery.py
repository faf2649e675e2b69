"""A forgotten password: a code by text message, and a new password for whoever holds the telephone."""

from typing import Any

from quart import Blueprint, Response, request

from ostiary_core.decision import FieldFault, FieldRule, Refused
from ostiary_core.identifiers import is_phone
from ostiary_core.passwords import new_password_faults
from ostiary_core.rate import Operation
from ostiary_core.records import TextCodePurpose
from ostiary_core.why import Why
from ostiary_web.browser import FORM_FIELD, proves_origin
from ostiary_web.pages.addresses import see_other
from ostiary_web.pages.visit import Visit, open_visit, page
from ostiary_web.recovery import recover_password, send_text_code

__all__ = ["recovery_pages"]

recovery_pages = Blueprint("recovery_pages", __name__)


@recovery_pages.get("/recover")
async def show_recovery() -> Response:
    """The telephone number, or at once the code for somebody who has one."""
    visit = await open_visit()
    return await _form(visit, coded=request.args.get("code") == "1")


@recovery_pages.post("/recover")
async def take_phone() -> Response:
    """Have a code sent, if the number is known; the page that follows is the same if it is not."""
    visit = await open_visit()
    form = await request.form
    phone = form.get("phone", "").strip()
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await _form(visit, Refused(Why.ORIGIN_UNPROVEN), phone=phone)
    too_many = visit.too_many(Operation.TEXT_CODE)
    if too_many is not None:
        return await _form(visit, too_many, phone=phone)
    if not is_phone(phone):
        faults = (FieldFault("phone", FieldRule.PHONE),)
        return await _form(visit, Refused(Why.FIELDS_INVALID, faults), phone=phone)
    await send_text_code(visit.here, TextCodePurpose.RESET_PASSWORD, phone)
    return await _form(visit, coded=True, phone=phone, notice=visit.text("code_sent"))


@recovery_pages.post("/recover/password")
async def take_new_password() -> Response:
    """The code and the new password; then to the sign-in page."""
    visit = await open_visit()
    form = await request.form
    phone, new = form.get("phone", "").strip(), form.get("new_password", "")
    again: dict[str, Any] = {"coded": True, "phone": phone}
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await _form(visit, Refused(Why.ORIGIN_UNPROVEN), **again)
    too_many = visit.too_many(Operation.RESET_PASSWORD)
    if too_many is not None:
        return await _form(visit, too_many, **again)
    faults = new_password_faults("newPassword", new)
    if faults:
        return await _form(visit, Refused(Why.FIELDS_INVALID, faults), **again)
    reply = await recover_password(visit.here, phone, form.get("code", "").strip(), new)
    if reply is not None:
        return await _form(visit, reply, **again)
    return visit.keep(see_other("/login?recovered=1"))


async def _form(
    visit: Visit,
    reply: Refused | None = None,
    *,
    coded: bool = False,
    phone: str = "",
    notice: str | None = None,
) -> Response:
    return await page(
        visit,
        "recover.html",
        refused=reply,
        coded=coded,
        phone=phone,
        notice=notice,
    )
