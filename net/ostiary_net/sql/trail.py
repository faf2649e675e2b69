"""The audit trail read as it grows, so that no entry is passed over.

Numbers are drawn while a transaction runs and seen once it is committed: in PostgreSQL a higher one can be
seen before a lower one. So whoever goes on behind a number asks how far the trail is and who was adding to it
then, waits until none of these is at it any more, and reads up to there.
"""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns)

from typing import Final, NamedTuple, Protocol

from ostiary_core.model.audit import AuditEntry
from ostiary_net.sql.columns import ENTRIES

LAST_NUMBER: Final = "SELECT number FROM audit ORDER BY number DESC LIMIT 1"
BETWEEN: Final = (
    f"SELECT {', '.join(ENTRIES.columns)} FROM audit WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"
)


class TrailEnd(NamedTuple):
    """How far the trail is at one moment."""

    number: int
    """Of the last entry that can be seen; 0 where there is none."""
    writers: frozenset[str]
    """The transactions that were adding entries: theirs may have lower numbers."""


class GrowingTrail(Protocol):
    """A store whose trail can be followed."""

    def trail_end(self) -> TrailEnd:
        """How far the trail is, and who is adding to it."""
        ...

    def entries_between(self, after: int, last: int, most: int) -> tuple[AuditEntry, ...]:
        """Up to `most` entries with numbers behind `after` and not behind `last`, in their order."""
        ...
