"""Parts that all applications of these tests share; conftest.py imports more than a worker needs."""

from ostiary_net.front_door.limits import Fields, Receive, Scope, Send


def refusal(status: int, scope: Scope, trace_id: str) -> tuple[Fields, bytes]:
    body = b"refused %d at %s" % (status, scope["path"].encode())
    return [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))], body


async def answer_lifespan(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
