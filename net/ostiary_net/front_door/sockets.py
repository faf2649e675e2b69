"""Reads and writes a plain socket with as few steps as Trio allows.

`SocketStream` tries to read before it waits, and checks in with the scheduler once more after reading; on a
kept-alive connection there is hardly ever anything to read at once. A write that the kernel takes whole needs
no deadline, and so no cancel scope.
"""

import os
from typing import Any

import trio
from hypercorn.trio.tcp_server import MAX_RECV

__all__ = ["receive_some", "send_at_once"]


async def receive_some(stream: Any) -> bytes:
    """Read the next bytes, in fewer steps than `stream.receive_some`, with the same errors."""
    if not isinstance(stream, trio.SocketStream):
        return bytes(await stream.receive_some(MAX_RECV))
    while True:
        if stream.socket.fileno() < 0:
            raise trio.ClosedResourceError("this connection was closed")
        await trio.lowlevel.wait_readable(stream.socket)
        try:
            return os.read(stream.socket.fileno(), MAX_RECV)
        except BlockingIOError:
            continue
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error


def send_at_once(stream: Any, data: bytes) -> bytes:
    """Send what can be sent without waiting, and return the rest. Raises as `stream.send_all` does."""
    if not isinstance(stream, trio.SocketStream):
        return data
    try:
        return data[os.write(stream.socket.fileno(), data) :]
    except BlockingIOError:
        return data
    except OSError as error:
        raise trio.BrokenResourceError(str(error)) from error
