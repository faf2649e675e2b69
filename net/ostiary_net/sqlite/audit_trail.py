"""The audit trail in the file: entries are kept without indexes first, and indexed many at a time.

Six indexes lead to an entry, and adding it to each of them was half of the pages that a rotation wrote. So
an entry goes to a table without indexes first, and the turn with which there are enough of them moves them
all to the one that has them, where neighbours share pages. Whoever reads asks the view `audit`, which is
both; for the entries of a user or a session, one that goes by their index.
See docs/decisions/0026-entries-are-filed-later.md.
"""

# ruff: noqa: S608 (what goes into a statement's text are the columns of the audit trail)

from collections.abc import Sequence
from typing import Final

import apsw

from ostiary_core.model.audit import AuditEntry
from ostiary_net.sql.columns import ENTRIES
from ostiary_net.sqlite.rows import execute_on, insertions

FILED_AT_ONCE = 512
"""Whenever so many were kept. A reader goes through those that are not filed yet, so there must be few."""

OF_A_USER: Final = "audit_of_user"
OF_A_SESSION: Final = "audit_of_session"
"""What to read in place of `audit` for the entries of one user or one session."""

PARTS: Final = ("audit_filed", "audit_unfiled")
"""The tables, the older entries first."""

_COLUMNS: Final = ", ".join(ENTRIES.columns)
_KEEP: Final = insertions("audit_unfiled", ENTRIES.columns[1:])
_FILE: Final = (
    f"INSERT INTO audit_filed ({_COLUMNS}) SELECT {_COLUMNS} FROM audit_unfiled ORDER BY number",
    "DELETE FROM audit_unfiled",
)


def keep(connection: apsw.Connection, entries: Sequence[AuditEntry]) -> bool:
    """Add entries in order; whether it is time to index what is pending, in the same transaction.

    Numbers tell, which rise by one with each entry whichever process keeps it.
    """
    if not entries:
        return False
    execute_on(connection, _KEEP, [ENTRIES.to_row(entry)[1:] for entry in entries])
    last = connection.last_insert_rowid()
    return last // FILED_AT_ONCE != (last - len(entries)) // FILED_AT_ONCE


def index_pending(connection: apsw.Connection) -> None:
    """Move all pending entries to the table that has indexes."""
    for statement in _FILE:
        connection.execute(statement)
