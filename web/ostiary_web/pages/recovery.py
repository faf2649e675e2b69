"""A forgotten password: a code by text message, and a new password for whoever holds the telephone."""

from typing import Any

from quart import Blueprint, Response, request

from ostiary_core.model.decision import FieldFault, FieldRule, Refused
from ostiary_core.model.identifiers import is_phone
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_core.users.user_fields import new_password_faults
from ostiary_web.browser import FORM_FIELD, proves_origin
from ostiary_web.pages.addresses import local_path, recovery_page, see_other
from ostiary_web.pages.visit import Visit, open_visit, page
from ostiary_web.recovery import recover_password, send_recovery_code

__all__ = ["recovery_pages"]

recovery_pages = Blueprint("recovery_pages", __name__)


@recovery_pages.get("/recover")
async def show_recovery() -> Response:
    """The telephone number, or at once the code for somebody who has one."""
    visit = await open_visit()
    onward = local_path(request.args.get("next", ""))
    return await _form(visit, onward, coded=request.args.get("code") == "1")


@recovery_pages.post("/recover")
async def take_phone() -> Response:
    """Have a code sent, if the number is known; the page that follows is the same if it is not."""
    visit = await open_visit()
    form = await request.form
    phone, onward = form.get("phone", "").strip(), local_path(form.get("next", ""))
    visit.again = recovery_page(onward)
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await _form(visit, onward, Refused(Why.ORIGIN_UNPROVEN), phone=phone)
    too_many = visit.too_many(Operation.TEXT_CODE)
    if too_many is not None:
        return await _form(visit, onward, too_many, phone=phone)
    if not is_phone(phone):
        faults = (FieldFault("phone", FieldRule.PHONE),)
        return await _form(visit, onward, Refused(Why.FIELDS_INVALID, faults), phone=phone)
    await send_recovery_code(visit.here, phone)
    visit.again = _with_code(onward)
    return await _form(visit, onward, coded=True, phone=phone, notice=visit.text("code_sent"))


@recovery_pages.post("/recover/password")
async def take_new_password() -> Response:
    """The code and the new password; then to the sign-in page."""
    visit = await open_visit()
    form = await request.form
    phone, new = form.get("phone", "").strip(), form.get("new_password", "")
    onward = local_path(form.get("next", ""))
    visit.again = _with_code(onward)
    again: dict[str, Any] = {"coded": True, "phone": phone}
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await _form(visit, onward, Refused(Why.ORIGIN_UNPROVEN), **again)
    too_many = visit.too_many(Operation.RESET_PASSWORD)
    if too_many is not None:
        return await _form(visit, onward, too_many, **again)
    faults = new_password_faults("newPassword", new)
    if faults:
        return await _form(visit, onward, Refused(Why.FIELDS_INVALID, faults), **again)
    reply = await recover_password(visit.here, phone, form.get("code", "").strip(), new)
    if reply is not None:
        return await _form(visit, onward, reply, **again)
    return visit.keep(see_other(f"{visit.sign_in_page(onward)}&recovered=1"))


def _with_code(onward: str) -> str:
    return f"{recovery_page(onward)}&code=1"


async def _form(
    visit: Visit,
    onward: str,
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
        onward=onward,
        have_code=_with_code(onward),
        sign_in=visit.sign_in_page(onward),
        coded=coded,
        phone=phone,
        notice=notice,
    )
