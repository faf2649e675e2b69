"""Convert records to rows and back: a column for each field, worked out once from the record classes.

Text, numbers and digests stay as they are, enumerations go by value, and come back as an `UnknownWord` if
only a later release knows it; lists are JSON, and a named tuple (the epochs) is one column for each of its
fields. The changes of an entry are JSON, or NULL if there are none. The schemas are written out in the
migrations, as those must stay as they were; tests compare both.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache, partial
from itertools import compress
from operator import attrgetter, ne
from types import UnionType
from typing import Any, Final, NamedTuple, NewType, Union, cast, get_args, get_origin, get_type_hints

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.changes import FieldChange, changes_to_json, read_change
from ostiary_core.model.records import (
    STORED_NAMES,
    AuthorizationCode,
    Client,
    Consent,
    Identifier,
    Invitation,
    Record,
    RefreshToken,
    Role,
    SecondFactor,
    Session,
    Table,
    TextCode,
    User,
)
from ostiary_core.model.unknown_word import UnknownWord, read_word

SQLValue = str | bytes | int | None
Row = Sequence[SQLValue]


class Stored(NamedTuple):
    """A class of records, the name of its table, and the columns of its key."""

    record: type[Record]
    name: str
    key: tuple[str, ...]


TABLES: Final[Mapping[Table, Stored]] = {
    Table.IDENTIFIER: Stored(Identifier, "identifiers", ("kind", "value")),
    Table.REFRESH_TOKEN: Stored(RefreshToken, "refresh_tokens", ("digest",)),
    Table.TEXT_CODE: Stored(TextCode, "text_codes", ("purpose", "phone")),
    Table.CODE: Stored(AuthorizationCode, "codes", ("digest",)),
    Table.SESSION: Stored(Session, "sessions", ("session_id",)),
    Table.CONSENT: Stored(Consent, "consents", ("user_id", "client_id")),
    Table.USER: Stored(User, "users", ("user_id",)),
    Table.ROLE: Stored(Role, "roles", ("role_id",)),
    Table.CLIENT: Stored(Client, "clients", ("client_id",)),
    Table.SECOND_FACTOR: Stored(SecondFactor, "second_factors", ("user_id",)),
    Table.INVITATION: Stored(Invitation, "invitations", ("user_id",)),
}
"""Tables by their names in the core."""


@dataclass(frozen=True, slots=True)
class RowCodec:
    """Columns of a class, and functions between its objects and their rows."""

    columns: tuple[str, ...]
    kinds: tuple[type, ...]
    """Type of each column's values if they are not NULL: str, bytes, int or bool."""
    to_row: Callable[[Any], list[SQLValue]]
    difference: Callable[[Any, Any], tuple[tuple[int, ...], list[SQLValue]]]
    """Returns the places in which a second object's row differs from a first one's, and its values there."""
    from_row: Callable[[Row], Any]
    from_row_at: Callable[[int], Callable[[Row], Any]]
    """Makes a `from_row` for rows whose columns begin at a later place."""


class _FieldColumn(NamedTuple):
    """A column, the attribute it is filled from, and how its values become SQL and come back."""

    name: str
    attribute: str
    kind: type
    encode: Callable[[Any], SQLValue] | None = None
    decode: Callable[[Any], Any] | None = None


class _Group(NamedTuple):
    """Neighbouring columns of one field."""

    first: int
    end: int
    make: Callable[..., Any]


def make_row_codec(kind: type[Any]) -> RowCodec:
    """Make the codec between objects of a dataclass and rows."""
    annotations = get_type_hints(kind)
    names = tuple(field.name for field in fields(kind))
    columns: list[_FieldColumn] = []
    groups: list[_Group] = []
    for name in names:
        own = [
            column._replace(name=STORED_NAMES.get(column.name, column.name))
            for column in _columns_of(name, annotations[name])
        ]
        if len(own) > 1:
            groups.append(_Group(len(columns), len(columns) + len(own), annotations[name]))
        columns += own
    from_row_at = partial(_object_maker, kind, names, columns, groups)
    return RowCodec(
        tuple(column.name for column in columns),
        tuple(column.kind for column in columns),
        _row_maker(columns),
        _difference_maker(columns),
        from_row_at(0),
        from_row_at,
    )


# --- one value


def has_utf8(value: object) -> bool:
    """Whether each text of a value or key can be written in UTF-8; half a surrogate pair cannot."""
    try:
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str):
                part.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=4096)
def _to_json(values: tuple[str | int, ...]) -> str:
    """Write values as JSON, escaped to ASCII, so that any text comes back as it was."""
    return json.dumps(values, separators=(",", ":"))


@lru_cache(maxsize=4096)
def _from_json(make: Callable[[Any], Any], text: str) -> tuple[Any, ...]:
    return tuple(make(value) for value in json.loads(text))


def _changes_to_json(changes: tuple[FieldChange, ...]) -> str | None:
    return changes_to_json(changes) if changes else None


def _changes_from_json(text: str | None) -> tuple[FieldChange, ...]:
    if text is None:
        return ()
    return tuple(map(read_change, json.loads(text)))


def _plain(kind: Any) -> Any:
    """Return the type underneath another: `Digest` is bytes, `Why | None` is `Why`."""
    if isinstance(kind, NewType):
        return _plain(kind.__supertype__)
    if get_origin(kind) in (Union, UnionType):
        first, *others = (member for member in get_args(kind) if member is not type(None))
        assert not set(others) - {UnknownWord}, f"{kind} has no one type that a column could have"
        return _plain(first)
    return kind


class _Looked(dict[Any, Any]):
    """A table of words, and the function that makes what an unknown one becomes."""

    def __init__(self, make: type[str], known: Mapping[Any, Any]) -> None:
        super().__init__(known)
        self._make = make

    def __missing__(self, word: str) -> str:
        return self._make(word)


def _columns_of(name: str, annotation: Any) -> tuple[_FieldColumn, ...]:
    """Return the columns of one field."""
    kind = _plain(annotation)
    if kind in (str, bytes, int):
        return (_FieldColumn(name, name, kind),)
    if kind is bool:
        return (_FieldColumn(name, name, bool, decode=bool),)
    if get_origin(kind) is tuple:
        item, ellipsis = get_args(kind)
        if item is FieldChange:
            return (_FieldColumn(name, name, str, _changes_to_json, _changes_from_json),)
        assert ellipsis is ..., f"{name}: only tuples of any length are stored as JSON"
        made = _plain(item)
        make = partial(read_word, made) if issubclass(made, StrEnum) else made
        return (_FieldColumn(name, name, str, _to_json, partial(_from_json, make)),)
    if issubclass(kind, StrEnum):
        # Looked up: `Enum.value` is a function of Python.
        values = _Looked(str, {None: None, **{member: member.value for member in kind}})
        members = _Looked(UnknownWord, {None: None, **{member.value: member for member in kind}})
        return (_FieldColumn(name, name, str, values.__getitem__, members.__getitem__),)
    if issubclass(kind, tuple):
        singular = name.removesuffix("s")
        return tuple(
            _FieldColumn(f"{part}_{singular}", f"{name}.{part}", _plain(own))
            for part, own in get_type_hints(kind).items()
        )
    raise TypeError(f"field {name} has a type that no column is known for; teach _columns_of about it")


# --- one row


def _row_maker(columns: Sequence[_FieldColumn]) -> Callable[[Any], list[SQLValue]]:
    values_of = attrgetter(*(column.attribute for column in columns))
    encoders = [(number, column.encode) for number, column in enumerate(columns) if column.encode]

    def to_row(item: Any) -> list[SQLValue]:
        values = list(values_of(item))
        for number, encode in encoders:
            values[number] = encode(values[number])
        return values

    return to_row


def _difference_maker(
    columns: Sequence[_FieldColumn],
) -> Callable[[Any, Any], tuple[tuple[int, ...], list[SQLValue]]]:
    """Make the `difference` of a codec; values are compared before they become SQL."""
    values_of = attrgetter(*(column.attribute for column in columns))
    encoders = [column.encode for column in columns]
    places = range(len(columns))

    def difference(before: Any, after: Any) -> tuple[tuple[int, ...], list[SQLValue]]:
        values = values_of(after)
        changed = tuple(compress(places, map(ne, values_of(before), values)))
        return changed, [
            values[place] if (encode := encoders[place]) is None else encode(values[place])
            for place in changed
        ]

    return difference


def _object_maker(
    kind: type[Any],
    names: Sequence[str],
    columns: Sequence[_FieldColumn],
    groups: Sequence[_Group],
    first: int,
) -> Callable[[Row], Any]:
    """Write a function that makes an object of a row whose columns begin at `first`.

    made = new(kind); made.client_id = row[0]; made.enabled = decode_1(row[1]) ...
    """
    # Written out, a session takes 0.8 us, and 1.4 in a loop over its fields; a refresh makes three records or
    # more.
    known: dict[str, Any] = {"kind": kind, "new": object.__new__}
    grouped = {group.first: group for group in groups}
    lines = ["made = new(kind)"]
    place = 0
    for name in names:
        group = grouped.get(place)
        decode = columns[place].decode
        if group is not None:
            known[f"make_{place}"] = group.make
            values = ", ".join(f"row[{first + number}]" for number in range(group.first, group.end))
            lines.append(f"made.{name} = make_{place}({values})")
            place = group.end
            continue
        if decode is None:
            lines.append(f"made.{name} = row[{first + place}]")
        else:
            known[f"decode_{place}"] = decode
            lines.append(f"made.{name} = decode_{place}(row[{first + place}])")
        place += 1
    lines.append("return made")
    # Only names of the class's own fields go into the text.
    exec("def from_row(row):\n    " + "\n    ".join(lines), known)  # noqa: S102
    return cast("Callable[[Row], Any]", known["from_row"])


ENTRIES: Final = make_row_codec(AuditEntry)
"""Codec of the audit trail; its first column is the number, which the database gives."""
