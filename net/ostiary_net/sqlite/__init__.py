"""Storage in a SQLite file, through apsw and the SQLite it brings along."""

from ostiary_net.sqlite.schema import SchemaError
from ostiary_net.sqlite.store import SQLiteStore, StoreClosed

__all__ = ["SQLiteStore", "SchemaError", "StoreClosed"]
