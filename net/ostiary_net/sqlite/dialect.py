"""What SQLite needs in statements that list: which index to follow, and how to compare text."""

import re
from collections.abc import Collection
from typing import Final

from ostiary_net.sql.columns import has_utf8
from ostiary_net.sqlite.audit_trail import OF_A_SESSION, OF_A_USER

__all__ = ["SQLiteDialect"]

_COUNTED_BY: Final = re.compile(r"\[\[(\w+)\]\]")
_SEEN_BY: Final = re.compile(r"\(\((\w+)\)\)")
_NARROWED: Final = {"session_id": OF_A_SESSION, "user_id": OF_A_USER}
"""What to read of the audit trail where it is narrowed by one of these; what leaves the least comes first."""


class SQLiteDialect:
    """SQLite's statements that list; it has no statistics, so it is told where it would guess."""

    def tables(self, tables: str, *, counting: bool, reading: bool, filtered: Collection[str]) -> str:
        if tables == "audit":
            return next((_NARROWED[field] for field in _NARROWED if field in filtered), tables)
        tables = _COUNTED_BY.sub(r"INDEXED BY \1" if counting else "", tables)
        return _SEEN_BY.sub("" if reading else r"INDEXED BY \1", tables)

    def count(self, matching: str) -> str:
        # A count over a view of two tables would read their rows; beneath a limit, their indexes do.
        return f"SELECT count(*) FROM (SELECT 1 {matching} LIMIT -1)"  # noqa: S608 (made of declared fields)

    def contains(self, expression: str) -> str:
        # Not LIKE, to which % and _ are special and a NUL is the end; lower() knows ASCII only.
        return f"instr(lower({expression}), ?) > 0"

    def sorted_afterwards(self, expression: str) -> str:
        return f"+{expression}"

    def can_hold(self, text: str) -> bool:
        return has_utf8(text)
