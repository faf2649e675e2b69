"""How a fault is planted: the core's own functions are substituted from outside, and put back afterwards."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

from ostiary_core.decide import RULES

WHERE = ("ostiary_core", "fuzz.rules.driver", "fuzz.rules.invariant_checker")
Plant = Callable[[], AbstractContextManager[None]]
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A known mistake, and how to make it."""

    name: str
    sentence: str
    plant: Plant


def _module(name: str) -> ModuleType:
    """The module of the core with this name, in whatever room it is."""
    rooms = [key for key in sys.modules if key.startswith("ostiary_core.") and "conformance" not in key]
    [found] = [sys.modules[key] for key in rooms if key.endswith(f".{name}")]
    return found


@contextmanager
def replaced(module: str, name: str, substitute: Callable[..., Any]) -> Iterator[None]:
    """`name` of a module of the core is something else for a while, in the core and to whoever drives it."""
    original = vars(_module(module))[name]
    with ExitStack() as stack:
        for each in [one for key, one in sys.modules.items() if key.startswith(WHERE)]:
            for bound, value in list(vars(each).items()):
                if value is original:
                    stack.enter_context(patch.object(each, bound, substitute))
        rows = {kind: rule for kind, rule in RULES.items() if rule.handler is original}
        stack.enter_context(
            patch.dict(RULES, {kind: rule._replace(handler=substitute) for kind, rule in rows.items()})
        )
        yield


def wrapped(module: str, name: str, wrap: Wrap) -> Plant:
    """A plant that puts `wrap(original)` in the place of a function."""

    def plant() -> AbstractContextManager[None]:
        return replaced(module, name, wrap(vars(_module(module))[name]))

    return plant
