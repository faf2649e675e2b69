"""Where lines of the log go out: standard error, those that belong together in one write.

To print costs a call of the system, and gives the interpreter's lock away while it lasts: measured, an eighth
of what the event loop does for a client-credentials grant, when every line was printed for itself.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

__all__ = ["LINES", "LogLines"]


class LogLines:
    """The lines of one process. Any thread may log; only the event loop holds lines together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[str] | None = None

    def msg(self, line: str) -> None:
        """Write a line now, or with those it is held together with."""
        with self._lock:
            if self._held is None:
                _write(line + "\n")
            else:
                self._held.append(line)

    # Under the names of the levels, as structlog calls its loggers.
    log = debug = info = warn = warning = error = err = critical = fatal = failure = exception = msg

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold the lines of this block, which waits for nothing, and write them at its end."""
        with self._lock:
            self._held = []
        try:
            yield
        finally:
            with self._lock:
                held, self._held = self._held, None
                if held:
                    _write("\n".join(held) + "\n")


def _write(text: str) -> None:
    # What the lines tell of is kept, whether or not they can be written: a full disk, a reader that has gone.
    with suppress(OSError, ValueError):
        # Looked up now, as it may be another one than when this was imported.
        sys.stderr.write(text)
        sys.stderr.flush()


LINES: Final = LogLines()
"""Standard error has no second owner in a process."""
