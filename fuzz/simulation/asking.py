"""One request over one connection, with everything that can go wrong on the way."""

from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

import h11
import trio

from fuzz.simulation.connections import Line
from fuzz.simulation.plan import CUT_BEFORE, CUT_IN, LOST, Mishap
from fuzz.simulation.requests import FORM, HOST, Request
from fuzz.simulation.responses import Heard
from fuzz.simulation.witness import OPERATION

__all__ = ["ASK_SECONDS", "Asked", "Garbled", "ask", "garbage", "hear", "spoken"]

ASK_SECONDS = 100.0
"""Longer than any limit of the front door: an answer, or the end of the connection, comes sooner."""


class Garbled(Exception):
    """What the server sent is no HTTP/1.1."""


class Asked(NamedTuple):
    """A request as bytes, and h11's client side that waits for its answer."""

    connection: h11.Connection
    data: bytes


def spoken(request: Request, operation: int, more: list[tuple[str, str]]) -> Asked:
    """The bytes of a request, which says somewhere which operation it is.

    A form says it in a field of its own, which the server ignores as any it does not know, so that a backend
    sends the very same head again and again, as backends do; everything else in a header field.
    """
    connection = h11.Connection(h11.CLIENT)
    fields, body = [("Host", HOST), *request.fields, *more], request.body
    if ("Content-Type", FORM) in fields:
        body += b"&%s=%06d" % (OPERATION, operation) if body else b"%s=%06d" % (OPERATION, operation)
    else:
        fields.append((OPERATION.decode(), str(operation)))
    if body or request.method in ("POST", "PUT"):
        fields.append(("Content-Length", str(len(body))))
    head = h11.Request(method=request.method, target=request.target, headers=fields)
    data = connection.send(head) or b""
    if body:
        data += connection.send(h11.Data(data=body)) or b""
    return Asked(connection, data + (connection.send(h11.EndOfMessage()) or b""))


async def ask(line: Line, asked: Asked, mishap: Mishap, random: Random) -> Heard | None:
    """The answer; None where the caller never heard one. Raises `Garbled`, `trio.TooSlowError`."""
    with trio.fail_after(ASK_SECONDS):
        data = asked.data
        if mishap.fate == CUT_BEFORE:
            data = data[: random.randrange(len(data))]
        # Where the server closes while this is sent, what it answered by then can still be read.
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await line.say(data, pieces=mishap.torn, random=random)
        if mishap.fate == CUT_BEFORE:
            line.hang_up()
            return None
        if mishap.fate == LOST:
            if random.random() < 0.5:
                await trio.sleep(random.choice((0.0, 0.001, 0.01)))
            line.hang_up()
            return None
        most = random.randrange(1, 150) if mishap.fate == CUT_IN else None
        return await hear(line, asked.connection, random, most)


async def hear(
    line: Line, connection: h11.Connection, random: Random, most: int | None = None
) -> Heard | None:
    """The next answer on a connection; None where it ends first, or is cut after `most` bytes."""
    status, fields, body, heard = 0, {}, b"", 0
    data, line.rest = line.rest, b""
    while True:
        try:
            if data:
                connection.receive_data(data)
            while True:
                event: Any = connection.next_event()
                if isinstance(event, h11.Response):
                    status = event.status_code
                    fields = {name.decode(): value.decode("latin-1") for name, value in event.headers}
                elif isinstance(event, h11.Data):
                    body += bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    line.rest = connection.trailing_data[0]
                    if fields.get("connection", "").lower() == "close":
                        line.usable = False
                    return Heard(status, fields, body)
                elif not isinstance(event, h11.InformationalResponse):
                    break
        except h11.RemoteProtocolError as error:
            if heard or data:
                raise Garbled(str(error)) from error
            return None
        if most is not None and heard >= most:
            line.hang_up()
            return None
        if line.slow:
            await trio.sleep(random.choice((0.0, 0.01, 1.0)))
        data = await line.hear(random.randrange(1, 200) if line.slow else most or 65_536)
        heard += len(data)
        if not data:
            line.usable = False
            return None


async def garbage(line: Line, random: Random) -> None:
    """Bytes of a stranger; whatever is said to them, the connection ends."""
    kinds = (
        lambda: random.randbytes(random.randrange(1, 300)),
        lambda: (
            b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        lambda: b"GET /api/oauth2/userinfo HTTP/1.1\r\nHost: a..b\r\n\r\n",
        lambda: b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n",
        lambda: b"POST /api/oauth2/revoke HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
        lambda: (
            b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
        ),
    )
    with trio.move_on_after(ASK_SECONDS):
        try:
            await line.say(random.choice(kinds)())
            await trio.sleep(random.choice((0.0, 3.0, 40.0)))
            while await line.hear():
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
    line.hang_up()
