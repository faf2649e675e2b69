"""The world with which most stories of the core begin, and values that cannot be changed."""

import pkgutil
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, is_dataclass
from importlib import import_module
from typing import Any, Final

import pytest

import ostiary_core
from tests.support.story import World, given


@pytest.fixture
def world() -> World:
    """A client called app, and alice."""
    return given()


def _immutable_classes() -> Iterator[type[Any]]:
    """Yield every class of the core that `immutable` made: no other dataclass asks for an unsafe hash."""
    for module in pkgutil.walk_packages(ostiary_core.__path__, "ostiary_core."):
        for kind in vars(import_module(module.name)).values():
            is_own = isinstance(kind, type) and kind.__module__ == module.name and is_dataclass(kind)
            if is_own and vars(kind)["__dataclass_params__"].unsafe_hash:
                yield kind


IMMUTABLE: Final[list[Any]] = list(_immutable_classes())


def _set_once(item: Any, name: str, value: object) -> None:
    if hasattr(item, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(item, name, value)


def _keep(item: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Let each field of a value be set once, as its class does when it makes one, and none be deleted.

    The tests of the core decide every rule. In all tests this took a fifteenth of their time.
    """
    for kind in IMMUTABLE:
        kind.__setattr__, kind.__delattr__ = _set_once, _keep
    yield
    for kind in IMMUTABLE:
        del kind.__setattr__, kind.__delattr__
