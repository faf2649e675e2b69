"""Ask for the second factor at sign-in, and set up, prove and remove the caller's own."""

from typing import Final

import structlog

from ostiary_core import events
from ostiary_core.events import Event
from ostiary_core.http.sender import user_agent_of
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.instant import Instant
from ostiary_core.model.one_time_password import otpauth_uri
from ostiary_core.model.reply import (
    IdentityConfirmed,
    LoginIssued,
    RecoveryCodesDrawn,
    Reply,
    SecondFactorKnown,
    SecondFactorOffered,
)
from ostiary_core.model.secret import Secret
from ostiary_core.model.sign_in_ticket import Ticket, read_ticket
from ostiary_core.model.why import Why
from ostiary_web.application.answer_data import AnswerData
from ostiary_web.application.own_account import PasswordCheck, admit_guess, verify_current_password
from ostiary_web.http.context import RequestContext, RequestRefused

_log = structlog.get_logger("ostiary")

LONGEST_CODE: Final = 64
LONGEST_TICKET: Final = 2_048


class SecondFactorSecret(AnswerData):
    """A second factor that a first code confirms; shown once."""

    secret: str
    """The secret in base32, to type into an authenticator."""
    uri: str
    """An `otpauth:` address with the secret, to show as a QR code."""
    recovery_codes: list[str]
    """Codes that each stand in for the authenticator once."""


class RecoveryCodes(AnswerData):
    """New recovery codes, shown once; those before are worthless."""

    recovery_codes: list[str]


async def finish_sign_in(context: RequestContext, ticket: str, code: str) -> LoginIssued:
    """Start the login session of a ticket by a code; codes are throttled as passwords are.

    The ticket is checked first: whom a forged one names does not wait for it. Raises `RequestRefused`.
    """
    service, read = context.service, _read(context, ticket)
    await context.decide(events.TicketPresented(ticket=read))
    name = canonical_username(read.username)
    await admit_guess(context, name)
    entered = events.SecondFactorEntered(
        ticket=read,
        code=Secret(code),
        user_agent=user_agent_of(context.headers),
        source=context.source,
        entropy=context.draw_entropy(),
    )
    issued = await _decide(context, entered)
    assert isinstance(issued, LoginIssued)
    service.sign_in_throttle.forgive(context.source, name, service.clock.monotonic())
    return issued


async def begin_at_sign_in(context: RequestContext, ticket: str) -> SecondFactorSecret:
    """Offer a second factor to the user of a ticket, who must have one; raise `RequestRefused`."""
    read = _read(context, ticket)
    begun = events.SecondFactorBegunAtSignIn(ticket=read, entropy=context.draw_entropy())
    return await _offer(context, begun, read.username)


async def begin(context: RequestContext, password: str) -> SecondFactorSecret:
    """Offer the caller a second factor after checking the password; raise `RequestRefused`."""
    check = await verify_current_password(context, password)
    begun = events.SecondFactorBegun(
        caller=context.caller,
        user_id=context.user.user_id,
        verified_against=check.verified_against,
        password_matches=check.matches,
        entropy=context.draw_entropy(),
    )
    return await _offer(context, begun, context.user.username)


async def confirm(context: RequestContext, code: str) -> None:
    """Take the caller's second factor into use; raise `RequestRefused`."""
    await _decide(
        context,
        events.SecondFactorConfirmed(caller=context.caller, user_id=context.user.user_id, code=Secret(code)),
    )


async def count_own_recovery_codes(context: RequestContext) -> int:
    """Return how many recovery codes the caller has left; raise `RequestRefused` without a second factor."""
    asked = events.SecondFactorRequested(caller=context.caller, user_id=context.user.user_id)
    known = await context.decide(asked)
    assert isinstance(known, SecondFactorKnown)
    return known.recovery_codes_left


async def renew_recovery_codes(context: RequestContext, password: str, code: str) -> RecoveryCodes:
    """Replace the caller's recovery codes; raise `RequestRefused`."""
    check = await verify_current_password(context, password)
    renewed = await _decide(
        context,
        events.RecoveryCodesRenewed(
            caller=context.caller,
            user_id=context.user.user_id,
            verified_against=check.verified_against,
            password_matches=check.matches,
            code=Secret(code),
            entropy=context.draw_entropy(),
        ),
    )
    assert isinstance(renewed, RecoveryCodesDrawn)
    return RecoveryCodes(_reveal(renewed.recovery_codes))


async def remove(context: RequestContext, password: str, code: str) -> None:
    """Remove the caller's second factor; raise `RequestRefused`."""
    check = await verify_current_password(context, password)
    await _decide(
        context,
        events.SecondFactorRemoved(
            caller=context.caller,
            user_id=context.user.user_id,
            verified_against=check.verified_against,
            password_matches=check.matches,
            code=Secret(code),
        ),
    )


async def prove_identity(context: RequestContext, password: str | None, code: str | None) -> Instant:
    """Prove who uses this login session, and return until when that counts; raise `RequestRefused`.

    Whose second factor is asked for needs no password, so none is verified.
    """
    check = PasswordCheck(None, False)
    if password is not None and not context.user.has_second_factor:
        check = await verify_current_password(context, password)
    proved = await _decide(
        context,
        events.IdentityProved(
            caller=context.caller,
            user_id=context.user.user_id,
            verified_against=check.verified_against,
            password_matches=check.matches,
            code=None if code is None else Secret(code),
        ),
    )
    assert isinstance(proved, IdentityConfirmed)
    return proved.until


async def _decide(context: RequestContext, event: Event) -> Reply:
    """Decide an event; log an error if a code cannot be checked, as instances have different keys."""
    try:
        return await context.decide(event)
    except RequestRefused as refusal:
        if refusal.reply.why is Why.SECOND_FACTOR_KEY_DIFFERENT:
            _log.error("second factor made with another SECOND_FACTOR_KEY", trace_id=context.trace_id)
        raise


async def _offer(context: RequestContext, begun: Event, username: str) -> SecondFactorSecret:
    offered = await _decide(context, begun)
    assert isinstance(offered, SecondFactorOffered)
    uri = otpauth_uri(offered.secret, context.services.settings.brand.name, username)
    return SecondFactorSecret(offered.secret.reveal(), uri.reveal(), _reveal(offered.recovery_codes))


def _read(context: RequestContext, ticket: str) -> Ticket:
    return read_ticket(ticket) or context.refuse(Why.SIGN_IN_EXPIRED)


def _reveal(codes: tuple[Secret, ...]) -> list[str]:
    return [code.reveal() for code in codes]
