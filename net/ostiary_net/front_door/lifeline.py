"""How a process tells who started it that it serves: a supervisor its workers, and systemd.

Between a supervisor and each of its workers there is a socket pair.
Over it a worker tells that it serves. Each end learns from the other's closing, which the system does
whatever way a process ends: so no worker lives on, holding the address, after its parent was killed.
"""

import os
import socket
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Final

import trio

VARIABLE: Final = "OSTIARY_LIFELINE"
"""The environment variable that names the descriptor of a worker's end."""

WORKER: Final = "OSTIARY_WORKER"
"""The environment variable that tells a worker its number, from 0."""

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
        """Tell the supervisor that this worker serves. Of a supervisor that has gone, `wait` tells."""
        with suppress(ConnectionError):
            self._end.send(_SERVES)

    async def wait(self) -> bool:
        """Wait for the other end to say something. False when it has gone."""
        await trio.lowlevel.wait_readable(self._end)
        try:
            return self._end.recv(1) == _SERVES
        except ConnectionError:
            return False


def take_inherited_lifeline(environment: MutableMapping[str, str] = os.environ) -> Lifeline | None:
    """This worker's end of the pair; None in a process that no supervisor started.

    No child of this process inherits it again.
    """
    descriptor = environment.pop(VARIABLE, None)
    if descriptor is None:
        return None
    end = socket.socket(fileno=int(descriptor))
    end.set_inheritable(False)
    return Lifeline(end)


def notify_manager(state: str, environment: Mapping[str, str] = os.environ) -> None:
    """Tell systemd `READY=1` or `STOP_SIGNALS=1`, where it wants to be told (sd_notify(3), `Type=notify`).

    One that cannot be told changes nothing.
    """
    address = environment.get(_NOTIFY_SOCKET, "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # in the abstract namespace
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.setblocking(False)
        manager.sendto(state.encode(), address)
