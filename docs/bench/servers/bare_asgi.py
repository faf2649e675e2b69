"""The floor of ASGI: reads the body and answers 120 bytes, on stock Hypercorn's trio worker."""

from typing import Any

BODY = b'{"active":true,"client_id":"client-0","scope":"user.read"}'.ljust(120)
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"120")]


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})
