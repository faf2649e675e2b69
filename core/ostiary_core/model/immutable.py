"""The class decorator of records, events and decisions: immutable values that are fast to make.

A frozen dataclass sets each field through `object.__setattr__`, most of its cost. Here type checkers refuse
to set a field, the tests of the core make it fail, and in service the fields are plain slots (decision 0028).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class a dataclass with slots, compared and hashed by its fields, which cannot be set again."""
    return dataclass(slots=True, kw_only=kw_only, unsafe_hash=True)
