"""What a world begins with: its clients, its people and its policy, all drawn from its seed."""

from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Final

BEGINNING_OF_TIME_MS: Final = 1_700_000_000_000
"""The instant at which every world begins."""

SCOPES: Final = ("user.read", "user.mail", "user.files")
"""One scope exists today and the table may grow; with one alone, nothing could be narrower or wider."""

ADMINISTRATOR: Final = "root"
PEOPLE: Final = ("ann", "ben", "eve")
SUPER_ADMINISTRATOR: Final = "super_admin"
ROLES: Final = ("clerk", "warden", "deputy")

CODE, REFRESH, MACHINE = "authorization_code", "refresh_token", "client_credentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What an administrator decides of a client."""

    redirect_uris: tuple[str, ...] = ()
    grants: tuple[str, ...] = (CODE, REFRESH, MACHINE)
    scopes: tuple[str, ...] = SCOPES
    automatic: tuple[str, ...] = ()
    access_seconds: int = 1_800
    refresh_seconds: int = 604_800
    expires_on: str = ""
    """The last day of the present secret, in UTC; empty for no end."""


CLIENT_FIELDS: Final = {
    "redirect_uris": "redirectUris",
    "grants": "grantTypes",
    "scopes": "scopes",
    "automatic": "autoApproveScopes",
    "access_seconds": "accessTokenTtl",
    "refresh_seconds": "refreshTokenTtl",
    "expires_on": "secretExpiresOn",
}
"""What the interface calls each setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator decides, in the words of the server's settings."""

    code_replay_ends_session: bool = False
    second_factor_of: str = "no"
    """Who must have a second factor: `no`, `administrators` or `everybody`."""
    tokens_at_most: int = 100
    """How many personal access tokens of somebody live at a time; the server has no setting for it."""
    recovery_by_text_of: str = "everybody"
    """Who may set a new password by text message: `no`, `second-factor` or `everybody`."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """The clients and people that are there before the first step."""

    clients: dict[str, ClientSettings]
    people: tuple[str, ...]
    settings: Settings


_DAY_MS: Final = 86_400_000
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()


def day_at(instant: int) -> str:
    """The day of the calendar in UTC, as 2023-11-14."""
    return date.fromordinal(_FIRST_DAY + instant // _DAY_MS).isoformat()


def end_of_day(day: str) -> int:
    """The instant at which a day of the calendar ends in UTC."""
    return (date.fromisoformat(day).toordinal() - _FIRST_DAY + 1) * _DAY_MS


def uris(client: str) -> tuple[str, ...]:
    """The addresses of a client: one plain, one that already has a query."""
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
"""What administrators do to clients; `own-uris` gives a client its first addresses back, a day its present
secret a last day."""
LAST_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
"""How many days from the present one."""


PERMISSIONS: Final[dict[str, tuple[str, ...]]] = {
    "nothing": (),
    "helpdesk": ("iam.user.update",),
    "people": ("iam.user.create", "iam.user.update", "iam.user.delete"),
    "clients": ("oauth.client.list", "oauth.client.create", "oauth.client.update", "oauth.client.delete"),
    "roles": ("iam.role.create", "iam.role.update", "iam.role.delete", "iam.user.update"),
    "sessions": ("monitor.online.kill",),
}
"""What roles may allow here."""
TOKEN_POWERS: Final = (
    (),
    ("iam.user.credentials", "iam.role.assign"),
    ("iam.user.credentials",),
    ("iam.role.assign",),
)
"""Which powers over others are chosen for personal access tokens beside what they allow."""
TOKEN_SECONDS: Final = (86_400, 30 * 86_400)
"""How long personal access tokens last."""

USER_CHANGES: Final = (
    *("nothing", "renamed", "taken-name", "new-phone", "taken-phone", "no-phone", "must-change"),
    "awaited-phone",
    *("role", "role", "another-role", "another-role", "no-role", "no-such-role", "promoted"),
)
"""What administrators do to accounts; a role is the one that the step names, in place of
all others or as another one."""

KEEP_SECONDS: Final[dict[str, int]] = {"keep-shortly": 60, "keep": 3_600, "keep-long": 2_592_000}
"""How long a reset lets the old secret work on."""

GIVEN_SECRETS: Final = ("same",)
"""The secret that a client is given is the one it has; else it is a new one."""

IMPORTS: Final = ("as-it-is", "another-password")
"""What a sheet brings of an account that may be there, which it may change; else the account is to be new."""

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
"""What people choose for themselves: the field, its value, and whether it may be. That there is no such zone
as `nowhere` the runtime says."""

ENTERED: Final[dict[str, int]] = {
    "now": 0,
    "before": -1,
    "after": 1,
    "two-before": -2,
    "two-after": 2,
    **dict.fromkeys(("again", "recovery", "recovery-again"), 0),
}
"""What is entered of a second factor: the code of so many steps from now, the one that was taken last, or a
recovery code, which may have been used."""

WRONG_AT_ONCE: Final = 3
"""How many wrong secrets a runtime reports at once."""

NUMBERS: Final[dict[str, str]] = {"new": "+30000001", "newer": "+30000002", "malformed": "12"}
"""The telephone numbers that codes are sent to, beside `theirs`, which somebody has, and `fresh` ones."""

SEEN: Final = ("as-sent", "otherwise")
"""What a caller says they saw of each field that they send: what they send, so that they ask for nothing; or
what nobody ever chose, so that somebody else changed it meanwhile."""

BATCHES: Final = (
    *("delete-people", "delete-clients", "delete-roles"),
    *(
        "delete-and-register",
        "register-twice",
        "import-twice",
        "role-for-somebody",
        "change-roles",
        "another-administrator",
    ),
)
"""What is done whole or not at all; `meaning.parts_of` says what each consists of."""


def draw_initial_state(random: Random) -> InitialState:
    """A world of two to four clients that differ in everything a client can differ in."""
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
    # One draw for all settings: whoever draws next draws what they drew when there was one setting.
    place = int(chance * 1_000_000)
    settings = Settings(
        code_replay_ends_session=chance < 0.25,
        tokens_at_most=(100, 1, 2)[place % 3],
        second_factor_of=("administrators", "everybody", *("no",) * 6)[place % 8],
        recovery_by_text_of=("second-factor", "no", *("everybody",) * 5)[place % 7],
    )
    return InitialState(clients, people, settings)


def fixed_initial_state(*, code_replay_ends_session: bool = False) -> InitialState:
    """Two clients alike and one user: a good place for a story told by hand."""
    clients = {
        client: ClientSettings(
            redirect_uris=uris(client), scopes=SCOPES[:2], access_seconds=300, refresh_seconds=3_600
        )
        for client in ("app", "web")
    }
    return InitialState(clients, PEOPLE[:1], Settings(code_replay_ends_session=code_replay_ends_session))
