"""End a command with one line for what the machine does to it.

A full disk, a folder that cannot be written, a database that went away: nothing that a person can mend shows
a traceback. What does show one is a fault of the program.
"""

import os
from collections.abc import Callable
from typing import Final, TypeVar

import apsw

from ostiary_net.front_door.limits import CannotStart
from ostiary_net.observability.log import format_on_one_line, unwrap_error
from ostiary_net.sql.migrations import SchemaError
from ostiary_net.sqlite.file import describe_fault
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.server.logs import log_failed_start
from ostiary_web.streams import exit_with

T = TypeVar("T")

_STARTS: Final = frozenset({"serve", "work", "migrate"})
"""Commands that a machine runs, and whose standard error is a log."""


def end_with_one_line(run: Callable[[], T], command: Callable[[], str | None]) -> T:
    """Run a command, and exit with one line for what the machine does to it; `command` is its name."""
    with log_failed_start(os.environ, lambda: command() in _STARTS):
        try:
            return run()
        except Exception as error:
            words = describe_trouble(unwrap_error(error))
            if words is None:
                raise
            exit_with(words)


def describe_trouble(error: BaseException) -> str | None:
    """Describe on one line what the machine did; None for a fault of the program."""
    match error:
        case TurnFailed():
            return f"the store could not be used: {format_on_one_line(error.__cause__ or error)}"
        case OSError() | apsw.Error():
            return describe_fault(error)
        case CannotStart() | SchemaError():
            return format_on_one_line(error)
    # A server on a file needs no driver.
    is_of_driver = any(each.__module__.partition(".")[0] == "psycopg" for each in type(error).__mro__)
    return format_on_one_line(error) if is_of_driver else None
