"""Serve what sets a password without the current one: recovery by text message, and invitations."""

from typing import Final

from ostiary_core.model.fields import FieldRule
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.api.body_texts import longest, new_password, phone, read_texts
from ostiary_web.application.invitations import LONGEST_INVITATION, accept_invitation
from ostiary_web.application.recovery import recover_password, send_code_to_new_number, send_recovery_code
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import CLOSED_TO_OTHER_SITES, SIGNED_IN, GatedRoutes

recovery = GatedRoutes("recovery", __name__)

_PURPOSES: Final = frozenset(purpose.value for purpose in TextCodePurpose)


@recovery.post("/api/auth/sms-code", gate=CLOSED_TO_OTHER_SITES, limit=Operation.TEXT_CODE)
async def post_sms_code(context: RequestContext) -> None:
    """Read `{phone, purpose}` and answer null, whether or not the number is known.

    Only a signed-in user may ask for a code to a new number, and so often a day.
    """
    fields = await read_texts(context, phone=phone, purpose=_purpose)
    if TextCodePurpose(fields["purpose"]) is TextCodePurpose.RESET_PASSWORD:
        await send_recovery_code(context, fields["phone"])
    else:
        await SIGNED_IN.authorize(context)
        await send_code_to_new_number(context, fields["phone"])


@recovery.post("/api/auth/reset-password", gate=CLOSED_TO_OTHER_SITES, limit=Operation.RESET_PASSWORD)
async def post_reset_password(context: RequestContext) -> None:
    """Read `{phone, code, newPassword}` and set it; everything of the user ends."""
    fields = await read_texts(context, phone=phone, code=longest(64), newPassword=new_password)
    await recover_password(context, fields["phone"], fields["code"], fields["newPassword"])


@recovery.post("/api/auth/invitation", gate=CLOSED_TO_OTHER_SITES, limit=Operation.INVITATION)
async def post_invitation(context: RequestContext) -> None:
    """Read `{token, newPassword}` and set the password of the user who was invited."""
    fields = await read_texts(context, token=longest(LONGEST_INVITATION), newPassword=new_password)
    await accept_invitation(context, fields["token"], fields["newPassword"])


def _purpose(text: str) -> FieldRule | None:
    return None if text in _PURPOSES else FieldRule.TEXT_CODE_PURPOSE
