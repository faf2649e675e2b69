"""Handles the signals that stop a process, and ends it in time whatever it is doing.

A thread reads each signal from the system, also while the event loop stands still: the first starts a timer,
a second ends the process at once.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

import structlog
import trio

from ostiary_net.observability.log import LINES

_log = structlog.get_logger("ostiary")

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop a server. A closed terminal sends SIGHUP; no setting is read again on it."""

_LAST_WORDS_SECONDS: Final = 0.5


def list_stop_signals() -> list[signal.Signals]:
    """Return those of `STOP_SIGNALS` that are heeded."""
    # `nohup` has a process ignore SIGHUP, and a shell has one in the background ignore SIGINT.
    return [
        each
        for each in STOP_SIGNALS
        if each is signal.SIGTERM or signal.getsignal(each) is not signal.SIG_IGN
    ]


class ForcedExit:
    """Ends the process from a thread, which needs no event loop, when nothing else does."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._is_over = threading.Event()
        self._is_armed = False

    def __enter__(self) -> "ForcedExit":
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def start_timer(self) -> None:
        """End the process so many seconds after the first call."""
        if self._seconds is not None and not self._is_armed:
            self._is_armed = True
            threading.Thread(target=self._end, args=(self._seconds,), name="forced exit", daemon=True).start()

    async def start_timer_after(self, stop: trio.Event) -> None:
        """Start the timer once `stop` is set, which may happen without a signal."""
        await stop.wait()
        self.start_timer()

    def _end(self, seconds: float) -> None:
        if not self._is_over.wait(seconds):
            _exit_now("the stop did not come to its end; the process ends now")


async def heed_signals(
    stop: trio.Event, forced_exit: ForcedExit, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Set `stop` and start the timer of `forced_exit` on a stop signal; exit on a second one."""
    stopping = list_stop_signals()
    heard: list[int] = []

    def handle(number: int) -> None:
        if number not in stopping:
            return
        heard.append(number)
        if len(heard) > 1:
            _exit_now("stopped at once by a second signal")
        forced_exit.start_timer()

    with trio.open_signal_receiver(*stopping) as signals, _listen_in_thread(handle):
        task_status.started()
        async for _ in signals:
            stop.set()


@contextmanager
def _listen_in_thread(handle: Callable[[int], None]) -> Iterator[None]:
    """Call `handle` in a thread with the number of each signal."""
    # Python writes the number of each signal to this descriptor (`signal.set_wakeup_fd`), whatever the event
    # loop is doing. It was Trio's, which waits for such bytes to wake up: so they are handed on.
    ours, its = socket.socketpair()
    its.setblocking(False)
    trios = signal.set_wakeup_fd(its.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_listen, args=(ours, trios, handle), name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(trios, warn_on_full_buffer=False)
        its.close()
        thread.join()
        ours.close()


def _listen(ours: socket.socket, trios: int, handle: Callable[[int], None]) -> None:
    while numbers := ours.recv(64):
        with suppress(OSError):  # it is full, so the event loop is woken already
            os.write(trios, numbers)
        for number in numbers:
            handle(number)


def _exit_now(words: str) -> None:
    """End the process, after a line in the log if that is possible."""
    # In a thread, as even the log may be what stands still.
    saying = threading.Thread(target=partial(_log_last_words, words), daemon=True)
    saying.start()
    saying.join(_LAST_WORDS_SECONDS)
    os._exit(1)


def _log_last_words(words: str) -> None:
    _log.error(words)
    LINES.flush(_LAST_WORDS_SECONDS)
