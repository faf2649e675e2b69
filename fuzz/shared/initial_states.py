"""Initial state of a world: its clients, its users and its policy, all drawn from its seed."""

from dataclasses import dataclass, replace
from datetime import date
from random import Random
from typing import Final

BEGINNING_OF_TIME_MS: Final = 1_700_000_000_000
"""Instant at which every world begins, in milliseconds."""

SCOPES: Final = ("user.read", "user.mail", "user.files")
"""Scopes of the worlds: the server has one today, but narrowing and widening need several."""

ADMINISTRATOR: Final = "root"
PEOPLE: Final = ("ann", "ben", "eve")
SUPER_ADMINISTRATOR: Final = "super_admin"
ROLES: Final = ("clerk", "warden", "deputy")

CODE, REFRESH, MACHINE = "authorization_code", "refresh_token", "client_credentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of a client that an administrator chooses."""

    redirect_uris: tuple[str, ...] = ()
    grants: tuple[str, ...] = (CODE, REFRESH, MACHINE)
    scopes: tuple[str, ...] = SCOPES
    automatic: tuple[str, ...] = ()
    access_seconds: int = 1_800
    refresh_seconds: int = 604_800
    expires_on: str = ""
    """Last day of the current secret, in UTC; empty for no end."""


CLIENT_FIELDS: Final = {
    "redirect_uris": "redirectUris",
    "grants": "grantTypes",
    "scopes": "scopes",
    "automatic": "autoApproveScopes",
    "access_seconds": "accessTokenTtl",
    "refresh_seconds": "refreshTokenTtl",
    "expires_on": "secretExpiresOn",
}
"""Name of each setting in the interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that an operator chooses, by the names of the server's settings."""

    code_replay_ends_session: bool = False
    second_factor_of: str = "no"
    """Users who must have a second factor: `no`, `administrators` or `everybody`."""
    tokens_at_most: int = 100
    """Most live personal access tokens of one user; the server has no setting for it."""
    recovery_by_text_of: str = "everybody"
    """Users who may set a new password by text message: `no`, `second-factor` or `everybody`."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """The clients and users that exist before the first step."""

    clients: dict[str, ClientSettings]
    people: tuple[str, ...]
    settings: Settings


_DAY_MS: Final = 86_400_000
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()


def format_day(instant: int) -> str:
    """Return the calendar day in UTC, as 2023-11-14."""
    return date.fromordinal(_FIRST_DAY + instant // _DAY_MS).isoformat()


def end_of_day(day: str) -> int:
    """Return the instant at which a calendar day ends in UTC."""
    return (date.fromisoformat(day).toordinal() - _FIRST_DAY + 1) * _DAY_MS


def uris(client: str) -> tuple[str, ...]:
    """Return the addresses of a client: one plain, one that already has a query."""
    return (f"https://{client}.example/callback", f"https://{client}.example/other?tenant=1")


CHANGES: Final[dict[str, dict[str, tuple[str, ...] | int | str]]] = {
    "one-uri": {"redirect_uris": ("https://moved.example/callback",)},
    "read-only": {"scopes": ("user.read",), "automatic": ()},
    "no-scope": {"scopes": (), "automatic": ()},
    "all-scopes": {"scopes": SCOPES},
    "automatic": {"scopes": SCOPES, "automatic": SCOPES},
    "no-refresh": {"grants": (CODE, MACHINE)},
    "no-code": {"grants": (REFRESH, MACHINE)},
    "no-machine": {"grants": (CODE, REFRESH)},
    "all-grants": {"grants": (CODE, REFRESH, MACHINE)},
    "short": {"access_seconds": 300, "refresh_seconds": 3_600},
    "long": {"access_seconds": 86_400, "refresh_seconds": 2_592_000},
    "local-uris": {
        "redirect_uris": ("http://localhost:8080/callback", "http://127.0.0.1/", "https://[::1]/")
    },
    "many-uris": {"redirect_uris": tuple(f"https://{each}.example/{'long/' * 40}" for each in range(50))},
    "most-uris": {"redirect_uris": tuple(f"https://{each}.example/{'long/' * 40}" for each in range(2, 52))},
    "no-last-day": {"expires_on": ""},
    **{name: {} for name in ("yesterday", "today", "tomorrow", "own-uris")},
}
"""Changes of administrators to clients; `own-uris` restores the first addresses, a day limits the secret."""
LAST_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
"""Last days, as a number of days from the present one."""


PERMISSIONS: Final[dict[str, tuple[str, ...]]] = {
    "nothing": (),
    "helpdesk": ("iam.user.update",),
    "people": ("iam.user.create", "iam.user.update", "iam.user.delete"),
    "clients": ("oauth.client.list", "oauth.client.create", "oauth.client.update", "oauth.client.delete"),
    "roles": ("iam.role.create", "iam.role.update", "iam.role.delete", "iam.user.update"),
    "sessions": ("monitor.online.kill", "monitor.online.list"),
}
"""Permissions of roles in these worlds."""
KNOWN_WARNINGS: Final = ("backup", "secrets app")
WARNINGS: Final = (*KNOWN_WARNINGS, "weather")
"""Identifiers of warnings of the overview, the last of no known kind."""
_POWERS: Final = ("iam.user.credentials", "iam.role.assign")
TOKEN_POWERS: Final = ((), _POWERS, _POWERS[:1], _POWERS[1:])
"""Powers over other users that personal access tokens are made with."""
TOKEN_SECONDS: Final = (86_400, 30 * 86_400)
"""Lifetimes of personal access tokens, in seconds."""

USER_CHANGES: Final = (
    *("nothing", "renamed", "taken-name", "new-phone", "taken-phone", "no-phone", "must-change"),
    "awaited-phone",
    *("role", "role", "another-role", "another-role", "no-role", "no-such-role", "promoted"),
)
"""Changes of administrators to accounts; a role is the step's, in place of all others or added to them."""

KEEP_SECONDS: Final[dict[str, int]] = {"keep-shortly": 60, "keep": 3_600, "keep-long": 2_592_000}
"""Seconds for which a reset lets the old secret keep working."""

GIVEN_SECRETS: Final = ("same",)
"""Secrets that an administrator sets: `same` is the current one; otherwise a new one."""

IMPORTS: Final = ("as-it-is", "another-password")
"""Imports that may change an existing account; any other import expects a new account."""

CHOICES: Final[dict[str, tuple[str, str, bool]]] = {
    "chinese": ("locale", "zh-CN", True),
    "klingon": ("locale", "tlh", False),
    "shanghai": ("timezone", "Asia/Shanghai", True),
    "upwards": ("timezone", "../etc/passwd", False),
    "nowhere": ("timezone", "Nowhere/Land", False),
    "picture": ("avatarUrl", "/files/picture", True),
    "long-picture": ("avatarUrl", "/files/" + "p" * 5_000, True),
    "no-picture": ("avatarUrl", "", True),
}
"""Choices of users for their own account: field, value, and whether it is allowed.

The runtime, not the core, finds that the time zone `nowhere` does not exist.
"""

_STEPS_FROM_NOW: Final = {"now": 0, "before": -1, "after": 1, "two-before": -2, "two-after": 2}
ENTERED: Final = {**_STEPS_FROM_NOW, **dict.fromkeys(("again", "recovery", "recovery-again"), 0)}
"""Codes that users enter for a second factor.

A number of steps from now, the last accepted code, or a recovery code, which may be used already.
"""

WRONG_AT_ONCE: Final = 3
"""Number of wrong secrets that a runtime reports at once."""

NUMBERS: Final[dict[str, str]] = {"new": "+30000001", "newer": "+30000002", "malformed": "12"}
"""Telephone numbers that codes are sent to; besides these, `theirs` belongs to a user and `fresh` is new."""

SEEN: Final = ("as-sent", "otherwise")
"""Values that a caller claims to have seen in the fields it sends.

`as-sent`: the sent values, so that nothing changes; `otherwise`: values that were never set, so that another
caller seems to have changed them.
"""

BATCHES: Final = (
    *("delete-people", "delete-clients", "delete-roles", "invite-people"),
    *("delete-and-register", "register-twice", "import-twice", "role-for-somebody"),
    *("change-roles", "another-administrator", "give-role", "take-role"),
)
"""Batches, each done whole or not at all; `meaning.parts_of` lists the parts of each."""


def draw_initial_state(random: Random) -> InitialState:
    """Return a world with two to four clients that differ in every setting."""
    clients = {}
    for client in ("app", "web", "job", "lab")[: random.choice((2, 2, 3, 4))]:
        scopes = random.choice((SCOPES, SCOPES[:2], SCOPES[:1]))
        clients[client] = ClientSettings(
            redirect_uris=uris(client),
            grants=random.choice(
                (*[(CODE, REFRESH, MACHINE)] * 9, (CODE, REFRESH), (CODE, MACHINE), (CODE,))
            ),
            scopes=scopes,
            automatic=random.choice(((), (), scopes[:1], scopes)),
            access_seconds=random.choice((300, 600, 1_800, 3_600, 86_400)),
            refresh_seconds=random.choice((3_600, 3_660, 86_400, 604_800)),
        )
    people = PEOPLE[: random.choice((1, 2, 3))]
    chance = random.random()
    # One draw serves all settings, so that later draws stay as they were with a single setting.
    place = int(chance * 1_000_000)
    settings = Settings(
        code_replay_ends_session=chance < 0.25,
        tokens_at_most=(100, 1, 2)[place % 3],
        second_factor_of=("administrators", "everybody", *("no",) * 6)[place % 8],
        recovery_by_text_of=("second-factor", "no", *("everybody",) * 5)[place % 7],
    )
    return InitialState(clients, people, settings)


def fixed_initial_state(settings: Settings) -> InitialState:
    """Return two equal clients and one user: a state for traces written by hand."""
    both = ClientSettings(scopes=SCOPES[:2], access_seconds=300, refresh_seconds=3_600)
    clients = {client: replace(both, redirect_uris=uris(client)) for client in ("app", "web")}
    return InitialState(clients, PEOPLE[:1], settings)
