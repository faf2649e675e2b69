"""Say what the stores of both databases stand on: their own transactions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from ostiary_core.loading.snapshot import Fetch
from ostiary_core.model.instant import Instant
from ostiary_net.sql.paging import Execute

T = TypeVar("T")

LONG_AGO: Final = Instant(0)
"""Instant for queries that do not depend on the time."""


class Reading(Protocol):
    """A read transaction, in which everything is of one moment."""

    @property
    def fetch(self) -> Fetch:
        """Fetch records for `load`; may return more than was asked for."""
        ...

    @property
    def execute(self) -> Execute:
        """Execute a statement and return its rows."""
        ...

    @property
    def now(self) -> Instant:
        """Return the time of the transaction."""
        ...


class Transactions(ABC):
    """The transactions of one database; any thread may call it."""

    @abstractmethod
    def _find(self, find: Callable[[Reading], T], now: Instant = LONG_AGO, *, takes_long: bool = False) -> T:
        """Return what `find` returns, in one read transaction; `takes_long` lifts the time limit."""

    @abstractmethod
    def _change(self, change: Callable[[Execute, Instant], T], now: Instant) -> T:
        """Return what `change` returns, once what it wrote is committed."""
