"""Storage in PostgreSQL, for several machines on one database. Nothing of SQLite or of a request enters."""

from ostiary_net.postgres.store import PostgreSQLStore
from ostiary_net.sql.migrations import SchemaError

__all__ = ["PostgreSQLStore", "SchemaError"]
