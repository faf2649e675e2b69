"""How long a page takes from a short list and from a very long one.

    python -m tests.bench.lists --rows 1000 1000000

Fills a store with as many clients, users, sessions and audit entries, and prints the median milliseconds of
each question: asked for the first time (which surveys a long list) and asked again.
"""

import argparse
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ostiary_core import Instant
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Insert
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import MINUTE_MS
from ostiary_core.model.records import Record
from ostiary_core.model.secret import digest_of
from ostiary_core.storage.listing import AUDIT, CLIENTS, ONLINE_SESSIONS, USERS, Listing, Range, Sort
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.access import index_pending, keep
from tests.bench.population import client_called, session_started, user_of

NOW = Instant(1_800_000_000_000)
DAY_MS = 24 * 60 * MINUTE_MS
CLIENTS_IN_USE = 50


def identifier(kind: str, number: int) -> str:
    return digest_of(f"{kind} {number}")[:16].hex()


def clients(count: int) -> Iterator[Record]:
    for number in range(count):
        made = client_called(f"client-{number}", Instant(NOW - count + number))
        yield replace(made, name=f"The client {number * 7919 % count}", enabled=number % 10 != 0)


def users(count: int) -> Iterator[Record]:
    for number in range(count):
        made = user_of(number, identifier("user", number), Instant(NOW - count + number))
        hashed = "$argon2id$" + "x" * 86
        yield replace(
            made,
            username=f"user{number * 7919 % count}",
            password_hash=hashed,
            enabled=number % 10 != 0,
        )


def sessions(count: int) -> Iterator[Record]:
    chance = random.Random(1)
    for number in range(count):
        started_at = Instant(NOW - 6 * DAY_MS + 6 * DAY_MS * number // count)
        yield replace(
            session_started(started_at),
            session_id=identifier("session", number),
            client_id=f"client-{number % CLIENTS_IN_USE}",
            user_id=identifier("user", number % count),
            expires_at=Instant(started_at + 7 * DAY_MS),
            access_digest=digest_of(f"access {number}"),
            rotated_at=Instant(NOW - chance.randrange(DAY_MS)),
        )


def entries(count: int) -> Iterator[AuditEntry]:
    kinds = (FactKind.PAIR_ROTATED,) * 8 + (FactKind.SESSION_STARTED, FactKind.PAIR_REPEATED)
    for number in range(count):
        yield AuditEntry(
            at=Instant(NOW - count + number),
            kind=kinds[number % 10] if number % 10_000 else FactKind.USER_DISABLED,
            actor_id=None,
            user_id=identifier("user", number % 5_000),
            client_id=f"client-{number % CLIENTS_IN_USE}",
            session_id=identifier("session", number // 3),
            role_id=None,
            why=None,
            scopes=("user.read",),
            trace_id=identifier("trace", number),
            source="203.0.113.9",
            user_agent="app-backend/1.0",
            earlier_at=None,
            earlier_user_agent=None,
        )


def in_batches(items: Iterable[Any], size: int = 20_000) -> Iterator[list[Any]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def fill(store: SQLiteStore, rows: int) -> None:
    for made in (clients(max(rows, CLIENTS_IN_USE)), users(rows), sessions(rows)):
        for batch in in_batches(made):
            store.write([Insert(record) for record in batch])
    for batch in in_batches(entries(rows)):
        with store._writer.transaction() as connection:
            keep(connection, batch)
            index_pending(connection)
            connection.execute("COMMIT")


def questions(rows: int) -> dict[str, Listing[Any]]:
    middle, last = max(1, rows // 40), max(1, rows // 20)
    by_name = (Sort("name"),)
    return {
        "clients, first page": Listing(resource=CLIENTS),
        "clients by name, page in the middle": Listing(resource=CLIENTS, sort=by_name, page=middle),
        "clients by name, last page": Listing(resource=CLIENTS, sort=by_name, page=last),
        "clients, disabled ones": Listing(resource=CLIENTS, filters={"enabled": False}),
        "clients, last hour": Listing(
            resource=CLIENTS, ranges=(Range(field="created_at", start=Instant(NOW - 3_600)),)
        ),
        "clients, search for one": Listing(resource=CLIENTS, search="client-77"),
        "users by user name, page in the middle": Listing(
            resource=USERS, sort=(Sort("username"),), page=middle
        ),
        "online, first page": Listing(resource=ONLINE_SESSIONS),
        "online by last seen": Listing(resource=ONLINE_SESSIONS, sort=(Sort("last_seen_at", True),)),
        "online by expiry": Listing(resource=ONLINE_SESSIONS, sort=(Sort("expires_at"),)),
        "online, page in the middle": Listing(resource=ONLINE_SESSIONS, page=middle),
        "online, of one client": Listing(resource=ONLINE_SESSIONS, filters={"client_id": "client-3"}),
        "online, of one user": Listing(resource=ONLINE_SESSIONS, filters={"user_id": identifier("user", 3)}),
        "audit, first page": Listing(resource=AUDIT),
        "audit, page in the middle": Listing(resource=AUDIT, page=middle),
        "audit of one client": Listing(resource=AUDIT, filters={"client_id": "client-3"}),
        "audit of one user": Listing(resource=AUDIT, filters={"user_id": identifier("user", 3)}),
        "audit of a rare kind": Listing(resource=AUDIT, filters={"kind": FactKind.USER_DISABLED.value}),
        "audit of one request": Listing(resource=AUDIT, filters={"trace_id": identifier("trace", 77)}),
        "audit of one session": Listing(resource=AUDIT, filters={"session_id": identifier("session", 77)}),
    }


def milliseconds(store: SQLiteStore, listing: Listing[Any], now: Instant) -> float:
    started = time.perf_counter()
    store.page(listing, now)
    return (time.perf_counter() - started) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument(
        "--folder", type=Path, help="where the files are made, and found again if they are there"
    )
    arguments = parser.parse_args()
    measured: dict[str, list[str]] = {}
    with TemporaryDirectory() as scratch:
        for rows in arguments.rows:
            path = (arguments.folder or Path(scratch)) / f"lists-{rows}.db"
            known = path.exists()
            with SQLiteStore(path) as store:
                if not known:
                    fill(store, rows)
                store.page(Listing(resource=ONLINE_SESSIONS), Instant(NOW - 10 * MINUTE_MS))
                for name, listing in questions(rows).items():
                    first = milliseconds(store, listing, NOW)
                    again = median(milliseconds(store, listing, NOW) for _ in range(9))
                    total = store.page(listing, NOW).total
                    measured.setdefault(name, []).append(f"{first:9.1f} {again:8.2f} {total:9,}")
    print(f"{'':40}" + "".join(f"{f'{rows:,} rows':>32}" for rows in arguments.rows))
    print(f"{'':40}" + f"{'first':>13} {'again':>8} {'total':>9}" * len(arguments.rows))
    for name, columns in measured.items():
        print(f"{name:40}" + "".join(f"{column:>32}" for column in columns))


if __name__ == "__main__":
    main()
