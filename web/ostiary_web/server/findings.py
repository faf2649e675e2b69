"""Describe what `ostiary check` finds, and find what is wrong in a PostgreSQL cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ostiary_net.observability.log import list_frames
from ostiary_web.server.database import PostgreSQLDatabase

_MOST_BEHIND_BYTES: Final = 64 * 1024 * 1024
_MOST_BEHIND_SECONDS: Final = 10.0


class Level(StrEnum):
    """Severity of a finding."""

    FINE = "fine"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the list."""

    level: Level
    about: str
    key: str
    """Key of its text."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Values for the braces in the text."""


def check_cluster(database: PostgreSQLDatabase, prepares: bool | None) -> Iterator[Finding]:
    """Return findings about the machines around the database.

    `prepares` is the setting for prepared statements.
    """
    from ostiary_net.postgres.cluster_status import read_cluster_status

    try:
        seen = read_cluster_status(database.url.reveal(), database.read_password())
    except Exception as error:
        values = {"error": type(error).__name__, "place": list_frames(error)[0]}
        yield Finding(Level.WARNING, "replication", "check.replication.unseen", values)
        return
    if seen.standbys and not seen.is_synchronous:
        count = {"count": seen.standbys}
        yield Finding(Level.WARNING, "replication", "check.replication.asynchronous", count)
    elif seen.standbys:
        yield Finding(Level.FINE, "replication", "check.replication.fine")
    if seen.standbys > len(seen.visible_standbys):
        yield Finding(Level.WARNING, "standbys", "check.standbys.unseen")
    for standby in seen.visible_standbys:
        if standby.behind_bytes > _MOST_BEHIND_BYTES or standby.behind_seconds > _MOST_BEHIND_SECONDS:
            behind = {"bytes": f"{standby.behind_bytes:,}", "seconds": f"{standby.behind_seconds:.0f}"}
            yield Finding(Level.WARNING, f"standby {standby.name}", "check.standbys.behind", behind)
    if seen.failing_archive:
        yield Finding(Level.FAULT, "archive", "check.archive.fails", {"segment": seen.failing_archive})
    if seen.shares_connections:
        level = Level.WARNING if prepares else Level.FINE
        yield Finding(level, "pooler", "check.pooler.tracks" if prepares else "check.pooler.shares")
