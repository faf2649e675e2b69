"""Read tokens and codes with all records that they lead to, in one row each."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ostiary_core.model.records import Record, Table
from ostiary_net.sql.columns import TABLES, Row, make_row_codec

_ALIASES: Final = {
    Table.REFRESH_TOKEN: "t",
    Table.CODE: "s",
    Table.SESSION: "s",
    Table.CONSENT: "n",
    Table.USER: "u",
    Table.CLIENT: "c",
}


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Rows of a token, session or code, joined with its consent, user and client."""

    columns: str
    """Columns to select: `t` refresh token, `s` session or code, `n` consent, `u` user, `c` client."""
    found: str
    """FROM item that leads from a digest to the sessions or codes `s`."""
    digest: str
    """Column of the digest."""
    client: tuple[int, Callable[[Row], Any]]
    """Place of the client's key in a row, NULL without a client, and the function that makes the record."""
    parts: tuple[tuple[int, Callable[[Row], Any]], ...]
    """Key place and record maker of the other tables; records that others lead to come first."""

    def select(self, one_of: str) -> str:
        """Return the statement for the digests of which the condition `one_of` holds."""
        return f"SELECT {self.columns} FROM {self.found}{_OWNERS_OF_SESSIONS} WHERE {self.digest} {one_of}"

    def records(self, rows: Iterable[Row]) -> list[Record]:
        """Make the records of rows; those that a token or code leads to come before it."""
        records: list[Record] = []
        clients: set[Any] = set()
        client_at, client_from = self.client
        for row in rows:
            # Many tokens are of few clients, so the record of each client is made once.
            client_id = row[client_at]
            if client_id is not None and client_id not in clients:
                clients.add(client_id)
                records.append(client_from(row))
            for key, from_row in self.parts:
                if row[key] is not None:
                    records.append(from_row(row))
        return records


def _join(found: str, digest: str, *tables: Table) -> JoinedRows:
    listed: list[str] = []
    parts: list[tuple[int, Callable[[Row], Any]]] = []
    for table in tables:
        stored = TABLES[table]
        made = make_row_codec(stored.record)
        first = len(listed)
        parts.append((first + made.columns.index(stored.key[0]), made.from_row_at(first)))
        listed += [f"{_ALIASES[table]}.{column}" for column in made.columns]
    return JoinedRows(", ".join(listed), found, digest, parts[-1], tuple(reversed(parts[:-1])))


_OWNERS: Final = (Table.CONSENT, Table.USER, Table.CLIENT)

JOINED: Final[Mapping[Table, JoinedRows]] = {
    Table.ACCESS_TOKEN: _join("sessions s", "s.access_digest", Table.SESSION, *_OWNERS),
    Table.REFRESH_TOKEN: _join(
        "refresh_tokens t LEFT JOIN sessions s ON s.session_id = t.session_id",
        "t.digest",
        *(Table.REFRESH_TOKEN, Table.SESSION, *_OWNERS),
    ),
    Table.CODE: _join("codes s", "s.digest", Table.CODE, *_OWNERS),
}
"""Joined rows by table; the session of a used code is not in them, as it is rarely needed."""

_OWNERS_OF_SESSIONS: Final = (
    " LEFT JOIN consents n ON n.user_id = s.user_id AND n.client_id = s.client_id"
    " LEFT JOIN users u ON u.user_id = s.user_id"
    " LEFT JOIN clients c ON c.client_id = s.client_id"
)
"""JOIN clauses from the sessions or codes `s` to all records that they lead to."""
