"""Values of the core that nobody can change: what type checkers see of `immutable`, at run time too."""

import pkgutil
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, is_dataclass
from importlib import import_module
from typing import Any

import ostiary_core


def immutable_classes() -> Iterator[type[Any]]:
    """Every class of the core that `immutable` made: no other dataclass asks for an unsafe hash."""
    for module in pkgutil.walk_packages(ostiary_core.__path__, "ostiary_core."):
        for kind in vars(import_module(module.name)).values():
            is_own = isinstance(kind, type) and kind.__module__ == module.name and is_dataclass(kind)
            if is_own and vars(kind)["__dataclass_params__"].unsafe_hash:
                yield kind


def freeze(kind: Any) -> None:
    """Let each field of an object be set once, as its class does when it makes one, and none be deleted."""
    kind.__setattr__, kind.__delattr__ = _set_once, _keep


def _set_once(item: Any, name: str, value: object) -> None:
    if hasattr(item, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(item, name, value)


def _keep(item: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
