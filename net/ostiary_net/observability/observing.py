"""Calls metrics, log and traces so that a fault of theirs changes no answer."""

from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec

import structlog

__all__ = ["note_fault", "observe"]

P = ParamSpec("P")


def observe(report: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Report to metrics, log or traces; whatever is wrong with them, this raises nothing."""
    try:
        report(*args, **kwargs)
    except Exception as error:
        note_fault(error)


def note_fault(error: Exception) -> None:
    """Tell the log what was wrong with an observer, if it can be told."""
    with suppress(Exception):  # the log itself may be what is broken
        structlog.get_logger("ostiary").error("not observed", cause=type(error).__name__)
