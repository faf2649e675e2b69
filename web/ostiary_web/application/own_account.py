"""Sign in and keep a login, and change one's own password and telephone number."""

from typing import NamedTuple

from ostiary_core import events
from ostiary_core.events import PhoneChanged
from ostiary_core.http.endpoint import is_failure
from ostiary_core.http.sender import user_agent_of
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.instant import Arrival
from ostiary_core.model.reply import LoginIssued, PasswordOnFile, Refused, SecondFactorAsked
from ostiary_core.model.secret import Secret
from ostiary_core.model.user import LONGEST_PASSWORD, new_password_faults
from ostiary_core.model.why import Why
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.http.context import RequestContext, RequestRefused

LONGEST_USERNAME = 256


async def sign_in(context: RequestContext, username: str, password: str) -> LoginIssued | SecondFactorAsked:
    """Start a login session for a user name and password, or ask for the second factor.

    Every wrong pair costs and answers the same.

    Guesses are delayed before anything is read or hashed, whether or not the account exists
    (docs/decisions/0012-guesses-by-address.md). Raises `RequestRefused`.
    """
    service, name = context.service, canonical_username(username)
    await admit_guess(context, name)
    while True:
        on_file = await context.decide(events.PasswordHashRequested(of=username))
        assert isinstance(on_file, PasswordOnFile)
        # An unknown name has no hash, and verifying takes as long.
        doubts = service.sign_in_throttle.count_doubts(context.source, name, service.clock.monotonic())
        try:
            verified = await context.passwords.verify_and_renew(
                on_file.password_hash, password, doubts=doubts
            )
        except RequestRefused:  # unchecked, as too many wait
            service.sign_in_throttle.take_back(context.source, name, service.clock.monotonic())
            raise
        attempt = events.SignInAttempted(
            username=username,
            verified_against=on_file.password_hash,
            password_matches=verified.matches,
            new_password_hash=verified.new_hash,
            user_agent=user_agent_of(context.headers),
            source=context.source,
            entropy=context.draw_entropy(),
        )
        try:
            issued = await context.decide(attempt)
        except RequestRefused as refusal:
            if refusal.reply.why is not Why.PASSWORD_CHANGED_MEANWHILE:
                raise
            continue  # with the hash that replaced the one just verified
        if isinstance(issued, SecondFactorAsked):
            service.sign_in_throttle.take_back(context.source, name, service.clock.monotonic())
            return issued
        assert isinstance(issued, LoginIssued)
        service.sign_in_throttle.forgive(context.source, name, service.clock.monotonic())
        return issued


async def admit_guess(context: RequestContext, name: str) -> None:
    """Count a guess at a canonical name, of a password or code; raise `RequestRefused` if it must wait."""
    wait = await context.service.admit_guess(name, context.origin)
    if wait:
        raise RequestRefused(Refused(Why.SIGN_INS_TOO_FREQUENT, wait_seconds=wait))


async def renew_login(context: RequestContext, refresh_token: Secret, arrival: Arrival) -> LoginIssued:
    """Return the next pair of a login session; raise `RequestRefused`, or `TurnFailed` in doubt."""
    decision = await context.submit(
        events.LoginRefreshed(
            refresh_token=refresh_token,
            user_agent=user_agent_of(context.headers),
            entropy=context.draw_entropy(),
            arrival=arrival,
        )
    )
    if is_failure(decision):
        raise TurnFailed
    if isinstance(decision.reply, Refused):
        raise RequestRefused(decision.reply)
    assert isinstance(decision.reply, LoginIssued)
    return decision.reply


class PasswordCheck(NamedTuple):
    """A verified password, for an event; the core judges whether it still counts."""

    verified_against: str | None
    matches: bool


async def verify_current_password(context: RequestContext, password: str) -> PasswordCheck:
    """Verify the caller's current password; one too long to be any is wrong without hashing."""
    on_file = await context.decide(events.PasswordHashRequested(of=context.caller))
    assert isinstance(on_file, PasswordOnFile)
    is_short_enough = len(password) <= LONGEST_PASSWORD
    matches = is_short_enough and await context.passwords.verify(on_file.password_hash, password)
    return PasswordCheck(on_file.password_hash, matches)


async def change_password(context: RequestContext, old: str, new: str) -> None:
    """Change the caller's password; raise `RequestRefused`."""
    # Before the current one is verified: a bad choice costs no hash.
    faults = new_password_faults("newPassword", new, old)
    if faults:
        raise RequestRefused(Refused(Why.FIELDS_INVALID, faults))
    check = await verify_current_password(context, old)
    await context.decide(
        events.PasswordChanged(
            caller=context.caller,
            verified_against=check.verified_against,
            password_matches=check.matches,
            new_password_hash=await context.passwords.hash(new),
        )
    )


async def change_phone(context: RequestContext, phone: str, code: str, password: str) -> None:
    """Change the caller's number after checking the password; raise `RequestRefused`."""
    check = await verify_current_password(context, password)
    await context.decide(
        PhoneChanged(
            caller=context.caller,
            verified_against=check.verified_against,
            password_matches=check.matches,
            phone=phone,
            code=Secret(code),
        )
    )
