"""Storage in PostgreSQL, for several machines on one database."""

from ostiary_net.postgres.schema import SchemaError
from ostiary_net.postgres.store import PostgreSQLStore

__all__ = ["PostgreSQLStore", "SchemaError"]
