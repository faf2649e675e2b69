"""Opens sockets that listen on an address as an operator writes it."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_BACKLOG: Final = 1_024
_SOCKET_MODE: Final = 0o660
"""To connect is to write: a proxy is in the group, and nobody else is let in."""


class AddressError(OSError):
    """An address cannot be listened on; the text is for an operator."""


@contextmanager
def open_listeners(bind: str) -> Iterator[list[socket.socket]]:
    """Open sockets that listen on `bind` for as long as the block runs.

    `bind` is `HOST:PORT`, `[IPv6]:PORT`, `unix:PATH`, or `fd://N` for a socket that the starting process
    already listens on.

    A port of 0 takes a free one. A host name may have several addresses; each gets a socket. The file of
    `unix:PATH` is for its owner and group, and is removed afterwards unless somebody else listens there by
    then. Raises `AddressError`.
    """
    sockets: list[socket.socket] = []
    file: tuple[int, int] | None = None
    try:
        try:
            _open(bind, sockets)
            file = _identity(bind)
        except (OSError, ValueError) as error:
            raise AddressError(f"cannot listen on {bind}: {error}") from error
        yield sockets
    finally:
        for each in sockets:
            each.close()
        if file is not None and file == _identity(bind):
            os.unlink(bind.removeprefix("unix:"))


def _identity(bind: str) -> tuple[int, int] | None:
    """Device and inode of the file of a Unix address; None where there is none, or for other addresses."""
    if not bind.startswith("unix:"):
        return None
    try:
        found = os.stat(bind.removeprefix("unix:"))
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def address_of(listener: socket.socket) -> str:
    """The address at which a browser on this machine finds a listener.

    >>> with open_listeners("127.0.0.1:0") as [listener]:
    ...     address_of(listener).rpartition(":")[0]
    'http://127.0.0.1'
    """
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _open(bind: str, sockets: list[socket.socket]) -> None:
    if bind.startswith("fd://"):
        sockets.append(_inherited(int(bind.removeprefix("fd://"))))
    elif bind.startswith("unix:"):
        sockets.append(_at_path(bind.removeprefix("unix:")))
    else:
        host, colon, port = bind.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit():
            raise ValueError("expected HOST:PORT, unix:PATH or fd://N")
        _at_host(host.strip("[]"), int(port), sockets)


def _inherited(descriptor: int) -> socket.socket:
    inherited = socket.socket(fileno=descriptor)
    if not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        inherited.detach()
        raise ValueError("the descriptor is no socket that listens")
    inherited.setblocking(False)
    return inherited


def _at_path(path: str) -> socket.socket:
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(path).st_mode):
            os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), _SOCKET_MODE)  # what it is made with is this and no more
        listener.bind(path)
        os.chmod(path, _SOCKET_MODE)  # and this, where the umask took some of it away
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _at_host(host: str, port: int, sockets: list[socket.socket]) -> None:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, _, _, _, address in dict.fromkeys(found):
        if port == 0 and sockets:
            address = (address[0], sockets[0].getsockname()[1], *address[2:])
        listener = socket.create_server(address, family=family, backlog=_BACKLOG)
        sockets.append(listener)
        listener.setblocking(False)
