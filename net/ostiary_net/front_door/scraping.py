"""Serves `GET /metrics` to Prometheus on an address of its own.

Each worker process counts for itself, on its own port: the configured one and those right after it.
"""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

import h11
import trio

from ostiary_net.front_door.lifeline import WORKER
from ostiary_net.front_door.listeners import AddressError, open_listeners
from ostiary_net.observability.metrics import CONTENT_TYPE, Metrics

_CONNECTION_SECONDS: Final = 10.0
_MOST_BYTES: Final = 16 * 1024


@contextmanager
def open_metrics_listeners(
    bind: str | None, environment: Mapping[str, str] = os.environ
) -> Iterator[list[socket.socket]]:
    """Open the sockets for this process's metrics; none without an address. Raises `AddressError`."""
    if bind is None:
        yield []
        return
    host, _, port = bind.rpartition(":")
    number = int(port) and int(port) + int(environment.get(WORKER, "0"))
    if number > 65_535:
        raise AddressError(f"cannot listen on {host}:{number}: there is no such port")
    with open_listeners(f"{host}:{number}") as listeners:
        yield listeners


async def serve_metrics(listeners: list[socket.socket], metrics: Metrics) -> None:
    """Answer requests for the metrics for ever."""
    streams = [trio.SocketListener(trio.socket.from_stdlib_socket(each.dup())) for each in listeners]
    await trio.serve_listeners(partial(_answer, metrics), streams)


async def _answer(metrics: Metrics, stream: trio.SocketStream) -> None:
    """Answer the one request of a connection, and drop a client that is slow or breaks off."""
    async with stream:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_BYTES)
        with trio.move_on_after(_CONNECTION_SECONDS):
            try:
                request = await _read_request(connection, stream)
                status, content_type, body = _make_content(request, metrics)
                fields = [
                    ("Content-Type", content_type),
                    ("Content-Length", str(len(body))),
                    ("Connection", "close"),
                    ("X-Content-Type-Options", "nosniff"),
                ]
                is_head = request is not None and request.method == b"HEAD"
                data = connection.send(h11.Response(status_code=status, headers=fields)) or b""
                if not is_head:
                    data += connection.send(h11.Data(data=body)) or b""
                await stream.send_all(data)
            except (h11.ProtocolError, trio.BrokenResourceError, trio.ClosedResourceError):
                return


async def _read_request(connection: h11.Connection, stream: trio.SocketStream) -> h11.Request | None:
    """Read the request."""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            raise h11.RemoteProtocolError("no request")
        connection.receive_data(bytes(await stream.receive_some(_MOST_BYTES)))


def _make_content(request: h11.Request | None, metrics: Metrics) -> tuple[int, str, bytes]:
    plain = "text/plain; charset=utf-8"
    if request is None or request.target.partition(b"?")[0] != b"/metrics":
        return 404, plain, b"Only /metrics is here.\n"
    if request.method not in (b"GET", b"HEAD"):
        return 405, plain, b"Only GET is understood.\n"
    return 200, CONTENT_TYPE, metrics.write_exposition().encode()
