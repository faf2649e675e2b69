"""Store records in a SQLite file, by apsw. Nothing of PostgreSQL or of a request enters."""

from ostiary_net.sql.migrations import SchemaError
from ostiary_net.sqlite.connections import StoreClosed
from ostiary_net.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore", "SchemaError", "StoreClosed"]
