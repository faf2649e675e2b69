"""How SQLite is told to list: which index to follow, and how to compare text."""

import re
from typing import Final

__all__ = ["SQLiteDialect"]

_COUNTED_BY: Final = re.compile(r"\[\[(\w+)\]\]")
_SEEN_BY: Final = re.compile(r"\(\((\w+)\)\)")


class SQLiteDialect:
    """No statistics are kept, so a plan never changes of itself; where SQLite would guess, it is told."""

    def tables(self, tables: str, *, counting: bool, reading: bool) -> str:
        tables = _COUNTED_BY.sub(r"INDEXED BY \1" if counting else "", tables)
        return _SEEN_BY.sub("" if reading else r"INDEXED BY \1", tables)

    def contains(self, expression: str) -> str:
        # Not LIKE, to which % and _ are special and a NUL is the end; lower() knows ASCII only.
        return f"instr(lower({expression}), ?) > 0"

    def sorted_afterwards(self, expression: str) -> str:
        return f"+{expression}"

    def holds(self, text: str) -> bool:
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
        return True
