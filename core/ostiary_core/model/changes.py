"""Changes of a record for the audit trail: its declared fields before and after.

Rules, all in this file:

- Only declared fields appear, under their names in the interface. Passwords, secrets and their hashes are
  declared nowhere; the declaration of a masked field says so.
- A new record has its values after, a deleted one its values before, both without empty fields.
- A value is bounded. A longer list loses what both sides have first, so that the change stays visible.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from ostiary_core.model.fields import Fields, differing_fields

R = TypeVar("R")

Value = str | int | bool | tuple[str, ...] | None

LONGEST_VALUE: Final = 4_000
"""Most characters of one value; an entry has two of each field."""
CUT: Final = "…"
"""Mark of what was left out: the end of a text, or the last item of a list."""


_EMPTY: Final[frozenset[Value]] = frozenset({None, ()})


class FieldChange(NamedTuple):
    """A field before and after; None where there was no record, or no value."""

    field: str
    """Name in the interface."""
    before: Value
    after: Value


@dataclass(frozen=True, slots=True)
class RecordField(Generic[R]):
    """A field of a record that the trail may have, and how it is read."""

    name: str
    """Name in the interface."""
    read: Callable[[R], Value]
    mask: Callable[[str], str] | None = None
    """Function from a text to what stands in its place."""


def values_of(declared: Iterable[RecordField[R]], record: R | None) -> dict[str, Value]:
    """Return the values of the declared fields, unmasked; None for each without a record."""
    return {field.name: None if record is None else field.read(record) for field in declared}


def find_row_changes(
    declared: Iterable[RecordField[R]], stored: R, fields: Fields, own: Fields
) -> dict[str, object]:
    """Return the fields of a row whose values differ from those of `stored`.

    `own` has the record's values that are not declared fields and cannot be changed. Values are compared as
    sent: read by the rules, two invalid ones would be equal.
    """
    stands = {**values_of(declared, stored), **own}
    return {name: fields[name] for name in differing_fields(stands, fields)}


def changes_between(
    declared: tuple[RecordField[R], ...], before: R | None, after: R | None
) -> tuple[FieldChange, ...]:
    """Return the declared fields in which two records differ; None for a record that is not there."""
    old, new = values_of(declared, before), values_of(declared, after)
    changed = differing_fields(old, new)
    return tuple(
        _field_change(field, old[field.name], new[field.name])
        for field in declared
        if field.name in changed and not {old[field.name], new[field.name]} <= _EMPTY
    )


def mask_phone(phone: str) -> str:
    """Return a telephone number reduced to its last two digits.

    >>> mask_phone("+8613812345678")
    '***78'
    """
    return f"***{phone[-2:]}"


def _field_change(field: RecordField[R], before: Value, after: Value) -> FieldChange:
    if field.mask is not None:
        before, after = (field.mask(value) if isinstance(value, str) else value for value in (before, after))
    return FieldChange(field.name, _bound(before, after), _bound(after, before))


def _bound(value: Value, other: Value) -> Value:
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
