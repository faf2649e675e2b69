"""The tests that prove the rows of the specification: the marker, and the list of all rows.

    @row("Session and tokens", "refresh with the current refresh token")
    def test_...

A name that `specification.toml` does not list fails at once. `docs/rows.md` is written from the markers, and
`tests/test_docs.py` fails while a row has no test.
"""

import pytest

from tests.rows.specification import TABLES

__all__ = ["row"]


def row(table: str, name: str) -> pytest.MarkDecorator:
    """Mark a test, or one of its parameters, as proof of one row."""
    if table not in TABLES:
        raise ValueError(f"no table {table!r} in tests/rows/specification.toml; there are {sorted(TABLES)}")
    names = [known.name for known in TABLES[table]]
    if name not in names:
        raise ValueError(f"table {table!r} has no row {name!r}; it has {names}")
    return pytest.mark.row(table, name)
