"""The token service on asyncio: a bare ASGI application, served here by uvicorn.

    .venv/bin/python docs/examples/with_asyncio.py

A turn of the in-memory store takes microseconds, so it is taken where the request is. A store that waits
for a disk belongs into `asyncio.to_thread`, one call at a time.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from first_records import make_first_records, now
from token_service import TokenService

from ostiary_core import MemoryStore
from ostiary_core.http import LONGEST_FORM, Request

Application = Callable[..., Awaitable[None]]


def make_application(service: TokenService) -> Application:
    """The four operations."""

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
        if scope["type"] != "http":
            return
        body = await whole_body(receive)
        if body is None:
            return  # nobody is there any more, and half a request is not to be decided
        # Whoever comes through a Unix socket has no address.
        source, _ = scope.get("client") or ("", None)
        request = Request.of(scope["method"], scope["path"], scope["headers"], body, source=source)
        answer = service.answer(request)
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    return application


async def whole_body(receive: Any) -> bytes | None:
    """The body, read no further than it may be long; None where it was torn off."""
    body, more = b"", True
    while more and len(body) <= LONGEST_FORM:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def answer_lifespan(receive: Any, send: Any) -> None:
    """Nothing is opened or closed here; a server asks all the same."""
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})


if __name__ == "__main__":
    kept = MemoryStore()
    print(make_first_records(kept, now()).secrets)
    uvicorn.run(make_application(TokenService(kept)), host="127.0.0.1", port=8001)
