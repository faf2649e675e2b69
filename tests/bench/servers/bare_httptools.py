"""The floor of Trio with a parser: httptools reads the request, and the same bytes answer it.

python bare_httptools.py PORT, with a Python that has both.
"""
# mypy: disable-error-code="import-not-found"

import sys
from functools import partial

import httptools
import trio

BODY = b'{"active":true,"client_id":"client-0","scope":"user.read"}'.ljust(120)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 120\r\n\r\n" + BODY


class Request:
    """What a server would keep of it."""

    def __init__(self) -> None:
        self.complete = False
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    def on_message_begin(self) -> None:
        self.headers.clear()
        self.body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete = True


async def answer(stream: trio.SocketStream) -> None:
    request = Request()
    parser = httptools.HttpRequestParser(request)
    while data := await stream.receive_some(65536):
        parser.feed_data(data)
        if request.complete:
            request.complete = False
            await stream.send_all(ANSWER)


if __name__ == "__main__":
    trio.run(partial(trio.serve_tcp, answer, int(sys.argv[1]), host="127.0.0.1"))
