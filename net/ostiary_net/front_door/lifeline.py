"""Tells a supervisor, or systemd, that a process serves, and then that it lives.

A socket pair joins a supervisor and each of its workers. The system closes an end however its process ends,
and the other end learns of it: so no worker lives on, holding the address, after its parent was killed.
"""

import math
import os
import socket
from contextlib import suppress
from typing import Final

import trio

VARIABLE: Final = "OSTIARY_LIFELINE"
"""Environment variable with the descriptor of a worker's end."""

WORKER: Final = "OSTIARY_WORKER"
"""Environment variable with a worker's number, from 0."""

_NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"
_SERVES: Final = b"1"

_MOST_BYTES: Final = 65_536
"""More signs of life than lie in a socket."""

BEAT_SECONDS: Final = 2.0
"""Interval between two signs of life."""

_MOST_MISSED: Final = 15
"""Looks in a row without a sign of life by which a worker counts as stopped: 30 s, as a turn ends in 10."""


class Lifeline:
    """One end of the socket pair between a supervisor and a worker."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end

    def __enter__(self) -> "Lifeline":
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def announce_ready(self) -> None:
        """Tell the supervisor that this worker serves, or still does."""
        # The supervisor has gone, as `wait` returns, or has itself stood still until the socket was full.
        with suppress(ConnectionError, BlockingIOError):
            self._end.send(_SERVES)

    async def wait_for_silence(self) -> None:
        """Wait until the other end has given no sign of life for a while."""
        # Looks are counted, and no time: if this process or the whole machine stood still, the other end
        # could give none, and has missed one look by that.
        missed = 0
        while missed < _MOST_MISSED:
            await trio.sleep(BEAT_SECONDS)
            missed = 0 if self._drain() else missed + 1

    def _drain(self) -> bool:
        """Take all that has come by now; return whether there was anything."""
        try:
            return self._end.recv(_MOST_BYTES) != b""
        except OSError:
            return False

    async def wait(self) -> bool:
        """Wait for a byte from the other end; return False when that end has gone."""
        await trio.lowlevel.wait_readable(self._end)
        try:
            return self._end.recv(1) == _SERVES
        except ConnectionError:
            return False

    async def beat(self) -> None:
        """Give the supervisor a sign of life again and again."""
        while True:
            await trio.sleep(BEAT_SECONDS)
            self.announce_ready()


def take_inherited_lifeline() -> Lifeline | None:
    """Return this worker's end of the pair, which no child inherits; None without a supervisor."""
    descriptor = os.environ.pop(VARIABLE, None)
    if descriptor is None:
        return None
    end = socket.socket(fileno=int(descriptor))
    end.set_inheritable(False)
    return Lifeline(end)


def notify_manager(state: str) -> None:
    """Send systemd `READY=1` or `STOPPING=1`, if it listens (sd_notify(3), `Type=notify`); never fail."""
    address = os.environ.get(_NOTIFY_SOCKET, "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # in the abstract namespace
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.setblocking(False)
        manager.sendto(state.encode(), address)


async def feed_watchdog() -> None:
    """Send systemd `WATCHDOG=1` thrice in the time that it allows, if it watches this process."""
    seconds = _read_watchdog_seconds()
    while seconds < math.inf:
        notify_manager("WATCHDOG=1")
        await trio.sleep(seconds / 3)


def _read_watchdog_seconds() -> float:
    """Return the seconds of silence that systemd allows (sd_watchdog_enabled(3)); else infinity."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    is_for_us = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not (is_for_us and microseconds.isascii() and microseconds.isdigit() and int(microseconds)):
        return math.inf
    return int(microseconds) / 1e6
