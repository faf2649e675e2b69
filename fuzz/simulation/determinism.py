"""Makes one run depend on its seed alone: Trio's scheduler, entropy, threads, the collector.

Trio shuffles tasks that are ready at the same time. With its deterministic scheduling switched on (as
Hypothesis and pytest-trio do it) the shuffling draws from one `Random`, which is seeded here. A clock that
jumps when nobody has anything to do does not see threads, so whatever would run in one runs in place. Every
instance is given a seeded source of entropy, and the system's own refuses: what were drawn past the source
would differ from run to run.
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
import trio._core._run as scheduler
from trio.testing import MockClock

from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS

T = TypeVar("T")


async def _in_place(sync_fn: Callable[..., T], *args: Any, **_: Any) -> T:
    """What stands in for `trio.to_thread.run_sync`."""
    await trio.lowlevel.checkpoint()
    return sync_fn(*args)


class _Dated(datetime):
    """Werkzeug dates cookies by the wall clock."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """The time of the run."""
        return cls.fromtimestamp(BEGINNING_OF_TIME_MS / 1000 + trio.current_time(), tz)


def _refuse(count: int) -> NoReturn:
    """What stands in for the system's entropy."""
    raise RuntimeError(f"{count} bytes are drawn past the source of entropy")


class _Lines(logging.Handler):
    """The standard library's log, into the same lines as ours."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


def run_determined(name: str, run: Callable[[], Awaitable[T]], log: list[str]) -> T:
    """The result of `run`, which depends on `name` and nothing else; what is logged goes into `log`."""
    handler = _Lines(log)
    loggers = logging.getLogger()
    configured = structlog.get_config()
    state = scheduler._r.getstate()

    def keep(_: object, method: str, entry: structlog.typing.EventDict) -> str:
        log.append(f"{method} {entry!r}")
        raise structlog.DropEvent

    with ExitStack() as stack:
        stack.enter_context(patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True))
        stack.enter_context(patch.object(trio.to_thread, "run_sync", _in_place))
        stack.enter_context(patch("werkzeug.http.datetime", _Dated))
        stack.enter_context(patch.object(os, "urandom", _refuse))
        stack.enter_context(patch.object(random, "_urandom", _refuse))  # what `secrets` draws with
        stack.callback(scheduler._r.setstate, state)
        scheduler._r.seed(name)
        stack.enter_context(_collecting_afterwards())
        stack.callback(structlog.configure, **configured)
        structlog.configure(processors=[keep], cache_logger_on_first_use=False)
        stack.callback(loggers.removeHandler, handler)
        loggers.addHandler(handler)
        return trio.run(run, clock=MockClock(autojump_threshold=0))


@contextmanager
def _collecting_afterwards() -> Iterator[None]:
    """When garbage is collected differs from process to process, and finalizers run then. What a server
    does once in its life, collecting all and putting it beyond the collector's reach, would take a tenth of
    the run and keep it for ever."""
    gc.disable()
    try:
        with patch.object(gc, "freeze", lambda: None), patch.object(gc, "collect", lambda *_: 0):
            yield
    finally:
        gc.enable()
