"""Writes the log to standard error; makes its entries of requests and errors."""

import logging
import os
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, ParamSpec

import structlog

from ostiary_core.model.audit import Origin, TraceId
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact
from ostiary_core.model.reply import BatchRefused, Refused
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import address_of

P = ParamSpec("P")

_REFUSALS: Final = (Refused, BatchRefused)
REFUSED: Final = "refused"
REFUSED_AT_THE_DOOR: Final = "refused at the door"
_LIMITED: Final = frozenset({REFUSED, REFUSED_AT_THE_DOOR})

_LINES_A_SOURCE: Final = 600
_LINES_IN_ALL: Final = 6_000
"""Most lines of refusals a minute: about 1 MB, and as many addresses to remember."""

_MOST_WAITING: Final = 1024 * 1024
"""Most characters that wait to be written."""
_LAST_LINES_SECONDS: Final = 1.0
"""Longest time that the end of a process waits for its last lines."""


class LogLines:
    """Writes the log lines of one process, those of one turn in one write. Any thread may log."""

    # A write is a system call, during which the interpreter's lock is given away. Measured: with one for each
    # line, it is an eighth of what the event loop does for a client-credentials grant.

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writer: _LineWriter | None = None
        self.dropped = 0
        """Count of lines that were not written, for want of a reader or of room."""

    def msg(self, line: str) -> None:
        """Write a line, or several with breaks between them."""
        if (writer := self._writer) is not None:
            writer.add(line)
            return
        if sys.stderr is None:
            return
        # A full disk, or a reader that has gone, must not fail a request whose turn is committed.
        with self._lock, suppress(OSError, ValueError):
            # Looked up at each call, as it may have been replaced since this was imported.
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    # structlog calls its logger's method by the name of the level.
    log = debug = info = warn = warning = error = err = critical = fatal = failure = exception = msg

    def write_entries(self, level: str, entries: Iterable[dict[str, Any]]) -> None:
        """Write all entries at once, each as structlog's processors render it."""
        # Not by structlog's logger, which passes each entry on as keywords, four times over: measured, a
        # third of what a line costs.
        if lines := self.render(level, entries):
            self.msg("\n".join(lines))

    def render(self, level: str, entries: Iterable[dict[str, Any]]) -> list[str]:
        """Return a line for each entry that no processor drops."""
        processors = structlog.get_config()["processors"]
        lines: list[str] = []
        for entry in entries:
            made: Any = entry
            try:
                for process in processors:
                    made = process(self, level, made)
            except structlog.DropEvent:
                continue
            lines.append(str(made))
        return lines

    @contextmanager
    def write_in_thread(self, descriptor: int | None = None) -> Iterator[None]:
        """Write in a thread while the block runs, so that no caller waits for the log's reader.

        For a reader that stands still, as a pager or a terminal may, at most `_MOST_WAITING` are held.
        """
        if descriptor is None:
            # Python sets None if it was closed at the start: its number may be a database's by now.
            stream = sys.__stderr__
            descriptor = os.open(os.devnull, os.O_WRONLY) if stream is None else stream.fileno()
        self._writer = writer = _LineWriter(self, descriptor)
        try:
            yield
        finally:
            is_written = self.flush(_LAST_LINES_SECONDS)
            self._writer = None
            if not is_written:
                # Whatever else is written at the end would wait for the same reader.
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            writer.close()

    def flush(self, seconds: float) -> bool:
        """Wait until all lines are written, at most so long; return whether they are."""
        return self._writer is None or self._writer.flush(seconds)


class _LineWriter:
    """A bounded queue of lines, and the thread that writes them."""

    def __init__(self, lines: LogLines, descriptor: int) -> None:
        self._lines = lines
        self._descriptor = descriptor
        self._changed = threading.Condition()
        self._waiting: list[str] = []
        self._size = 0
        """Count of characters that wait or are being written."""
        self._unreported = 0
        """Count of lines dropped since the log last reported it."""
        self._is_closed = False
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def add(self, line: str) -> None:
        """Queue a line, or several with breaks between them; drop them if too many wait."""
        with self._changed:
            if self._size + len(line) > _MOST_WAITING:
                self._count_dropped(line)
                return
            self._waiting.append(line)
            self._size += len(line)
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until all lines are written, at most so long; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._size, seconds)

    def close(self) -> None:
        """End the thread once it has nothing to write."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                lines, self._waiting = self._waiting, []
            is_written = self._write_text("\n".join(lines))
            with self._changed:
                self._size -= sum(map(len, lines))
                self._changed.notify_all()
                if not is_written:
                    for line in lines:
                        self._count_dropped(line)
                dropped = self._unreported
            if is_written and dropped:
                told = self._lines.render("warning", [{"event": "log lines were dropped", "count": dropped}])
                if not told or self._write_text("\n".join(told)):
                    with self._changed:
                        self._unreported -= dropped

    def _count_dropped(self, line: str) -> None:
        number = line.count("\n") + 1
        self._lines.dropped += number
        self._unreported += number

    def _write_text(self, text: str) -> bool:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        left = memoryview(f"{text}\n".encode(encoding, "backslashreplace"))
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:  # another process that shares the file has made it non-blocking
                writable = select.poll()
                writable.register(self._descriptor, select.POLLOUT)
                writable.poll()
            except OSError:  # a full disk, a reader that has gone
                return False
        return True


LINES: Final = LogLines()
"""Lines of this process, whose standard error has one owner."""


# --- requests


class RequestLog:
    """Logs committed decisions before they are answered: a line for each fact, or one for a refusal."""

    def __init__(self) -> None:
        self._log = structlog.get_logger("ostiary").bind()

    def log_decisions(self, origins: Sequence[Origin | None], decisions: Iterable[Decision]) -> None:
        """Log each fact in order, or a refusal without facts; nothing for an event without an origin."""
        if not self._log.is_enabled_for(logging.INFO):
            return
        entries: list[dict[str, Any]] = []
        for origin, decision in zip(origins, decisions, strict=True):
            if origin is None:
                continue
            if decision.facts:
                entries += [_make_entry(origin, fact) for fact in decision.facts]
            elif isinstance(decision.reply, _REFUSALS):
                entries.append(_make_refusal_entry(origin, decision.reply))
        if entries:
            LINES.write_entries("info", entries)


def log_refusal(why: Why, trace_id: TraceId, source: str, **more: str) -> None:
    """Log a request that was refused without a decision, under the trace id of its answer ("Errors")."""
    structlog.get_logger("ostiary").info(
        REFUSED, trace_id=str(trace_id), source=source, why=why.value, **more
    )


def log_door_refusal(status: int, trace_id: TraceId, source: str | None) -> None:
    """Log a request that reached no route: too large, too slow, not HTTP."""
    structlog.get_logger("ostiary").info(
        REFUSED_AT_THE_DOOR, trace_id=str(trace_id), source=source, status=status
    )


def _make_refusal_entry(origin: Origin, reply: Refused | BatchRefused) -> dict[str, Any]:
    why = reply.why if isinstance(reply, Refused) else reply.refusals[0][1].why
    return {"event": REFUSED, "trace_id": str(origin.trace_id), "source": origin.source, "why": why}


def _make_entry(origin: Origin, fact: Fact) -> dict[str, Any]:
    return {
        "event": fact.kind,
        "trace_id": str(origin.trace_id),
        "source": origin.source,
        "why": fact.why,
        "session_id": fact.session_id,
        "client_id": fact.client_id,
        "user_id": fact.user_id,
        "role_id": fact.role_id,
        "actor_id": fact.actor_id,
    }


# Any client may cause refusals, so their lines are bounded.


class RefusalLimit:
    """Admits so many refusals a minute to the log, by source address, and counts the others."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._minute = -1
        self._lines: dict[str, int] = {}
        self._left_in_all = 0
        self._not_reported = 0
        self.not_logged = 0
        """Count of refusals without a line."""

    def admit(self, entry: MutableMapping[str, Any]) -> bool:
        """Count an entry of the log, and return whether it may be written.

        An admitted refusal is given the number of those before it that were not.
        """
        if entry["event"] not in _LIMITED:
            return True
        minute = int(self._monotonic() // 60)
        if minute != self._minute:
            self._minute, self._left_in_all = minute, _LINES_IN_ALL
            self._lines.clear()
        source = address_of(entry.get("source") or "")
        lines = self._lines.get(source, 0)
        if lines >= _LINES_A_SOURCE or self._left_in_all <= 0:
            self.not_logged += 1
            self._not_reported += 1
            return False
        self._lines[source] = lines + 1
        self._left_in_all -= 1
        if self._not_reported:
            entry["not_logged"], self._not_reported = self._not_reported, 0
        return True


REFUSAL_LIMIT: Final = RefusalLimit()
"""Limit for the log of this process."""


# --- errors


def format_on_one_line(error: BaseException) -> str:
    """Return the text of an error on one line, as drivers write paragraphs."""
    return " ".join(str(error).split()) or type(error).__name__


def unwrap_error(error: BaseException) -> BaseException:
    """Return the one error inside the exception groups of nurseries."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        [error] = error.exceptions
    return error


def list_frames(error: BaseException) -> list[str]:
    """Return an error's last frames, innermost first, without its text, which may quote a client."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames)]


def observe(report: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Report to metrics, log or traces; log their errors, and raise none."""
    try:
        report(*args, **kwargs)
    except Exception as error:
        log_observer_fault(error)


def log_observer_fault(error: Exception) -> None:
    """Log the error of an observer, if the log works."""
    with suppress(Exception):  # the log itself may be what is broken
        structlog.get_logger("ostiary").error("not observed", cause=type(error).__name__)
