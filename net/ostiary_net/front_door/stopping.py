"""The signals that stop a process, and the end that comes after them whatever the process is doing.

A thread hears of each signal from the system itself, also while the event loop stands still: it lets the end
be waited for so long and no longer, and a second signal ends the process at once.
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
"""The signals that stop a server. Nothing is read anew on SIGHUP, and a terminal that goes sends it."""

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
    """Ends the process from a thread when nothing else does: a thread needs no event loop."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._is_over = threading.Event()
        self._is_armed = False

    def __enter__(self) -> "ForcedExit":
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def start_timer(self) -> None:
        """Let the process end in so many seconds, counted from the first call."""
        if self._seconds is not None and not self._is_armed:
            self._is_armed = True
            threading.Thread(target=self._end, args=(self._seconds,), name="forced exit", daemon=True).start()

    async def start_timer_after(self, stop: trio.Event) -> None:
        """Arm it once `stop` is set, which it may be without a signal."""
        await stop.wait()
        self.start_timer()

    def _end(self, seconds: float) -> None:
        if not self._is_over.wait(seconds):
            _exit_now("the stop did not come to its end; the process ends now")


async def heed_signals(
    stop: trio.Event, forced_exit: ForcedExit, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Set `stop` on a stopping signal and start_timer `forced_exit`; a second one ends the process."""
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
    """Call `handle` in a thread with the number of each signal that comes, as the system writes it."""
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
    """End the process, having said so if that is possible."""
    # In a thread, as even the log may be what stands still.
    saying = threading.Thread(target=partial(_say, words), daemon=True)
    saying.start()
    saying.join(_LAST_WORDS_SECONDS)
    os._exit(1)


def _say(words: str) -> None:
    _log.error(words)
    LINES.flush(_LAST_WORDS_SECONDS)
