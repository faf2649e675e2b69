"""What the routes of one's own account share: who is calling, the password they enter once more, and the
texts that a body must hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from quart import Response, current_app

from ostiary_core.events import AccountRequested, Event, PasswordHashRequested, SignedIn
from ostiary_core.model.decision import AccountKnown, FieldFault, FieldRule, PasswordOnFile, Refused
from ostiary_core.model.identifiers import is_phone
from ostiary_core.model.records import User
from ostiary_core.model.why import Why
from ostiary_core.users.user_fields import LONGEST_PASSWORD, new_password_faults
from ostiary_net.runtime.passwords import Passwords
from ostiary_web.browser import caller
from ostiary_web.exchange import Exchange, exchange, json_object

__all__ = [
    "Check",
    "OwnCall",
    "PasswordCheck",
    "longest",
    "new_password",
    "open_own_call",
    "phone",
    "texts",
    "verify_current_password",
]


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A request of somebody about their own account."""

    here: Exchange
    who: SignedIn
    known: AccountKnown
    user: User

    async def done(self, event: Event) -> Response:
        """Have `event` decided: null, or why not."""
        reply = (await self.here.decide(event)).reply
        return self.here.refused(reply) if isinstance(reply, Refused) else self.here.success(None)


async def open_own_call(*, before_password_change: bool = False) -> OwnCall | Response:
    """The caller's account. Whoever has to change the password first is sent away, unless the route is one
    of the few for that (READINGS 23)."""
    here = exchange()
    who = caller(here)
    if isinstance(who, Why):
        return here.refuse(who)
    match (await here.decide(AccountRequested(caller=who))).reply:
        case AccountKnown(user=User() as user) as known:
            if user.must_change_password and not before_password_change:
                return here.refuse(Why.PASSWORD_MUST_CHANGE)
            return OwnCall(here, who, known, user)
        case Refused() as reply:
            return here.refused(reply)
        case _:
            return here.refuse(Why.INTERNAL_ERROR)


# --- the password, entered once more


class PasswordCheck(NamedTuple):
    """A password that was verified, for an event that says so; the rules judge whether it still counts."""

    verified_against: str | None
    matches: bool


async def verify_current_password(here: Exchange, who: SignedIn, password: str) -> PasswordCheck | Refused:
    """What the caller entered as the current password; one that is too long to be any is wrong unhashed."""
    on_file = (await here.decide(PasswordHashRequested(of=who))).reply
    if not isinstance(on_file, PasswordOnFile):
        return on_file if isinstance(on_file, Refused) else Refused(Why.INTERNAL_ERROR)
    passwords: Passwords = current_app.extensions["ostiary.passwords"]
    matches = len(password) <= LONGEST_PASSWORD and await passwords.verify(on_file.password_hash, password)
    return PasswordCheck(on_file.password_hash, matches)


# --- texts

Check = Callable[[str], FieldRule | None]
"""The rule that a text breaks, if any."""


async def texts(here: Exchange, **checks: Check) -> dict[str, str] | Response:
    """The texts of a JSON body, all of them required; else an answer that names every bad one."""
    content = await json_object()
    if isinstance(content, Why):
        return here.refuse(content)
    found: dict[str, str] = {}
    faults = []
    for name, check in checks.items():
        value = content.get(name)
        if value is None or value == "":
            rule: FieldRule | None = FieldRule.REQUIRED
        elif not isinstance(value, str) or "\x00" in value:
            rule = FieldRule.STRING
        else:
            rule = check(value)
            found[name] = value
        if rule is not None:
            faults.append(FieldFault(name, rule))
    return here.refuse(Why.FIELDS_INVALID, faults) if faults else found


def longest(characters: int) -> Check:
    """No more than so many characters."""
    return lambda text: FieldRule.TOO_LONG if len(text) > characters else None


def phone(text: str) -> FieldRule | None:
    """A telephone number."""
    return None if is_phone(text) else FieldRule.PHONE


def new_password(text: str) -> FieldRule | None:
    """A password that may be chosen, whatever it replaces."""
    return FieldRule.PASSWORD if new_password_faults("", text) else None
