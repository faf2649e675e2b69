"""What changed in a record: its declared fields before and after, as the audit trail tells of them.

Rules, all in this file:

- Nothing is told of a record but the fields that are declared for it, under their names in the interface.
  Passwords, secrets and their hashes are declared nowhere; a field that is masked says so in its declaration.
- Of a new record the trail has what it is, of a deleted one what it was, without fields that are empty.
- A value has a bound. Of longer lists what both sides have is left out first, so that what changed stays.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from ostiary_core.model.fields import Fields, differing_fields

R = TypeVar("R")

Value = str | int | bool | tuple[str, ...] | None

LONGEST_VALUE: Final = 4_000
"""Characters of one value in an entry, which has two of each field."""
CUT: Final = "…"
"""Stands for what was left out: at the end of a text, or as the last item of a list."""


_EMPTY: Final[frozenset[Value]] = frozenset({None, ()})


class FieldChange(NamedTuple):
    """A field before and after; None where there was no record, or no value."""

    field: str
    """Its name in the interface."""
    before: Value
    after: Value


@dataclass(frozen=True, slots=True)
class RecordField(Generic[R]):
    """A field of a record that may be told, and how."""

    name: str
    """Its name in the interface."""
    read: Callable[[R], Value]
    mask: Callable[[str], str] | None = None
    """What is told in place of a text."""


def values_of(declared: Iterable[RecordField[R]], record: R | None) -> dict[str, Value]:
    """The values of the declared fields, unmasked; all of them None where there is no record."""
    return {field.name: None if record is None else field.read(record) for field in declared}


def find_row_changes(
    declared: Iterable[RecordField[R]], stored: R, fields: Fields, own: Fields
) -> dict[str, object]:
    """The fields of a row that say something else than what stands in `stored`.

    `own` has what is said of the record beside its declared fields, and cannot be changed. Values are
    compared, not what the rules make of them: of two that the rules refuse they make the same.
    """
    stands = {**values_of(declared, stored), **own}
    return {name: fields[name] for name in differing_fields(stands, fields)}


def changes_between(
    declared: tuple[RecordField[R], ...], before: R | None, after: R | None
) -> tuple[FieldChange, ...]:
    """The declared fields in which two records differ; None is one that is not there yet, or no more."""
    old, new = values_of(declared, before), values_of(declared, after)
    changed = differing_fields(old, new)
    return tuple(
        _told(field, old[field.name], new[field.name])
        for field in declared
        if field.name in changed and not {old[field.name], new[field.name]} <= _EMPTY
    )


def mask_phone(phone: str) -> str:
    """A telephone number by its last two digits.

    >>> mask_phone("+8613812345678")
    '***78'
    """
    return f"***{phone[-2:]}"


def _told(field: RecordField[R], before: Value, after: Value) -> FieldChange:
    if field.mask is not None:
        before, after = (field.mask(value) if isinstance(value, str) else value for value in (before, after))
    return FieldChange(field.name, _bounded(before, after), _bounded(after, before))


def _bounded(value: Value, other: Value) -> Value:
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return value[: LONGEST_VALUE - 1] + CUT
    if not isinstance(value, tuple) or _length(value) <= LONGEST_VALUE:
        return value
    shared = other if isinstance(other, tuple) else ()
    kept: list[str] = []
    left = LONGEST_VALUE - 1
    for item in value:
        if item not in shared:
            left -= len(item)
            if left < 0:
                break
            kept.append(item)
    return (*kept, CUT)


def _length(values: tuple[str, ...]) -> int:
    return sum(map(len, values))
