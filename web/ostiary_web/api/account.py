"""Serve `/api/auth/*`: the caller's telephone, language, time zone and approved clients."""

from ostiary_core.events import ConsentWithdrawn, LocaleChosen, TimezoneChosen
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.user import LONGEST_PASSWORD
from ostiary_web.api.body_texts import longest, phone, read_texts
from ostiary_web.api.resources.routes import add_event_route
from ostiary_web.application.grants import Grant, list_grants_of_user
from ostiary_web.application.own_account import change_phone
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import SIGNED_IN, GatedRoutes
from ostiary_web.http.zones import is_zone

account = GatedRoutes("account", __name__)

_LONGEST = 64


@account.put("/api/auth/phone", gate=SIGNED_IN)
async def put_phone(context: RequestContext) -> None:
    """Read `{phone, code, password}` and change the number; every other session of the user ends."""
    fields = await read_texts(
        context, phone=phone, code=longest(_LONGEST), password=longest(LONGEST_PASSWORD)
    )
    await change_phone(context, fields["phone"], fields["code"], fields["password"])


@account.put("/api/auth/locale", gate=SIGNED_IN)
async def put_locale(context: RequestContext) -> None:
    """Set the caller's language."""
    fields = await read_texts(context, locale=longest(_LONGEST))
    await context.decide(LocaleChosen(caller=context.caller, locale=fields["locale"]))


@account.put("/api/auth/timezone", gate=SIGNED_IN)
async def put_timezone(context: RequestContext) -> None:
    """Set the caller's time zone, by its IANA name."""
    fields = await read_texts(context, timezone=longest(_LONGEST))
    zone = fields["timezone"]
    unknown = () if is_zone(zone) else (FieldFault("timezone", FieldRule.TIMEZONE),)
    await context.decide(TimezoneChosen(caller=context.caller, timezone=zone, faults=unknown))


@account.get("/api/auth/grants", gate=SIGNED_IN)
async def get_grants(context: RequestContext) -> list[Grant]:
    """List the clients that the caller has approved, each with its active sessions."""
    return await list_grants_of_user(context, context.user.user_id)


add_event_route(account, "DELETE", "/api/auth/grants/<client_id>", ConsentWithdrawn, SIGNED_IN)
"""Withdraws a consent: the client must ask again, and its sessions of this user end (READINGS 26)."""
