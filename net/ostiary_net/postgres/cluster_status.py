"""Read a cluster's status: standbys, archive, pooler."""

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
    """A server that follows the primary."""

    name: str
    behind_bytes: int
    """Bytes that the primary has written and the standby has not replayed."""
    behind_seconds: float
    """Seconds that the last replayed bytes had waited; 0 if nothing is going on."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """Status that an operator should know before the primary is lost."""

    standbys: int
    visible_standbys: tuple[Standby, ...]
    """Standbys that the role may see: none without pg_monitor."""
    is_synchronous: bool
    """Whether a commit waits until a standby has it."""
    failing_archive: str
    """Last segment that could not be archived, and the number of failures; empty if all is well."""
    shares_connections: bool
    """Whether a pooler lends one connection of the database to several of ours, turn by turn."""


def read_cluster_status(url: str, password: str | None = None) -> ClusterStatus:
    """Return the status of the cluster. Raises `psycopg.Error`."""
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
    # The driver leaves out a parameter that is None.
    return psycopg.connect(url, password=password, connect_timeout=_CONNECT_SECONDS)


@contextmanager
def _transaction(connection: Connection[Any]) -> Iterator[int]:
    """Run a transaction whose statements have a timeout; yield the process that it is in."""
    with connection.transaction():
        # LOCAL: a setting that outlived it would hold for the client that a pooler lends the connection to
        # next.
        connection.execute(f"SET LOCAL statement_timeout = '{_WAIT_SECONDS}s'")
        [[process]] = connection.execute("SELECT pg_backend_pid()").fetchall()
        yield process
