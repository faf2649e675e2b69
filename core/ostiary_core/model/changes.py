"""Changes of a record for the audit trail: its declared fields before and after.

Rules, all in this file:

- Only declared fields appear, under their names in the interface. Passwords, secrets and their hashes are
  declared nowhere; the declaration of a masked field says so.
- A new record has its values after, a deleted one its values before, both without empty fields.
- A value is bounded. A longer list loses what both sides have first, so that the change stays visible.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

R = TypeVar("R")

Value = str | int | bool | tuple[str, ...] | None

LONGEST_VALUE: Final = 4_000
"""Most characters of one value; an entry has two of each field."""
CUT: Final = "…"
"""Mark of what was left out: the end of a text, or the last item of a list."""


class FieldChange(NamedTuple):
    """A field before and after; None if there was no record, or no value."""

    field: str
    """Name in the interface."""
    before: Value
    after: Value


def changes_to_json(changes: tuple[FieldChange, ...]) -> str:
    """Write changes as JSON, escaped to ASCII, as stores keep them and searches read them."""
    return json.dumps(changes, separators=(",", ":"))


def read_change(parts: Sequence[Any]) -> FieldChange:
    """Return a change from its JSON; of what only a later release tells, no more than this one can show.

    >>> read_change(["roleIds", None, ["auditor"]]).after, read_change(["limits", 1, {"a": 2}, "more"]).after
    (('auditor',), '{"a": 2}')
    """
    name, before, after, *_ = parts
    return FieldChange(name, _read_value(before), _read_value(after))


def _read_value(part: Any) -> Value:
    match part:
        case None | str() | int():
            return part
        case list() if all(isinstance(item, str) for item in part):
            return tuple(part)
        case _:
            return json.dumps(part)


def mask_phone(phone: str) -> str:
    """Return a telephone number reduced to its last two digits.

    >>> mask_phone("+8613812345678")
    '***78'
    """
    return f"***{phone[-2:]}"


def change_of(name: str, before: Value, after: Value, mask: Callable[[str], str] | None) -> FieldChange:
    """Return the change of a field, within bounds; `mask` returns what stands in place of a text."""
    if mask is not None:
        before, after = (mask(value) if isinstance(value, str) else value for value in (before, after))
    return FieldChange(name, _bound(before, after), _bound(after, before))


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
