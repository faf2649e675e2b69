"""Records for lists: in every state, with names that are hard to sort, written without events."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from ostiary_core.model.client import CLIENT
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.records import (
    Client,
    Consent,
    Epochs,
    GrantType,
    Record,
    Role,
    Session,
    SessionKind,
    User,
)
from ostiary_core.model.secret import digest_of
from ostiary_core.model.user import USER

T = TypeVar("T")

_NAMES: Final = (
    "alpha", "Alpha", "ALPHABET", "beta 50%", "b_ta", "\u03a9 omega", "名字", "Zoë", "zoe", "ÄRGER", "ärger",
    "back\\slash", "it's", "\U0001f510 key", "omega", "",
)  # fmt: skip


def make_crowd(now: Instant) -> Sequence[Record]:
    """Make the records, the same each time; sessions run, have ended or are past their maximum at `now`."""
    clients = [_client(number, now) for number in range(13)]
    users = [_user(number, now) for number in range(17)]
    consents = [
        Consent(
            user_id=user.user_id,
            client_id=client.client_id,
            scopes=("user.read",) if (place + number) % 4 else (),
            granted_at=later(now, -(place % 5)),
            epoch=(place + number) % 2,
        )
        for place, user in enumerate(users)
        for number, client in enumerate(clients[place % 7 : place % 7 + 3])
    ]
    sessions = [_session(number, consents[number * 7 % len(consents)], now) for number in range(60)]
    roles = [
        Role(role_id=f"crowd{number}", name=_pick(_NAMES, number * 3), built_in=number % 3 == 0)
        for number in range(11)
    ]
    return (*clients, *users, *consents, *sessions, *roles)


def _pick(values: Sequence[T], number: int) -> T:
    return values[number % len(values)]


def _client(number: int, now: Instant) -> Client:
    return replace(
        CLIENT.blank,
        client_id=f"{_pick(('crowd', 'Crowd', 'c_%'), number)}-{number * 5 % 13}",
        name=_pick(_NAMES, number * 3),
        grant_types=(GrantType.REFRESH_TOKEN, GrantType.AUTHORIZATION_CODE),
        scopes=("user.read",),
        enabled=number % 3 > 0,
        built_in=number % 4 == 0,
        deleted_at=now if number % 6 == 5 else None,
        epoch=number % 2,
        created_at=later(now, -(number * 5 % 7)),
        updated_at=later(now, -(number * 3 % 4)),
    )


def _user(number: int, now: Instant) -> User:
    return replace(
        USER.blank,
        user_id=f"crowd {number * 5 % 17}",
        username=f"{_pick(_NAMES, number) or 'nobody'}{number}",
        name=_pick(_NAMES, number * 5),
        phone=f"+1555{number:04}" if number % 3 else None,
        enabled=number % 4 > 0,
        deleted_at=now if number % 7 == 6 else None,
        epoch=number % 2,
        created_at=later(now, -(number * 5 % 7)),
        updated_at=later(now, -(number * 3 % 4)),
    )


def _session(number: int, consent: Consent, now: Instant) -> Session:
    kind = _pick(tuple(SessionKind), number)
    started_at = later(now, -(number * 7 % 40))
    return Session(
        session_id=digest_of(f"session {number}")[:16].hex(),
        kind=kind,
        client_id=consent.client_id,
        user_id=None if kind is SessionKind.CLIENT_CREDENTIALS else consent.user_id,
        scopes=("user.read",),
        epochs=Epochs(user=number % 2, client=number // 2 % 2, consent=consent.epoch if number % 5 else 0),
        started_at=started_at,
        expires_at=later(now, number * 11 % 50 - 9),
        access_digest=digest_of(f"access token of session {number}"),
        access_scopes=("user.read",),
        access_expires_at=now,
        rotated_at=later(started_at, 1) if number % 2 else None,
        ended_at=now if number % 9 == 8 else None,
        user_agent=_pick((None, "agent"), number),
        source="203.0.113.9",
    )
