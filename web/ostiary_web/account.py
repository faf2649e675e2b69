"""`/api/auth/*`: the caller's telephone, language and time zone, and what other systems may do for them."""

from quart import Blueprint, Response

from ostiary_core.decision import FieldFault, FieldRule
from ostiary_core.events import ConsentWithdrawn, LocaleChosen, PhoneChanged, TimezoneChosen
from ostiary_core.secret import Secret
from ostiary_web.grants import grants_of
from ostiary_web.own_account import longest, open_own_call, phone, texts
from ostiary_web.zones import is_zone

__all__ = ["account"]

account = Blueprint("account", __name__)

_LONGEST = 64


@account.put("/api/auth/phone")
async def put_phone() -> Response:
    """`{phone, code}`; ends every other session of the user."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    fields = await texts(call.here, phone=phone, code=longest(_LONGEST))
    if isinstance(fields, Response):
        return fields
    return await call.done(PhoneChanged(caller=call.who, phone=fields["phone"], code=Secret(fields["code"])))


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
