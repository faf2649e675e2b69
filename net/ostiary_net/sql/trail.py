"""Read the audit trail as it grows, without passing over an entry.

In PostgreSQL a number is drawn in a transaction and visible once it commits, so a higher one can be visible
before a lower one. A reader asks for the trail's end and for the transactions that were adding entries, waits
until these are through, and reads up to that end.
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
    """End of the trail at one moment."""

    number: int
    """Number of the last visible entry; 0 without any."""
    writers: frozenset[str]
    """Transactions that were adding entries, which may have lower numbers."""


class GrowingTrail(Protocol):
    """A store whose trail can be followed."""

    def trail_end(self) -> TrailEnd:
        """Return the trail's end, and the transactions that are adding entries."""
        ...

    def entries_between(self, after: int, last: int, most: int) -> tuple[AuditEntry, ...]:
        """Return up to `most` entries with numbers behind `after` and not behind `last`, in order."""
        ...
