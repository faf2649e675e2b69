"""The first super administrator of an empty store, and the password drawn for it."""

from dataclasses import dataclass, field

from ostiary_core.events import FirstAdministratorCreated
from ostiary_core.model.reply import Refused, UserKnown
from ostiary_core.model.secret import Secret, draw_token
from ostiary_core.model.why import Why
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.system import EntropySource
from ostiary_net.turns.turns import Turns
from ostiary_web.server.settings import SettingError


@dataclass(frozen=True, slots=True)
class NewAdministrator:
    """An administrator that was just made; `drawn_password` is to be shown once, if it was drawn."""

    username: str
    drawn_password: Secret | None = field(repr=False)


async def ensure_administrator(
    turns: Turns,
    passwords: Passwords,
    entropy_source: EntropySource,
    *,
    username: str,
    password: str | None,
) -> NewAdministrator | None:
    """Make a super administrator where there is none; None where there is one.

    A drawn password must be changed at the first sign-in, a given one need not (API, Settings).
    """
    # Asked first without hashing: every start but the very first ends here.
    probe = FirstAdministratorCreated(
        username="", password_hash="", must_change_password=True, entropy=entropy_source.draw()
    )
    if (await turns.decide(probe)).reply == Refused(Why.ADMINISTRATOR_EXISTS):
        return None
    drawn = None if password else draw_token(entropy_source.draw(), "first password")
    secret = password or (drawn.reveal() if drawn else "")
    event = FirstAdministratorCreated(
        username=username,
        password_hash=await passwords.hash(secret),
        must_change_password=drawn is not None,
        entropy=entropy_source.draw(),
    )
    match (await turns.decide(event)).reply:
        case UserKnown(user=user):
            return NewAdministrator(user.username, drawn)
        case Refused(why=Why.ADMINISTRATOR_EXISTS):
            return None
        case Refused(why=Why.ALREADY_TAKEN):
            raise SettingError("ADMIN_USERNAME", f"{username!r} is taken", "a name that no user has")
        case _:
            raise SettingError(
                "ADMIN_USERNAME",
                f"{username!r} is no user name",
                "1 to 64 characters without white space, quotes, slashes, colons or angle brackets",
            )
