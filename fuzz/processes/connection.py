"""A third party's connection to a real server: real sockets, and a word for a lost answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Self

import trio

from fuzz.shared.http_client import (
    Fields,
    HttpClient,
    NotHttp,
    Request,
    Response,
    form_request,
    json_request,
)

_MOST_BYTES: Final = 65_536
_PATIENCE_SECONDS: Final = 60.0
_BROKEN: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, NotHttp)


class Lost(Exception):
    """No whole answer came: whether the request was heard is not known."""


class Connection:
    """Keeps one connection open to whatever port it was told last."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._connected_to = 0
        self._stream: trio.SocketStream | None = None
        self._http = HttpClient("")

    async def post_form(self, path: str, fields: Fields, **form: str | None) -> Response:
        """A form to the token service; parameters that are None are left out. Raises `Lost`."""
        return await self.exchange(form_request(path, fields, form))

    async def send_json(
        self, method: str, path: str, login: str | None, content: Mapping[str, object] | None = None
    ) -> Response:
        """A call of the backend's own interface. Raises `Lost`."""
        return await self.exchange(json_request(method, path, login, content))

    async def exchange(self, request: Request) -> Response:
        """The response. Raises `Lost` where the connection ends before it is whole."""
        return await self.finish(await self.begin(request))

    async def begin(self, request: Request, *, held: int = 0) -> bytes:
        """Connect, and send the request but for its last `held` bytes, or nothing of it where that is 0; what
        is left, for `finish`. Raises `Lost`."""
        with self._losing():
            with trio.fail_after(_PATIENCE_SECONDS):
                stream = await self._connect()
                data = self._http.write(request)
                if held:
                    await stream.send_all(data[:-held])
                return data[-held:]

    async def finish(self, data: bytes) -> Response:
        """Send what is left of a request; the response. Raises `Lost`."""
        assert self._stream is not None
        with self._losing():
            with trio.fail_after(_PATIENCE_SECONDS):
                await self._stream.send_all(data)
                while (response := self._http.next_response()) is None:
                    if self._http.is_over:
                        raise OSError("the connection ended")
                    self._http.receive(bytes(await self._stream.receive_some(_MOST_BYTES)))
        if not self._http.is_kept:
            self.close()
        return response

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        if self._stream is not None:
            self._stream.socket.close()
            self._stream = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            self.close()
            raise Lost from error

    async def _connect(self) -> trio.SocketStream:
        if self._stream is None or self._connected_to != self.port:
            self.close()
            self._stream = await trio.open_tcp_stream("127.0.0.1", self.port)
            self._connected_to = self.port
            self._http = HttpClient(f"127.0.0.1:{self.port}")
        return self._stream
