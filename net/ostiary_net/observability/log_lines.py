"""Writes log lines to standard error, those of one turn in one write.

To print costs a call of the system, and gives the interpreter's lock away while it lasts: measured, an eighth
of what the event loop does for a client-credentials grant, when every line was printed for itself.
"""

import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import structlog

__all__ = ["LINES", "LogLines", "first_line"]


class LogLines:
    """Writes the log lines of one process. Any thread may log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def msg(self, line: str) -> None:
        """Write a line, or several with breaks between them."""
        # What they tell of is kept, whether or not they can be written: a full disk, a reader that has gone.
        with self._lock, suppress(OSError, ValueError):
            # Looked up now, as it may be another one than when this was imported.
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    # Under the names of the levels, as structlog calls its loggers.
    log = debug = info = warn = warning = error = err = critical = fatal = failure = exception = msg

    def tell(self, level: str, entries: Iterable[dict[str, Any]]) -> None:
        """Write all entries at once, each as structlog's processors render it.

        A logger of structlog's would pass every entry on by its names, four times over: measured, a third of
        what a line costs.
        """
        processors = structlog.get_config()["processors"]
        lines: list[str] = []
        for entry in entries:
            made: Any = entry
            with suppress(structlog.DropEvent):
                for process in processors:
                    made = process(self, level, made)
                lines.append(str(made))
        if lines:
            self.msg("\n".join(lines))


LINES: Final = LogLines()
"""Standard error has no second owner in a process."""


def first_line(error: BaseException) -> str:
    """The text of an error on one line; drivers write paragraphs. They name the role, and no password."""
    return " ".join(str(error).split()) or type(error).__name__
