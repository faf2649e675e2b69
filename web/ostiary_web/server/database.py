"""Read `DATABASE_URL`: a SQLite file or a PostgreSQL database."""

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ostiary_core.model.secret import Secret
from ostiary_web.server.secret_files import read_secret_file

ALLOWED: Final = "sqlite:///PATH or postgresql://USER@HOST/DATABASE"

_SQLITE: Final = "sqlite:///"
_POSTGRESQL: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class SQLiteFile:
    """A file on this machine."""

    path: Path

    def __str__(self) -> str:
        return f"{_SQLITE}{self.path}"


@dataclass(frozen=True, slots=True)
class PostgreSQLDatabase:
    """A database that machines may share; printed without its password."""

    url: Secret = field(repr=False)
    place: str
    """Host, port and name, for an operator."""
    path: Path | None = None
    """File that the address was read from."""

    def read_password(self) -> str | None:
        """Read the password from the file anew; None for the one in the address.

        A changed password takes effect without a restart: connections are made with the file's current one.
        """
        if self.path is None:
            return None
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict

        try:
            password = conninfo_to_dict(read_secret_file(self.path).strip()).get("password")
        except (Error, ValueError):  # it is gone, or just being written
            return None
        return None if password is None else str(password)

    def __str__(self) -> str:
        return f"postgresql://{self.place}"


Database = SQLiteFile | PostgreSQLDatabase


def read_database(value: str) -> Database:
    """Return the database that `value` names; raise `ValueError` with its fault, never quoting it.

    >>> str(read_database("sqlite:////var/lib/ostiary/ostiary.db"))
    'sqlite:////var/lib/ostiary/ostiary.db'
    """
    value = value.strip()
    if value.startswith(_POSTGRESQL):
        return _postgresql(value)
    path = value.removeprefix(_SQLITE)
    if path == value or not path or any(mark in path for mark in "?#\x00"):
        raise ValueError("names neither a SQLite file nor a PostgreSQL database")
    return SQLiteFile(Path(path))


def _postgresql(value: str) -> PostgreSQLDatabase:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise ValueError("asks for PostgreSQL's driver, which is missing: install the extra `postgres`")
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    if unknown := _find_unknown_parameter(value):
        raise ValueError(f"has a parameter that PostgreSQL's driver does not know: {unknown}")
    try:
        parts = conninfo_to_dict(value)
    except (Error, ValueError):
        # What the driver says of it may quote the password.
        raise ValueError("is not an address of a PostgreSQL database") from None
    hosts, ports, name = (str(parts.get(part, "")) for part in ("host", "port", "dbname"))
    # The rest of a password with an `@`, or with a `/` behind digits, is taken for one of these.
    places = [name, *(host for host in hosts.split(",") if not host.startswith("/"))]
    if any(mark in place for place in places for mark in "@/"):
        raise ValueError("names a host or database with @ or /: percent-encode the password, as %40 and %2F")
    if any(mark in value for mark in "\x00\r\n") or not re.fullmatch(r"[0-9,]*", ports, re.ASCII):
        raise ValueError("is not an address of a PostgreSQL database")
    if any(port and not (len(port) <= 5 and 1 <= int(port) <= 65_535) for port in ports.split(",")):
        raise ValueError("names a port that is not one of 1 to 65535")
    if ports.count(",") not in (0, hosts.count(",")) or any(place.isdecimal() for place in hosts.split(",")):
        raise ValueError("names ports of which not each belongs to one host, as in HOST:PORT,HOST:PORT")
    if not hosts or not name:
        raise ValueError("names no host or no database")
    place = f"{hosts}:{ports}" if ports else hosts
    return PostgreSQLDatabase(Secret(value), f"{place}/{name}")


def _find_unknown_parameter(value: str) -> str | None:
    """Return the first parameter that the driver does not know; None if it may be a part of a password."""
    from psycopg import pq

    query = value.rpartition("@")[2].partition("?")[2]
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()} | {"ssl"}
    unknown = [name for name in re.findall(r"(?:^|&)([^=&]+)=", query) if name not in known]
    is_certain = "password=" not in value and unknown and re.fullmatch("[A-Za-z_]{1,40}", unknown[0])
    return unknown[0] if is_certain else None
