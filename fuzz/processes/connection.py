"""A connection of a third party: real sockets, HTTP/1.1 through h11, and a word for a lost answer."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import h11
import trio

__all__ = ["Heard", "Line", "Lost", "basic", "bearer"]

_MOST_BYTES: Final = 65_536
_PATIENCE_SECONDS: Final = 60.0
_FORM: Final = ("Content-Type", "application/x-www-form-urlencoded")
_JSON: Final = ("Content-Type", "application/json")
_BROKEN: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError)

Fields = list[tuple[str, str]]


class Lost(Exception):
    """No whole answer came: whether the request was heard is not known."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One whole answer."""

    status: int
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body's JSON object; empty where it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def error(self) -> str:
        """The code of a refusal in either form."""
        content = self.json()
        return str(content.get("error") or content.get("code") or "")

    @property
    def data(self) -> dict[str, Any]:
        """What is in the envelope."""
        found = self.json().get("data")
        return found if isinstance(found, dict) else {}


def basic(client_id: str, secret: str) -> tuple[str, str]:
    """The header field by which a client says who it is."""
    return "Authorization", "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


def bearer(token: str) -> tuple[str, str]:
    """The header field of a token."""
    return "Authorization", f"Bearer {token}"


class Line:
    """Keeps one connection open to whatever port it was told last."""

    def __init__(self) -> None:
        self.port = 0
        self._connected_to = 0
        self._stream: trio.SocketStream | None = None
        self._h11 = h11.Connection(h11.CLIENT)

    async def post_form(self, path: str, fields: Fields, **form: str | None) -> Heard:
        """A form to the token service; parameters that are None are left out."""
        given = {name: value for name, value in form.items() if value is not None}
        return await self.ask("POST", path, [_FORM, *fields], urlencode(given).encode())

    async def send_json(
        self, method: str, path: str, token: str | None, content: Mapping[str, object] | None = None
    ) -> Heard:
        """A call of the backend's own interface."""
        fields = [] if token is None else [bearer(token)]
        if content is None:
            return await self.ask(method, path, fields)
        return await self.ask(method, path, [_JSON, *fields], json.dumps(content).encode())

    async def ask(self, method: str, path: str, fields: Fields, body: bytes = b"") -> Heard:
        """The answer. Raises `Lost` where the connection ends before it is whole."""
        return await self.fire(await self.aim(method, path, fields, body))

    async def aim(self, method: str, path: str, fields: Fields, body: bytes = b"", *, held: int = 0) -> bytes:
        """Connect, and send the request but for its last `held` bytes, or nothing of it where that is 0; what
        is left, for `fire`. Raises `Lost`."""
        with self._losing():
            with trio.fail_after(_PATIENCE_SECONDS):
                if self._stream is None or self._connected_to != self.port:
                    await self._connect()
                assert self._stream is not None
                data = self._written(method, path, fields, body)
                if held:
                    await self._stream.send_all(data[:-held])
                return data[-held:]

    async def fire(self, data: bytes) -> Heard:
        """Send what is left of a request; the answer. Raises `Lost`."""
        assert self._stream is not None
        with self._losing():
            with trio.fail_after(_PATIENCE_SECONDS):
                await self._stream.send_all(data)
                return await self._heard(self._stream)

    @contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            self.hang_up()
            raise Lost from error

    async def _connect(self) -> None:
        self.hang_up()
        self._stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self._connected_to = self.port
        self._h11 = h11.Connection(h11.CLIENT)

    def _written(self, method: str, path: str, fields: Fields, body: bytes) -> bytes:
        length = [("Content-Length", str(len(body)))] if method != "GET" or body else []
        sent = h11.Request(
            method=method, target=path, headers=[("Host", f"127.0.0.1:{self.port}"), *length, *fields]
        )
        data = self._h11.send(sent) or b""
        if body:
            data += self._h11.send(h11.Data(data=body)) or b""
        return data + (self._h11.send(h11.EndOfMessage()) or b"")

    async def _heard(self, stream: trio.SocketStream) -> Heard:
        status, heard = 0, b""
        while True:
            event = self._h11.next_event()
            if event is h11.NEED_DATA:
                self._h11.receive_data(await stream.receive_some(_MOST_BYTES))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                heard += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                raise OSError("the connection ended")
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        else:
            self.hang_up()
        return Heard(status, heard)

    def hang_up(self) -> None:
        """Close the connection; the next request makes another."""
        if self._stream is not None:
            self._stream.socket.close()
            self._stream = None
