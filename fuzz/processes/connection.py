"""A client's connection to a real server: real sockets, and an exception for a lost answer."""

from typing import Final, Self

import trio

from fuzz.shared.calls import Answer, Call
from fuzz.shared.http_client import Fields, HttpClient, NotHttp, Request, Response, form_request
from fuzz.shared.requests import request_of
from fuzz.shared.responses import answer_of

_MOST_BYTES: Final = 65_536
_PATIENCE_SECONDS: Final = 60.0
_BROKEN: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, NotHttp)


class Lost(Exception):
    """No whole answer came: it is unknown whether the request was received."""


class Connection:
    """Keeps one connection open to the port that was set last."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._connected_to = 0
        self._stream: trio.SocketStream | None = None
        self._http = HttpClient("")

    async def post_form(self, path: str, fields: Fields, **form: str | None) -> Response:
        """Post a form to the token service; parameters that are None are left out. Raises `Lost`."""
        return await self.exchange(form_request(path, fields, form))

    async def ask(self, call: Call) -> Answer:
        """Return the interface's answer to a call. Raises `Lost`."""
        return answer_of(call, await self.exchange(request_of(call, by_form=False)))

    async def exchange(self, request: Request) -> Response:
        """Return the response. Raises `Lost` if the connection ends before it is whole."""
        try:
            with trio.fail_after(_PATIENCE_SECONDS):
                stream = await self._connect()
                await stream.send_all(self._http.write(request))
                while (response := self._http.next_response()) is None:
                    if self._http.is_over:
                        raise OSError("the connection ended")
                    self._http.receive(bytes(await stream.receive_some(_MOST_BYTES)))
        except _BROKEN as error:
            self.close()
            raise Lost from error
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

    async def _connect(self) -> trio.SocketStream:
        if self._stream is None or self._connected_to != self.port:
            self.close()
            self._stream = await trio.open_tcp_stream("127.0.0.1", self.port)
            self._connected_to = self.port
            self._http = HttpClient(f"127.0.0.1:{self.port}")
        return self._stream
