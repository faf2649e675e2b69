"""The floor of Trio: one read, one write, no parsing beyond where a request ends.

python bare_trio.py PORT
"""

import sys
from functools import partial

import trio

BODY = b'{"active":true,"client_id":"client-0","scope":"user.read"}'.ljust(120)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 120\r\n\r\n" + BODY


async def answer(stream: trio.SocketStream) -> None:
    while data := await stream.receive_some(65536):
        if b"\r\n\r\n" in data:
            await stream.send_all(ANSWER)


if __name__ == "__main__":
    trio.run(partial(trio.serve_tcp, answer, int(sys.argv[1]), host="127.0.0.1"))
