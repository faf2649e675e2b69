"""What the peers' programs do beside serving: each fills its store, by its own models, with what `names` has.

Standard library only, as it runs in their environment.
"""

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from docs.bench.names import CLIENTS, client_id, machine_id

ACCESS_SECONDS = 86_400
APPLICATIONS = [name(number) for name in (client_id, machine_id) for number in range(CLIENTS)]
"""Clients: those of sessions, then those without users."""


def run_command(
    add_clients_and_users: Callable[[], None],
    add_sessions: Callable[[range], None],
    add_codes: Callable[[range], None],
) -> None:
    """`fill SESSIONS`, which prints the bytes that the sessions take, or `codes FIRST COUNT`."""
    match sys.argv[1:]:
        case ["fill", sessions]:
            add_clients_and_users()
            before = _fold_log()
            add_sessions(range(int(sessions)))
            print(_fold_log() - before)
        case ["codes", first, count]:
            add_codes(range(int(first), int(first) + int(count)))
            _fold_log()


def _fold_log() -> int:
    """The bytes of the store, once the write-ahead log is folded into it."""
    store = os.environ["BENCH_STORE"]
    with closing(sqlite3.connect(store, timeout=30)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(store).stat().st_size
