"""A crowd for lists: clients, users, sessions and consents in every state, of names that are hard to sort."""

import random
from dataclasses import replace

from ostiary_core import Digest, Entropy, Instant
from ostiary_core.conformance.scenario import origin_of
from ostiary_core.model.client import CLIENT
from ostiary_core.model.decision import Insert
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
from tests.core import asks
from tests.core.story import START
from tests.net.store.lives import live
from tests.net.store.stores import ContractStore

NAMES = (
    "alpha", "Alpha", "ALPHABET", "beta 50%", "b_ta", "Ω omega", "名字", "Zoë", "zoe", "ÄRGER", "ärger",
    "back\\slash", "it's", "\U0001f510 key", "omega", "",
)  # fmt: skip


def crowd() -> list[Record]:
    """Yield equal records each time, none under a key that the recorded life uses."""
    chance = random.Random(7)

    def instant() -> Instant:
        return Instant(START - chance.randrange(0, 40) * 1_000)

    clients = [
        replace(
            CLIENT.blank,
            client_id=f"{chance.choice(('crowd', 'Crowd', 'c'))}-{number}",
            name=chance.choice(NAMES),
            grant_types=tuple(chance.sample(list(GrantType), 2)),
            scopes=("user.read",),
            enabled=chance.random() < 0.8,
            built_in=chance.random() < 0.1,
            deleted_at=instant() if chance.random() < 0.2 else None,
            epoch=chance.choice((0, 0, 0, 1)),
            created_at=instant(),
            updated_at=instant(),
        )
        for number in range(25)
    ]
    users = [
        User(
            user_id=f"crowd user {number}",
            username=f"{chance.choice(NAMES) or 'nobody'}{number}",
            name=chance.choice(NAMES),
            phone=chance.choice((None, f"+1555{number:04}")),
            password_hash=None,
            must_change_password=False,
            enabled=chance.random() < 0.8,
            deleted_at=instant() if chance.random() < 0.2 else None,
            epoch=chance.choice((0, 0, 0, 1)),
            created_at=instant(),
            updated_at=instant(),
        )
        for number in range(30)
    ]
    consents = [
        Consent(
            user_id=user.user_id,
            client_id=chance.choice(clients).client_id,
            scopes=chance.choice(((), ("user.read",))),
            granted_at=instant(),
            epoch=chance.choice((0, 0, 1)),
        )
        for user in users
    ]
    sessions = [_session(chance, number, clients, users, consents) for number in range(200)]
    roles = [
        Role(role_id=f"role{number}", name=chance.choice(NAMES), built_in=number == 0) for number in range(8)
    ]
    return [*clients, *users, *consents, *sessions, *roles]


def _session(
    chance: random.Random, number: int, clients: list[Client], users: list[User], consents: list[Consent]
) -> Session:
    kind = chance.choice(list(SessionKind))
    client, user = chance.choice(clients), chance.choice(users)
    if chance.random() < 0.5:
        consent = chance.choice(consents)
        client = next(each for each in clients if each.client_id == consent.client_id)
        user = next(each for each in users if each.user_id == consent.user_id)
    of_nobody = kind is SessionKind.CLIENT_CREDENTIALS
    started_at = Instant(START - chance.randrange(0, 60) * 1_000)
    return Session(
        session_id=digest_of(f"session {number}")[:16].hex(),
        kind=kind,
        client_id=client.client_id,
        user_id=None if of_nobody else user.user_id if chance.random() < 0.95 else "nobody",
        scopes=("user.read",),
        epochs=Epochs(user=0, client=0, consent=chance.choice((0, 1))),
        started_at=started_at,
        expires_at=Instant(START + chance.randrange(-20, 60) * 1_000),
        access_digest=Digest(digest_of(f"access {number}")),
        access_scopes=("user.read",),
        access_expires_at=START,
        rotated_at=Instant(started_at + 500) if chance.random() < 0.5 else None,
        ended_at=START if chance.random() < 0.1 else None,
        user_agent=chance.choice((None, "agent")),
        source="203.0.113.9",
    )


def populate(store: ContractStore) -> None:
    """Fill a store with the crowd, and with the recorded life at several times."""
    store.write([Insert(record) for record in crowd()])
    live(store)
    for number in range(30):
        # Some of them in the past: the trail is in the order of the turns, not of the clocks.
        at = Instant(START + (number * 7 % 11 - 3) * 1_000)
        names = [f"later{number}-{place}" for place in range(number % 3)]
        events = [replace(asks.user(name), entropy=Entropy(digest_of(name))) for name in names]
        store.turn(events, at, [origin_of(number) for _ in events])
