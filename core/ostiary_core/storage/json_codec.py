"""Convert records and audit entries to JSON text and back, for a store with one column for each.

The text is ASCII, so that lone surrogates, too, come back as they were.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from types import MappingProxyType, UnionType
from typing import Any, Final, NewType, Union, get_args, get_origin, get_type_hints

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.changes import FieldChange, read_change
from ostiary_core.model.records import STORED_NAMES, Key, Record, Table
from ostiary_core.model.unknown_word import UnknownWord, read_word

_KINDS: Final[Mapping[Table, tuple[type[Any], Mapping[str, Any]]]] = MappingProxyType(
    {kind.table: (kind, MappingProxyType(get_type_hints(kind))) for kind in get_args(Record)}
)
_FIELD_NAMES: Final = MappingProxyType({stored: name for name, stored in STORED_NAMES.items()})
_ENTRY_HINTS: Final = MappingProxyType(get_type_hints(AuditEntry))


def to_text(item: Record | AuditEntry) -> str:
    """Write a record or audit entry as JSON text.

    >>> from ostiary_core.model.records import Identifier, IdentifierKind
    >>> to_text(Identifier(kind=IdentifierKind.USERNAME, value="anna", user_id="7"))
    '{"kind":"username","value":"anna","user_id":"7","revision":1}'
    """
    content = {
        STORED_NAMES.get(field.name, field.name): _plain(getattr(item, field.name)) for field in fields(item)
    }
    return json.dumps(content, separators=(",", ":"))


def record_from_text(table: Table, text: str) -> Record:
    """Return the record of `table` from text of `to_text`.

    Any other text raises: `ValueError` if it is no JSON, `KeyError` or `TypeError` if fields differ.
    """
    kind, hints = _KINDS[table]
    made: Record = _construct(kind, hints, text)
    return made


def entry_from_text(text: str) -> AuditEntry:
    """Return the audit entry from text of `to_text`; any other raises as in `record_from_text`."""
    made: AuditEntry = _construct(AuditEntry, _ENTRY_HINTS, text)
    return made


def identifier_text(key: Key) -> str:
    """Write a record's identifier as one text; different identifiers never give the same text.

    >>> identifier_text(Key(Table.CONSENT, ("user", "client")))
    '["user","client"]'
    """
    return json.dumps(_plain(key.id), separators=(",", ":"))


def _construct(kind: type[Any], hints: Mapping[str, Any], text: str) -> Any:
    stored = ((_FIELD_NAMES.get(name, name), plain) for name, plain in json.loads(text).items())
    return kind(**{name: _value(hints[name], plain) for name, plain in stored})


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case bytes():
            return value.hex()
        case tuple():
            return [_plain(member) for member in value]
        case _:
            return value


def _value(hint: Any, plain: Any) -> Any:
    """Convert a JSON value back to the type of its field: the inverse of `_plain`."""
    if plain is None:
        return None
    if isinstance(hint, NewType):
        return _value(hint.__supertype__, plain)
    if get_origin(hint) in (Union, UnionType):
        member, *others = (member for member in get_args(hint) if member is not type(None))
        if UnknownWord in others:
            return read_word(member, plain)
        return _value(member, plain)
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], member) for member in plain)
    if hint is bytes:
        return bytes.fromhex(plain)
    if hint is FieldChange:
        return read_change(plain)
    if issubclass(hint, tuple):
        return hint(*(tuple(part) if isinstance(part, list) else part for part in plain))
    return hint(plain)
