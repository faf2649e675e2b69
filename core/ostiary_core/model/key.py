"""The tables of a store, and the keys of the records in them."""

from enum import IntEnum
from typing import Any, Final, NamedTuple


class Table(IntEnum):
    """The tables in the order in which a store loads them: each refers only to later ones."""

    IDENTIFIER = 1
    ACCESS_TOKEN = 2
    """A second index of the sessions, by the digest of the present access token; holds no records."""
    REFRESH_TOKEN = 3
    TEXT_CODE = 4
    CODE = 5
    SESSION = 6
    CONSENT = 7
    USER = 8
    ROLE = 9
    CLIENT = 10
    SECOND_FACTOR = 11
    INVITATION = 12


RECORD_TABLES: Final = tuple(table for table in Table if table is not Table.ACCESS_TOKEN)
"""The tables that hold records."""


class Key(NamedTuple):
    """The address of one record: its table and its identifier there.

    The identifier is a text for clients, users, roles and sessions; a digest for tokens and codes; a pair of
    texts for identifiers (kind, value), consents (user, client) and text codes (purpose, number).
    """

    table: Table
    id: bytes | str | tuple[str, str]


RawKey = tuple[Table, Any]
"""A `Key` as a plain tuple: equal to it, ten times cheaper to make."""

make_key: Final = tuple.__new__
"""Constructor of a record's key, twice as fast as `Key` itself."""
