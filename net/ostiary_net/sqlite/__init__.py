"""Storage in a SQLite file, through apsw and the SQLite it brings along."""

from ostiary_net.sql.migrations import SchemaError
from ostiary_net.sqlite.connections import StoreClosed
from ostiary_net.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore", "SchemaError", "StoreClosed"]
