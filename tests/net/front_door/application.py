"""What all applications behind the doors of these tests do; conftest.py would cost a worker its imports."""

from ostiary_net.front_door.limits import Fields, Receive, Scope, Send


def refusal(status: int, scope: Scope, trace_id: str) -> tuple[Fields, bytes]:
    body = b"refused %d at %s" % (status, scope["path"].encode())
    return [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))], body


async def answer_lifespan(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
