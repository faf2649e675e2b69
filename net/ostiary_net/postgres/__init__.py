"""Storage in PostgreSQL, for several machines on one database."""

from ostiary_net.postgres.store import PostgreSQLStore
from ostiary_net.sql.migrations import SchemaError

__all__ = ["PostgreSQLStore", "SchemaError"]
