"""The class decorator of every record, event and decision: immutable values that are fast to make.

A frozen dataclass sets each field through `object.__setattr__`, most of what making one costs. Values are
`immutable` instead: type checkers refuse to set a field, the tests make it fail at run time, and in service
the fields are plain slots (docs/decisions/0028-one-spelling-of-constructors.md).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class a dataclass with slots, compared and hashed by its fields, which cannot be set again."""
    return dataclass(slots=True, kw_only=kw_only, unsafe_hash=True)
