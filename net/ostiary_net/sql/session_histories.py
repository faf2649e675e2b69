"""Reads the history of one session from the tables of any SQL store."""

from typing import Final

from ostiary_core.loading.keys import Keys
from ostiary_core.loading.snapshot import Fetch, load
from ostiary_core.model.audit import AuditEntry
from ostiary_core.storage.session_history import (
    EndingQuery,
    SessionHistory,
    find_inherited_ending,
    history_keys,
)
from ostiary_net.sql.columns import ENTRIES, SQLValue
from ostiary_net.sql.paging import Execute

__all__ = ["read_session_history"]

_SELECTED: Final = f"SELECT {', '.join(ENTRIES.columns)} FROM"


def read_session_history(
    session_id: str, fetch: Fetch, execute: Execute, entries_of_a_session: str = "audit"
) -> SessionHistory | None:
    """Read one session with everything that happened to it, by statements of one transaction.

    `entries_of_a_session` is where the audit trail is searched by session.
    """
    snapshot = load((Keys(history_keys(session_id)),), fetch)
    session = snapshot.session(session_id)
    if session is None:
        return None

    def find(sought: EndingQuery) -> AuditEntry | None:
        kinds = ", ".join("?" * len(sought.kinds))
        conditions = [f"kind IN ({kinds})", "at >= ?"]
        bindings: list[SQLValue] = [*(kind.value for kind in sought.kinds), sought.since]
        for column, wanted in (("user_id", sought.user_id), ("client_id", sought.client_id)):
            if wanted is not None:
                # Not the bare column: endings are rare among all entries of a busy client, and its own
                # index would lead through every one of those.
                conditions.append(f"COALESCE({column}, '') = ?")
                bindings.append(wanted)
        rows = execute(
            f"{_SELECTED} audit WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT 1 OFFSET ?",
            (*bindings, sought.newer),
        )
        return ENTRIES.from_row(rows[0]) if rows else None

    rows = execute(f"{_SELECTED} {entries_of_a_session} WHERE session_id = ? ORDER BY number", (session_id,))
    return SessionHistory(
        session=session,
        snapshot=snapshot,
        entries=tuple(ENTRIES.from_row(row) for row in rows),
        inherited_ending=find_inherited_ending(session, snapshot, find),
    )
