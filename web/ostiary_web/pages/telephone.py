"""A new telephone number for an account, proved by a code that is sent there and the current password."""

from quart import Blueprint, Response

from ostiary_core.model.decision import FieldFault, FieldRule, Refused
from ostiary_core.model.identifiers import is_phone
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.account import change_phone
from ostiary_web.pages.posted import posted, turned_away
from ostiary_web.pages.sign_in import show_signed_out
from ostiary_web.pages.visit import Visit, open_visit, page
from ostiary_web.recovery import send_code_to_new_number

__all__ = ["telephone_pages"]

telephone_pages = Blueprint("telephone_pages", __name__)

_PHONE = "/account/phone"


@telephone_pages.get(_PHONE)
async def show_phone() -> Response:
    """The form for a new number."""
    visit = await open_visit()
    return turned_away(visit) or await _form(visit)


@telephone_pages.post(_PHONE)
async def take_phone() -> Response:
    """Have a code sent to the new number."""
    came = await posted(_PHONE)
    if isinstance(came, Response):
        return came
    visit, phone = came.visit, came.form.get("phone", "").strip()
    too_many = visit.too_many(Operation.TEXT_CODE)
    if too_many is not None:
        return await _form(visit, too_many, phone=phone)
    if not is_phone(phone):
        faults = (FieldFault("phone", FieldRule.PHONE),)
        return await _form(visit, Refused(Why.FIELDS_INVALID, faults), phone=phone)
    refusal = await send_code_to_new_number(visit.here, phone, came.who, came.user)
    if refusal is not None:
        return await _form(visit, refusal, phone=phone)
    return await _form(visit, phone=phone, notice=visit.text("phone_code_sent"), coded=True)


@telephone_pages.post(f"{_PHONE}/code")
async def take_code() -> Response:
    """The code that was sent: the number is the account's from now on."""
    came = await posted(_PHONE)
    if isinstance(came, Response):
        return came
    phone, code = came.form.get("phone", "").strip(), came.form.get("code", "").strip()
    reply = await change_phone(came.visit.here, came.who, phone, code, came.form.get("password", ""))
    if reply is not None and reply.why is Why.CURRENT_PASSWORD_WRONG_REPEATEDLY:
        return await show_signed_out(came.visit, _PHONE, reply)
    if reply is not None:
        return await _form(came.visit, reply, phone=phone, coded=True)
    return came.done("/account?done=1")


async def _form(
    visit: Visit,
    reply: Refused | None = None,
    *,
    phone: str = "",
    notice: str | None = None,
    coded: bool = False,
) -> Response:
    return await page(
        visit,
        "phone.html",
        place="/account",
        refused=reply,
        phone=phone,
        notice=notice,
        coded=coded,
    )
