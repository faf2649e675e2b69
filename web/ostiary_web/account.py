"""`/api/auth/*`: the caller's telephone, language and time zone, and what other systems may do for them."""

from quart import Blueprint, Response

from ostiary_core.events import ConsentWithdrawn, LocaleChosen, PhoneChanged, SignedIn, TimezoneChosen
from ostiary_core.model.decision import FieldFault, FieldRule, Refused
from ostiary_core.model.secret import Secret
from ostiary_core.users.user_fields import LONGEST_PASSWORD
from ostiary_web.exchange import Exchange
from ostiary_web.grants import grants_of
from ostiary_web.own_account import longest, open_own_call, phone, texts, verify_current_password
from ostiary_web.zones import is_zone

__all__ = ["account", "change_phone"]

account = Blueprint("account", __name__)

_LONGEST = 64


# --- what the pages do too


async def change_phone(here: Exchange, who: SignedIn, phone: str, code: str, password: str) -> Refused | None:
    """A new number for a signed-in user who knows the current password; None when it is done."""
    check = await verify_current_password(here, who, password)
    if isinstance(check, Refused):
        return check
    decision = await here.decide(
        PhoneChanged(
            caller=who,
            verified_against=check.verified_against,
            password_matches=check.matches,
            phone=phone,
            code=Secret(code),
        )
    )
    return decision.reply if isinstance(decision.reply, Refused) else None


# --- the interface


@account.put("/api/auth/phone")
async def put_phone() -> Response:
    """`{phone, code, password}`; ends every other session of the user."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    fields = await texts(call.here, phone=phone, code=longest(_LONGEST), password=longest(LONGEST_PASSWORD))
    if isinstance(fields, Response):
        return fields
    reply = await change_phone(call.here, call.who, fields["phone"], fields["code"], fields["password"])
    return call.here.success(None) if reply is None else call.here.refused(reply)


@account.put("/api/auth/locale")
async def put_locale() -> Response:
    """`{locale}`."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    fields = await texts(call.here, locale=longest(_LONGEST))
    if isinstance(fields, Response):
        return fields
    return await call.done(LocaleChosen(caller=call.who, locale=fields["locale"]))


@account.put("/api/auth/timezone")
async def put_timezone() -> Response:
    """`{timezone}`, by its IANA name."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    fields = await texts(call.here, timezone=longest(_LONGEST))
    if isinstance(fields, Response):
        return fields
    zone = fields["timezone"]
    unknown = () if is_zone(zone) else (FieldFault("timezone", FieldRule.TIMEZONE),)
    return await call.done(TimezoneChosen(caller=call.who, timezone=zone, faults=unknown))


@account.get("/api/auth/grants")
async def get_grants() -> Response:
    """The systems that the caller lets act for them, each with its running sessions."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    return call.here.success(await grants_of(call.here, call.user))


@account.delete("/api/auth/grants/<client_id>")
async def delete_grant(client_id: str) -> Response:
    """Withdraw: the next time that system asks again, and its sessions of this user end (READINGS 26)."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    return await call.done(ConsentWithdrawn(caller=call.who, client_id=client_id))
