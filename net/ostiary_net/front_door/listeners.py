"""Opens sockets that listen on addresses as an operator writes them."""

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

_BACKLOG: Final = 1_024
_UNIX: Final = "unix:"
_INHERITED: Final = "fd://"
_SOCKET_MODE: Final = 0o660
"""File mode of a Unix socket: to connect is to write, so a proxy is in the group."""


class AddressError(OSError):
    """An address cannot be listened on; the text names the reason for an administrator."""


@contextmanager
def open_listeners(bind: str) -> Iterator[list[socket.socket]]:
    """Open sockets that listen on `bind` for as long as the block runs.

    `bind` holds addresses with commas between them: `HOST:PORT`, `[IPv6]:PORT`, `unix:PATH`, or `fd://N` for
    a socket that the starting process already listens on. Port 0 takes a free port. Each address of a host
    name gets a socket. The file of `unix:PATH` is removed afterwards, unless another process listens there by
    then; a file that a dead process left behind is replaced. Raises `AddressError`.
    """
    sockets: list[socket.socket] = []
    files: dict[str, tuple[int, int, int] | None] = {}
    try:
        for address in bind.split(","):
            try:
                sockets += _open(address)
            except (OSError, ValueError) as error:
                raise AddressError(f"cannot listen on {address}: {error}") from error
            if address.startswith(_UNIX):
                path = address.removeprefix(_UNIX)
                files[path] = _read_identity(path)
        yield sockets
    finally:
        for each in sockets:
            each.close()
        for path, file in files.items():
            if file is not None and file == _read_identity(path):
                os.unlink(path)


def find_handed_over(environment: Mapping[str, str], process_id: int) -> str | None:
    """Return the addresses of the sockets that systemd handed over to a process; None without any.

    >>> find_handed_over({"LISTEN_FDS": "2", "LISTEN_PID": "7"}, 7)
    'fd://3,fd://4'
    """
    # sd_listen_fds(3): the variables are left to children, for whom the sockets are not.
    number = environment.get("LISTEN_FDS", "")
    if environment.get("LISTEN_PID") != str(process_id) or not number.isdecimal() or int(number) == 0:
        return None
    return ",".join(f"{_INHERITED}{_FIRST_HANDED_OVER + place}" for place in range(int(number)))


_FIRST_HANDED_OVER: Final = 3
"""Number of the first socket that systemd hands over (SD_LISTEN_FDS_START)."""


def _read_identity(path: str) -> tuple[int, int, int] | None:
    """Return device, inode and time of a socket's file; None without a file."""
    # An inode alone is used again for the next file.
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def format_listener_url(listener: socket.socket) -> str:
    """Return the URL at which a browser on this machine finds a listener.

    >>> with open_listeners("127.0.0.1:0") as [listener]:
    ...     format_listener_url(listener).rpartition(":")[0]
    'http://127.0.0.1'
    """
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"{_UNIX}{name}"
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _open(address: str) -> list[socket.socket]:
    if address.startswith(_INHERITED):
        return [_open_inherited(int(address.removeprefix(_INHERITED)))]
    if address.startswith(_UNIX):
        return [_open_at_path(address.removeprefix(_UNIX))]
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        raise ValueError("expected HOST:PORT, unix:PATH or fd://N")
    return _open_at_host(host.strip("[]"), int(port))


def _open_inherited(descriptor: int) -> socket.socket:
    inherited = socket.socket(fileno=descriptor)
    if not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        inherited.detach()
        raise ValueError("the descriptor is not a listening socket")
    inherited.setblocking(False)
    return inherited


def _open_at_path(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _lock_folder(os.path.dirname(path) or "."):
            _remove_dead_socket(path)
            os.fchmod(listener.fileno(), _SOCKET_MODE)  # before `bind`, so that no wider mode is ever there
            listener.bind(path)
            os.chmod(path, _SOCKET_MODE)  # the umask may have taken some of it away
            listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _lock_folder(folder: str) -> Iterator[None]:
    """Lock a folder, so that no other process takes a bound socket for dead before it listens."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a process may write to a folder that it cannot list
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_dead_socket(path: str) -> None:
    """Remove the socket of a process that has died. Raises `OSError` if a process listens on it."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return  # to bind there will say so
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.setblocking(False)
            try:
                caller.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
                return
            except BlockingIOError:
                pass  # its queue is full
        raise OSError(errno.EADDRINUSE, "another process listens on it")


def _open_at_host(host: str, port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            if port == 0 and sockets:
                address = (address[0], sockets[0].getsockname()[1], *address[2:])
            listener = socket.create_server(address, family=family, backlog=_BACKLOG)
            sockets.append(listener)
            listener.setblocking(False)
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets
