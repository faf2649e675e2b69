"""Store records in PostgreSQL, for several instances. Nothing of SQLite or of a request enters."""

from ostiary_net.postgres.store import PostgreSQLStore
from ostiary_net.sql.migrations import SchemaError

__all__ = ["PostgreSQLStore", "SchemaError"]
