"""Tokens and codes with all that they lead to, one row each: what to select, and the records in such rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ostiary_core.model.records import Record, Table
from ostiary_net.sql.columns import TABLES, Row, row_codec

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
    """Rows of a token, session or code with its consent, user and client, where there are such."""

    columns: str
    """Of the refresh token as `t`, where it is one, the session or code `s`, consent `n`, user `u`, client
    `c`."""
    client: tuple[int, Callable[[Row], Any]]
    """The place of its key in a row, NULL where there is none, and what makes the record of a row."""
    parts: tuple[tuple[int, Callable[[Row], Any]], ...]
    """Key place and record maker for each of the other tables; what others lead to comes first."""

    def records(self, rows: Iterable[Row]) -> list[Record]:
        """Make the records of rows; what a token or code leads to comes before it."""
        records: list[Record] = []
        clients: set[Any] = set()
        client_at, client_from = self.client
        for row in rows:
            # Few clients have all the tokens, so each is made once.
            client_id = row[client_at]
            if client_id is not None and client_id not in clients:
                clients.add(client_id)
                records.append(client_from(row))
            for key, from_row in self.parts:
                if row[key] is not None:
                    records.append(from_row(row))
        return records


def _join(*tables: Table) -> JoinedRows:
    listed: list[str] = []
    parts: list[tuple[int, Callable[[Row], Any]]] = []
    for table in tables:
        stored = TABLES[table]
        made = row_codec(stored.record)
        first = len(listed)
        parts.append((first + made.columns.index(stored.key[0]), made.from_row_at(first)))
        listed += [f"{_ALIASES[table]}.{column}" for column in made.columns]
    return JoinedRows(", ".join(listed), parts[-1], tuple(reversed(parts[:-1])))


_OWNERS: Final = (Table.CONSENT, Table.USER, Table.CLIENT)

JOINED: Final[Mapping[Table, JoinedRows]] = {
    Table.ACCESS_TOKEN: _join(Table.SESSION, *_OWNERS),
    Table.REFRESH_TOKEN: _join(Table.REFRESH_TOKEN, Table.SESSION, *_OWNERS),
    Table.CODE: _join(Table.CODE, *_OWNERS),
}
"""By tokens and codes: session, consent, user and client, which every event needs that has one of them in it.
The session of a used code comes by itself, as few are asked for."""

ALL_OF_SESSIONS: Final = (
    " LEFT JOIN consents n ON n.user_id = s.user_id AND n.client_id = s.client_id"
    " LEFT JOIN users u ON u.user_id = s.user_id"
    " LEFT JOIN clients c ON c.client_id = s.client_id"
)
"""What joins to the sessions or codes `s` all that they lead to."""
