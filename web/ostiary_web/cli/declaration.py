"""Read the clients and roles that a TOML file declares, within bounds, with secrets as digests.

Rules, all in this file:

- `[clients.ID]` and `[roles.CODE]` hold the fields of the interface under their names there. What is in a
  field, the rules judge; a name that is none is refused here.
- A client's secret is in a file (`secretFile`), in a variable of the environment (`secretEnv`), or given as
  its SHA-256 (`secretDigest = "sha256:…"`), which is what the store has of it. Without any of these a new
  client gets one that is drawn, and one that is there keeps its own. With `keepOldForSeconds` beside it, a
  secret that another one replaces works on for so long.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ostiary_core.clients.client_secret import KEEP_OLD_FOR, read_overlap
from ostiary_core.model.client import CLIENT
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.role import ROLE
from ostiary_core.model.secret import Digest, digest_of
from ostiary_web.cli.arguments import STANDARD_INPUT
from ostiary_web.server.secret_files import is_in_quotes, read_secret_file

_SECRETS: Final = ("secretFile", "secretEnv", "secretDigest")
_LONGEST_FILE: Final = 1024 * 1024
_MOST_RECORDS: Final = 1_000
"""Most records of a file: they are one turn, for which others wait."""
_SECRET: Final = re.compile(r"[\x21-\x7e]{22,256}", re.ASCII)
"""Pattern of a secret of at least 128 bits in base64: a shorter one could be guessed from its digest."""
_DIGEST: Final = re.compile(r"sha256:([0-9a-fA-F]{64})", re.ASCII)


class DeclarationError(Exception):
    """A file that cannot be read as a declaration: where and why, without any secret."""


@dataclass(frozen=True, slots=True)
class DeclaredClient:
    """The fields of a client's table, and the digest of its secret if one is given."""

    fields: Mapping[str, object]
    secret_digest: Digest | None = field(repr=False)
    overlap: Mapping[str, object] = field(default_factory=dict)
    """How long the secret before it works on, if that is said."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that a file declares, by identifiers and codes."""

    clients: Mapping[str, DeclaredClient]
    roles: Mapping[str, Mapping[str, object]]


def read_declaration(path: Path, environment: Mapping[str, str]) -> Declaration | tuple[FieldFault, ...]:
    """Return what the file declares, or its unknown names and wrong overlaps; raise `DeclarationError`.

    Paths of secret files start from the file's folder, of standard input from the present one.
    """
    content = _parse(path)
    tables = {kind: _tables(kind, content.get(kind, {})) for kind in ("clients", "roles")}
    if sum(map(len, tables.values())) > _MOST_RECORDS:
        raise DeclarationError(f"declares more than {_MOST_RECORDS} clients and roles")
    faults = (
        *(FieldFault(name, FieldRule.UNKNOWN) for name in content if name not in tables),
        *_unknown(
            "clients", tables["clients"], (*(each.name for each in CLIENT.audited), *_SECRETS, KEEP_OLD_FOR)
        ),
        *_unknown("roles", tables["roles"], tuple(each.name for each in ROLE.audited)),
        *_overlap_faults(tables["clients"]),
    )
    if faults:
        return faults
    clients = {
        client_id: DeclaredClient(
            {name: value for name, value in table.items() if name not in (*_SECRETS, KEEP_OLD_FOR)},
            _read_secret(f"clients.{client_id}", table, path.parent, environment),
            _overlap(table),
        )
        for client_id, table in tables["clients"].items()
    }
    return Declaration(clients, tables["roles"])


def _parse(path: Path) -> dict[str, object]:
    try:
        with sys.stdin.buffer if path == STANDARD_INPUT else path.open("rb") as file:
            content = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise DeclarationError(f"cannot be read: {error.strerror}") from None
    if len(content) > _LONGEST_FILE:
        raise DeclarationError(f"has more than {_LONGEST_FILE} bytes")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DeclarationError("is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise DeclarationError(f"is not TOML: {error}") from None
    except RecursionError:
        raise DeclarationError("is not TOML: it is nested too deeply") from None


def _tables(kind: str, content: object) -> dict[str, dict[str, object]]:
    if not isinstance(content, dict) or not all(isinstance(table, dict) for table in content.values()):
        raise DeclarationError(f"{kind}: must hold a table for each of them, as [{kind}.example]")
    return content


def _unknown(
    kind: str, tables: Mapping[str, Mapping[str, object]], known: tuple[str, ...]
) -> list[FieldFault]:
    return [
        FieldFault(f"{kind}.{identifier}.{name}", FieldRule.UNKNOWN)
        for identifier, table in tables.items()
        for name in table
        if name not in known
    ]


def _overlap_faults(clients: Mapping[str, Mapping[str, object]]) -> Iterator[FieldFault]:
    """Yield what is wrong with overlaps: the rules read one only if a secret is replaced."""
    for client_id, table in clients.items():
        read = read_overlap(_overlap(table))
        if isinstance(read, tuple):
            yield from (replace(fault, path=f"clients.{client_id}.{fault.path}") for fault in read)


def _overlap(table: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in table.items() if name == KEEP_OLD_FOR}


def _read_secret(
    path: str, table: Mapping[str, object], folder: Path, environment: Mapping[str, str]
) -> Digest | None:
    given = {name: value for name, value in table.items() if name in _SECRETS}
    if not given:
        return None
    if len(given) > 1:
        raise DeclarationError(f"{path}: {' and '.join(given)} are set together; allowed: one of them")
    [(name, value)] = given.items()
    if not isinstance(value, str):
        raise DeclarationError(f"{path}.{name}: must be a string")
    if name == "secretDigest":
        written = _DIGEST.fullmatch(value)
        if written is None:
            raise DeclarationError(
                f"{path}.{name}: must be sha256: with the 64 hexadecimal digits of a digest"
            )
        return Digest(bytes.fromhex(written[1]))
    if name == "secretEnv":
        text = environment.get(value, "")
        if not text:
            raise DeclarationError(f"{path}.{name}: the environment has no {value!r}, or it is empty")
        if is_in_quotes(text):
            raise DeclarationError(
                f"{path}.{name}: {value!r} is in quotes, which would be part of the secret"
            )
    else:
        try:
            text = read_secret_file(folder / value)
        except ValueError as fault:
            raise DeclarationError(f"{path}.{name}: {fault}") from None
    if _SECRET.fullmatch(text) is None:
        raise DeclarationError(
            f"{path}.{name}: must give 22 to 256 visible characters of ASCII, drawn at random"
        )
    return digest_of(text)
