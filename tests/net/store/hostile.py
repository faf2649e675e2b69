"""Records of every kind with any value that a field may hold, made from the classes themselves."""

from dataclasses import fields
from enum import Enum
from types import UnionType
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from ostiary_core.model.records import Record
from ostiary_net.sql.columns import TABLES

__all__ = ["any_record", "records_of", "text"]

_BEYOND_INT32 = 2**53

_NASTY = (
    "",
    " ",
    "'; DROP TABLE users; --",
    '"quoted"',
    "%_\\",
    "\u202eright to left",
    "名字",
    "\U0001f510",
    "e\u0301 and é",
    "line\nbreak\ttab",
    "\x7f\x01",
    "x" * 300,
)


def text() -> st.SearchStrategy[str]:
    """Text that has UTF-8 and no NUL, which no field lets through; what may well be in it, more often."""
    drawn = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
    return drawn | st.sampled_from(_NASTY)


def _values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type."""
    if isinstance(kind, NewType):
        if kind.__name__ == "Digest":
            return st.binary(min_size=32, max_size=32)
        return _values(kind.__supertype__)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of([_values(member) for member in get_args(kind)])
    if kind is type(None):
        return st.none()
    if kind is str:
        return text()
    if kind is bytes:
        return st.binary(max_size=40)
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(0, _BEYOND_INT32)
    if get_origin(kind) is tuple:
        return st.lists(_values(get_args(kind)[0]), max_size=3).map(tuple)
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if issubclass(kind, tuple):
        hints = get_type_hints(kind)
        return st.builds(kind, *(_values(hints[name]) for name in hints))
    raise TypeError(f"no values are known for {kind}")


def records_of(record: type[Any]) -> st.SearchStrategy[Any]:
    """Any record of one class."""
    hints = get_type_hints(record)
    return st.builds(record, **{field.name: _values(hints[field.name]) for field in fields(record)})


def any_record() -> st.SearchStrategy[Record]:
    """Any record there can be."""
    return st.one_of([records_of(stored.record) for stored in TABLES.values()])
