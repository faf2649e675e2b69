"""What stands around a database: its standbys, its archive, and a pooler in front of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import Connection

_CONNECT_SECONDS: Final = 5
_WAIT_SECONDS: Final = 10

_STANDBYS: Final = """
    SELECT application_name, state, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint,
           coalesce(extract(epoch FROM replay_lag), 0)::float8
    FROM pg_stat_replication
"""
_ARCHIVE: Final = """
    SELECT failed_count, last_failed_wal
    FROM pg_stat_archiver
    WHERE last_failed_time > coalesce(last_archived_time, '-infinity')
"""


@dataclass(frozen=True, slots=True)
class Standby:
    """A machine that follows the primary."""

    name: str
    behind_bytes: int
    """What the primary has written and the standby has not replayed."""
    behind_seconds: float
    """How long what was replayed last had waited for it; 0 where nothing is going on."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """What an operator should know of a database before its primary is lost."""

    standbys: int
    visible_standbys: tuple[Standby, ...]
    """Those that the role may look at: none without pg_monitor."""
    is_synchronous: bool
    """Whether a commit waits until a standby has it."""
    failing_archive: str
    """The segment that could not be archived last, with how often any could not; empty where all is well."""
    shares_connections: bool
    """Whether something in front lends one connection of the database to several of ours, turn by turn."""


def read_cluster_status(url: str, password: str | None = None) -> ClusterStatus:
    """What stands around the database. Raises `psycopg.Error`."""
    with _connect(url, password) as connection:
        with _transaction(connection) as process:
            rows = connection.execute(_STANDBYS).fetchall()
            seen = [
                Standby(str(name), int(behind), float(seconds))
                for name, state, behind, seconds in rows
                if state
            ]
            [[names, commit]] = connection.execute(
                "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit')"
            ).fetchall()
            failing = connection.execute(_ARCHIVE).fetchall()
        # A pooler for each transaction lends what was given back last; one for each session keeps it.
        with _connect(url, password) as second, _transaction(second) as other:
            shares_connections = process == other
        return ClusterStatus(
            standbys=len(rows),
            visible_standbys=tuple(seen),
            # A connection of the store raises what is off to on, and leaves anything else.
            is_synchronous=bool(names) and commit != "local",
            failing_archive="".join(f"{segment} ({count} failures)" for count, segment in failing),
            shares_connections=shares_connections,
        )


def _connect(url: str, password: str | None) -> Connection[Any]:
    named: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "autocommit": True}
    if password is not None:
        named["password"] = password
    return psycopg.connect(url, prepare_threshold=None, **named)


@contextmanager
def _transaction(connection: Connection[Any]) -> Iterator[int]:
    """A transaction whose statements wait for so long at most, and the process it is in.

    A setting that outlived it would be a stranger's, who is lent the connection next.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL statement_timeout = '{_WAIT_SECONDS}s'")
        [[process]] = connection.execute("SELECT pg_backend_pid()").fetchall()
        yield process
