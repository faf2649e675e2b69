"""Make a run depend on its seed alone: Trio's scheduler, entropy, threads, the garbage collector.

Trio shuffles tasks that are ready at the same time. With its deterministic scheduling (as Hypothesis and
pytest-trio switch it on) the shuffling draws from one `Random`, which is seeded here. A clock that jumps when
all tasks wait does not see threads, so work for threads runs in place. Every instance gets a seeded source of
entropy, and the system's own source refuses: draws from it would differ from run to run.
"""

import gc
import logging
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from typing import Any, NoReturn, Self, TypeVar
from unittest.mock import patch

import structlog
import trio
from trio._core import _run
from trio.testing import MockClock

from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS

T = TypeVar("T")


async def _in_place(sync_fn: Callable[..., T], *args: Any, **_: Any) -> T:
    """Run a function in place; replaces `trio.to_thread.run_sync`."""
    await trio.lowlevel.checkpoint()
    return sync_fn(*args)


class _Dated(datetime):
    """Replaces `datetime` in Werkzeug, which dates cookies by the wall clock."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """Return the time of the run."""
        return cls.fromtimestamp(BEGINNING_OF_TIME_MS / 1000 + trio.current_time(), tz)


def _refuse(count: int) -> NoReturn:
    """Refuse; replaces the system's source of entropy."""
    raise RuntimeError(f"{count} bytes are drawn past the source of entropy")


class _Lines(logging.Handler):
    """Appends the standard library's log to the server's own log lines."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


def run_determined(name: str, run: Callable[[], Awaitable[T]], log: list[str]) -> T:
    """Return the result of `run`, which depends on `name` alone; log lines go into `log`."""
    handler = _Lines(log)
    loggers = logging.getLogger()
    configured = structlog.get_config()
    state = _run._r.getstate()

    def keep(_: object, method: str, entry: structlog.typing.EventDict) -> str:
        log.append(f"{method} {entry!r}")
        raise structlog.DropEvent

    with ExitStack() as stack:
        stack.enter_context(patch.object(_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True))
        stack.enter_context(patch.object(trio.to_thread, "run_sync", _in_place))
        stack.enter_context(patch("werkzeug.http.datetime", _Dated))
        stack.enter_context(patch.object(os, "urandom", _refuse))
        stack.enter_context(patch.object(random, "_urandom", _refuse))  # used by `secrets`
        stack.callback(_run._r.setstate, state)
        _run._r.seed(name)
        stack.enter_context(_collecting_afterwards())
        stack.callback(structlog.configure, **configured)
        structlog.configure(processors=[keep], cache_logger_on_first_use=False)
        stack.callback(loggers.removeHandler, handler)
        loggers.addHandler(handler)
        return trio.run(run, clock=MockClock(autojump_threshold=0))


@contextmanager
def _collecting_afterwards() -> Iterator[None]:
    """Collect garbage after the run only, as finalizers would run at times that differ between processes.

    The server's own one-time collection, which also freezes all objects, is left out: it would take a tenth
    of each run and keep its objects for ever.
    """
    gc.disable()
    try:
        with patch.object(gc, "freeze", lambda: None), patch.object(gc, "collect", lambda *_: 0):
            yield
    finally:
        gc.enable()
