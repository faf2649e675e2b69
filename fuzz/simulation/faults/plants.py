"""Plant a fault in both stores of the simulation."""

from collections.abc import Callable
from functools import partial
from inspect import getattr_static
from typing import Any
from unittest.mock import patch

from fuzz.faults.planting import Plant, combine_plants
from fuzz.simulation.storage import SharedMemory
from ostiary_net.sqlite import SQLiteStore

Original = Callable[..., Any]


def both(name: str, wrap: Callable[[Original], Original]) -> Plant:
    """Return a plant that wraps a function of both stores, inherited or not."""
    stores: tuple[Any, ...] = (SQLiteStore, SharedMemory)
    wrapped = ((store, wrap(getattr_static(store, name))) for store in stores)
    return combine_plants(*(partial(patch.object, store, name, changed) for store, changed in wrapped))
