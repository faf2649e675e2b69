"""The token service on bare Trio with h11: sockets in, the core's answers out, nothing between.

.venv/bin/python docs/examples/with_trio.py
"""

from functools import partial

import h11
import trio
from first_records import make_first_records, now
from token_service import TokenService

from ostiary_core import MemoryStore
from ostiary_core.http import LONGEST_FORM, Answer, Request

PATIENCE_SECONDS = 30


async def serve(
    service: TokenService,
    port: int = 0,
    *,
    task_status: trio.TaskStatus[list[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answer the four operations on a local port, until cancelled."""
    await trio.serve_tcp(partial(handle, service), port, host="127.0.0.1", task_status=task_status)


async def handle(service: TokenService, stream: trio.SocketStream) -> None:
    """One connection, request after request."""
    http = h11.Connection(h11.SERVER)
    try:
        source = stream.socket.getpeername()[0]
        while http.states == {h11.CLIENT: h11.IDLE, h11.SERVER: h11.IDLE}:
            with trio.fail_after(PATIENCE_SECONDS):
                request = await next_request(http, stream, source)
            if request is None:
                return
            answer = service.answer(request)
            head = h11.Response(status_code=answer.status, headers=list(answer.headers))
            await stream.send_all((http.send(head) or b"") + body_of(http, request, answer))
            if http.our_state is h11.DONE and http.their_state is h11.DONE:
                http.start_next_cycle()
    except (h11.RemoteProtocolError, trio.TooSlowError, trio.BrokenResourceError, OSError):
        pass  # not HTTP, or nobody there any more: the connection is closed
    finally:
        with trio.move_on_after(1):
            await stream.aclose()


async def next_request(http: h11.Connection, stream: trio.SocketStream, source: str) -> Request | None:
    """The next whole request, its body read no further than it may be long."""
    head, body = None, b""
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            if http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await stream.send_all(http.send(go_on) or b"")
            http.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        if isinstance(event, h11.ConnectionClosed):
            return None
        if head is not None and (isinstance(event, h11.EndOfMessage) or len(body) > LONGEST_FORM):
            method, path = head.method.decode("ascii"), head.target.split(b"?")[0].decode("latin-1")
            return Request.of(method, path, head.headers, body, source=source)


def body_of(http: h11.Connection, request: Request, answer: Answer) -> bytes:
    """The body as bytes to send; an answer to HEAD has none."""
    data = b"" if request.method == "HEAD" else http.send(h11.Data(data=answer.body)) or b""
    return data + (http.send(h11.EndOfMessage()) or b"")


if __name__ == "__main__":
    kept = MemoryStore()
    print(make_first_records(kept, now()).secrets)
    trio.run(serve, TokenService(kept), 8003)
