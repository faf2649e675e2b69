"""How a fault is planted in the server: something of a class or module is something else for a while."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from inspect import getattr_static
from typing import Any
from unittest.mock import patch

from fuzz.faults import FAULTS as IN_THE_RULES
from fuzz.faults.planting import Fault
from fuzz.simulation.storage import SharedMemory
from ostiary_net.sqlite import SQLiteStore

Original = Callable[..., Any]


def placed(owner: Any, name: str, substitute: Any) -> Any:
    """A context in which something of a class or module is something else."""
    place: Any = patch.object
    return place(owner, name, substitute)


def method(owner: Any, name: str, wrap: Callable[[Original], Original]) -> Callable[[], Any]:
    """A plant that wraps a function of a class, inherited or not, or of a module."""
    return lambda: placed(owner, name, wrap(getattr_static(owner, name)))


def function(where: str, substitute: Any) -> Callable[[], Any]:
    """A plant that puts `substitute` where one module looks a function up."""
    place: Any = patch
    return lambda: place(where, substitute)


def together(*plants: Callable[[], Any]) -> Callable[[], AbstractContextManager[None]]:
    """Several plants at once."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return planted


def both(name: str, wrap: Callable[[Original], Original]) -> Callable[[], AbstractContextManager[None]]:
    """The same mistake in both stores."""
    return together(method(SQLiteStore, name, wrap), method(SharedMemory, name, wrap))


@contextmanager
def named(*words: str) -> Iterator[None]:
    """A mistake of the rules, found by a word of its name."""
    fault = next(one for word in words for one in IN_THE_RULES if word in one.name)
    with fault.plant():
        yield


def rule(name: str) -> Fault:
    """A mistake in the rules, to be caught through HTTP."""
    return next(fault for fault in IN_THE_RULES if fault.name == name)
