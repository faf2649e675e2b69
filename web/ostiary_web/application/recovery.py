"""Send codes by text message, and recover a password with one.

Neither tells whether a number is known: the answer to the first is the same and leaves before anything
that depends on it is done; a wrong code for a known number and any code for an unknown one are one refusal,
after the same work.
"""

from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

from quart import request

from ostiary_core.events import PasswordResetByTextMessage, SignedIn, TextCodePresented, TextCodeRequested
from ostiary_core.model.instant import SECOND_MS, Instant, later
from ostiary_core.model.policy import SPECIFICATION, TextRecoveryFor
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.reply import TextCodeDrawn
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_core.texts import Language
from ostiary_core.users.telephone import seconds_to_text_code
from ostiary_net.runtime.text_messages import TextMessage
from ostiary_web.http.context import RequestContext
from ostiary_web.http.zones import ZONE_HEADER, zone_for


def has_text_recovery(context: RequestContext) -> bool:
    """Whether any password is recovered by text message here, which is no secret."""
    return context.services.settings.recovery_by_text_message is not TextRecoveryFor.NOBODY


async def send_recovery_code(context: RequestContext, phone: str) -> None:
    """Have a recovery code sent, if the core draws one; the caller does not wait for it.

    Raises `RequestRefused` if no password is recovered so.
    """
    if not has_text_recovery(context):
        context.refuse(Why.TEXT_RECOVERY_OFF)
    await _send_text_code(context, TextCodePurpose.RESET_PASSWORD, phone, None)


async def send_code_to_new_number(context: RequestContext, phone: str) -> None:
    """Have a code sent to the caller's new number; raise `RequestRefused` past the account's limit.

    That refusal tells nothing of the number. The core judges the limit again when it draws the code, so
    requests at once get no more codes than requests in a row.
    """
    wait_seconds = seconds_to_text_code(context.user, context.service.clock.now())
    if wait_seconds:
        context.refuse(Why.TEXT_CODES_TOO_FREQUENT, wait_seconds=wait_seconds)
    await _send_text_code(context, TextCodePurpose.CHANGE_PHONE, phone, context.caller)


async def _send_text_code(
    context: RequestContext, purpose: TextCodePurpose, phone: str, who: SignedIn | None
) -> None:
    event = TextCodeRequested(caller=who, purpose=purpose, phone=phone, entropy=context.draw_entropy())
    await context.services.text_messages.send(
        partial(_compose_message, context, event, request.headers.get(ZONE_HEADER)), context.trace_id
    )


async def recover_password(context: RequestContext, phone: str, code: str, new: str) -> None:
    """Set a new password for the holder of the telephone; raise `RequestRefused`.

    The code is checked first, so that a wrong one costs no hash.
    """
    entered = Secret(code)
    await context.decide(TextCodePresented(phone=phone, code=entered))
    new_password_hash = await context.services.passwords.hash(new)
    await context.decide(
        PasswordResetByTextMessage(phone=phone, code=entered, new_password_hash=new_password_hash)
    )


# --- the message


async def _compose_message(
    context: RequestContext, event: TextCodeRequested, zone_header: str | None
) -> TextMessage | None:
    """Return the message of a drawn code in the user's language, else the request's, or None."""
    drawn = (await context.submit(event)).reply
    if not isinstance(drawn, TextCodeDrawn) or drawn.code is None:
        return None
    now = context.service.clock.now()
    addressee = drawn.addressee
    language = context.languages.by_tag(addressee.locale if addressee else None) or context.language
    zone = zone_for(zone_header, addressee)
    until = later(now, SPECIFICATION.text_code_seconds)
    return TextMessage(
        phone=event.phone,
        purpose=event.purpose.value,
        code=drawn.code,
        text=_message(event.purpose, drawn.code, until, language, zone),
        at=now,
    )


def _message(
    purpose: TextCodePurpose, code: Secret, until: Instant, language: Language, zone: ZoneInfo
) -> str:
    """Return the text of the message, its time in the zone of "Common conventions"."""
    # Rounded down: the code is good for longer than it says, never for less.
    at = datetime.fromtimestamp(until // SECOND_MS, UTC).astimezone(zone)
    return language.text(f"message.{purpose}", code=code.reveal(), until=f"{at:%H:%M}", zone=zone.key)
