"""The rows of the specification's tables, as `specification.toml` lists them."""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple


class Folder(StrEnum):
    """The folder with the tests of a row."""

    CORE = "core"
    WEB = "web"


class Row(NamedTuple):
    """One row, or one of the conditions that a row lists."""

    name: str
    proved_by: Folder


_LISTED: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

TABLES: Final[Mapping[str, tuple[Row, ...]]] = MappingProxyType(
    {table: tuple(Row(name, Folder(room)) for name, room in rows.items()) for table, rows in _LISTED.items()}
)
