"""Tells a supervisor, or systemd, that a process serves.

A socket pair joins a supervisor and each of its workers. The system closes an end however its process ends,
and the other end learns of it: so no worker lives on, holding the address, after its parent was killed.
"""

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
        """Tell the supervisor that this worker serves."""
        with suppress(ConnectionError):  # the supervisor has gone, as `wait` returns
            self._end.send(_SERVES)

    async def wait(self) -> bool:
        """Wait for a byte from the other end; return False when that end has gone."""
        await trio.lowlevel.wait_readable(self._end)
        try:
            return self._end.recv(1) == _SERVES
        except ConnectionError:
            return False


def take_inherited_lifeline() -> Lifeline | None:
    """Return this worker's end of the pair, which no child inherits; None without a supervisor."""
    descriptor = os.environ.pop(VARIABLE, None)
    if descriptor is None:
        return None
    end = socket.socket(fileno=int(descriptor))
    end.set_inheritable(False)
    return Lifeline(end)


def notify_manager(state: str) -> None:
    """Send systemd `READY=1` or `STOPPING=1`, where it listens (sd_notify(3), `Type=notify`); never fail."""
    address = os.environ.get(_NOTIFY_SOCKET, "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # in the abstract namespace
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.setblocking(False)
        manager.sendto(state.encode(), address)
