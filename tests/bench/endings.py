"""What it costs to end everything of a user: with one session, and with a hundred thousand (READINGS 9).

    python -m tests.bench.endings --sessions 100000

`POST /api/iam/users/:id/force-logout` over the application and a SQLite file, the two users in turn; what
counts is the ratio of the medians. The sessions are checked before and after.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import trio

from ostiary_core import Instant
from ostiary_core.model.decision import Insert
from ostiary_core.model.records import Epochs, Session, SessionKind, Table, User
from ostiary_core.model.secret import digest_of
from ostiary_core.storage.listing import ONLINE_USERS, Listing
from tests.web.envelopes import succeeded
from tests.web.served import Served, serving

__all__ = ["main"]

_DAY_MS = 24 * 60 * 60 * 1_000


def main() -> None:
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        trio.run(partial(_measure, Path(folder), asked.sessions, asked.rounds))


async def _measure(folder: Path, sessions: int, rounds: int) -> None:
    async with serving(folder) as served:
        administrator = await served.administrator()
        users = {"one": await served.user("one"), "many": await served.user("many")}
        taken: dict[str, list[float]] = {name: [] for name in users}
        for round_number in range(rounds):
            await _start(served, users["one"], 1, round_number)
            if round_number == 0:
                await _start(served, users["many"], sessions, round_number)
                assert await _running(served, users["many"]) == sessions
            for name, user_id in users.items():
                if round_number == 0:
                    served.clock.wait(61)  # a long list is counted anew once a minute (decision 0009)
                started = time.perf_counter()
                succeeded(await administrator.call("POST", f"/api/iam/users/{user_id}/force-logout"))
                taken[name].append(1_000 * (time.perf_counter() - started))
                if round_number == 0:
                    served.clock.wait(61)
                assert await _running(served, user_id) == 0
        one, many = median(taken["one"]), median(taken["many"])
        first = taken["many"][0]
        sys.stdout.write(
            f"1 session: {one:.2f} ms; {sessions:,} sessions: {many:.2f} ms "
            f"({first:.2f} ms while all of them ran); ratio {many / one:.2f}\n"
        )


async def _start(served: Served, user_id: str, count: int, salt: int) -> None:
    """Sessions of a user as the store has them, put there at once."""
    now = served.clock.now()
    users = (record for record in served.store.records(Table.USER) if isinstance(record, User))
    [epoch] = [user.epoch for user in users if user.user_id == user_id]
    records = [
        Insert(
            Session(
                session_id=digest_of(f"{user_id} {salt} {number}")[:16].hex(),
                kind=SessionKind.LOGIN,
                client_id="console",
                user_id=user_id,
                scopes=(),
                epochs=Epochs(epoch, 0, 0),
                started_at=now,
                expires_at=Instant(now + 7 * _DAY_MS),
                access_digest=digest_of(f"access {user_id} {salt} {number}"),
                access_scopes=(),
                access_expires_at=Instant(now + _DAY_MS),
            )
        )
        for number in range(count)
    ]
    served.store.write(records)


async def _running(served: Served, user_id: str) -> int:
    listing = Listing(resource=ONLINE_USERS, filters={"user_id": user_id}, page_size=1)
    total: int = served.store.page(listing, served.clock.now()).total
    return total


if __name__ == "__main__":
    main()
