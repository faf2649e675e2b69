"""Make the first super administrator of an empty store, and draw their password."""

import shlex
from dataclasses import dataclass, field

from ostiary_core.events import FirstAdministratorCreated
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.reply import Refused, UserKnown
from ostiary_core.model.secret import Secret, draw_token
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, USERS, Listing, ListingStore, Sort
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.system import EntropySource
from ostiary_net.turns.turns import Turns
from ostiary_web.server.setting_values import SettingError


def reset_password_command(username: str) -> str:
    """Return the command that draws another password for a user."""
    return f"ostiary user reset-password {shlex.quote(username)} --draw-password"


@dataclass(frozen=True, slots=True)
class UnusedAdministrator:
    """The first administrator, who has never signed in with the drawn password."""

    username: str


@dataclass(frozen=True, slots=True)
class NewAdministrator:
    """A new administrator; a drawn password is shown once."""

    username: str
    drawn_password: Secret | None = field(repr=False)


async def ensure_administrator(
    turns: Turns, passwords: Passwords, entropy_source: EntropySource, *, username: str, password: str | None
) -> NewAdministrator | UnusedAdministrator | None:
    """Make a super administrator if there is none; return None once one has signed in.

    A drawn password must be changed at the first sign-in, a given one need not (API, Settings).
    """
    # Asked first without hashing: every start but the very first ends here.
    probe = FirstAdministratorCreated(
        username="", password_hash="", must_change_password=True, entropy=entropy_source.draw()
    )
    if (await turns.decide(probe)).reply == Refused(Why.ADMINISTRATOR_EXISTS):
        return await turns.query(_find_unused)
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
                f"{username!r} is not a user name",
                "1 to 64 characters without white space, quotes, slashes, colons or angle brackets",
            )


def _find_unused(store: ListingStore, now: Instant) -> UnusedAdministrator | None:
    """Return the oldest account if it is the first administrator's and was never used."""
    users = store.items_after(Listing(resource=USERS, sort=(Sort("created_at"),), page_size=1), None, now)
    if not users or SUPER_ADMINISTRATOR not in users[0].role_ids or not users[0].must_change_password:
        return None
    sign_ins = {"user_id": users[0].user_id, "kind": FactKind.SESSION_STARTED.value}
    has_signed_in = store.items_after(Listing(resource=AUDIT, filters=sign_ins, page_size=1), None, now)
    return None if has_signed_in else UnusedAdministrator(users[0].username)
