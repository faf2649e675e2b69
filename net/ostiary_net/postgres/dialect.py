"""What PostgreSQL needs in statements that list: no hints, and text compared by ASCII case alone."""

import re
from collections.abc import Collection
from typing import Final

from ostiary_net.postgres.access import can_hold

__all__ = ["PostgreSQLDialect"]

_HINT: Final = re.compile(r"\[\[\w+\]\]|\(\(\w+\)\)")


class PostgreSQLDialect:
    """PostgreSQL's statements that list; its planner has statistics, so it gets no hints."""

    def tables(self, tables: str, *, counting: bool, reading: bool, filtered: Collection[str]) -> str:
        return _HINT.sub("", tables)

    def count(self, matching: str) -> str:
        return f"SELECT count(*) {matching}"

    def contains(self, expression: str) -> str:
        # Every column has the collation "C", whose lower case is that of ASCII.
        return f"position(? in lower({expression})) > 0"

    def sorted_afterwards(self, expression: str) -> str:
        return f"COALESCE({expression}, {expression})"

    def can_hold(self, text: str) -> bool:
        return can_hold(text)
