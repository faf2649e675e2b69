"""Answers complete requests for the four operations behind the guard, without the application.

They come through plain Hypercorn, by HTTP/2, or in a form that the lane does not take. A request with a
cookie, a query or another spelling of the path is the application's, whose routes answer alike.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from ostiary_core.http import token_service, userinfo
from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import Request
from ostiary_net.front_door.limits import Scope
from ostiary_net.turns.service import Service


def make_shortcut(service: Service) -> Callable[[Scope], Callable[[bytes], Awaitable[Answer]] | None]:
    """Return a function that finds who answers a request, by its body; None is the application."""

    async def answer(scope: Scope, body: bytes) -> Answer:
        request = Request(
            method=scope["method"],
            path=scope["path"],
            headers=scope["headers"],
            body=body,
            source=scope["ostiary.source"],
        )
        return await service.answer(request, scope["ostiary.trace_id"])

    def find(scope: Scope) -> Callable[[bytes], Awaitable[Answer]] | None:
        path, method = scope["path"], scope["method"]
        if scope["query_string"] or scope["raw_path"] != path.encode():
            return None
        has_cookie = any(name == b"cookie" for name, _ in scope["headers"])
        is_userinfo = path == userinfo.PATH and method == "GET" and not has_cookie
        if is_userinfo or (path in token_service.PATHS and method == "POST"):
            scope["ostiary.route"] = path
            return partial(answer, scope)
        return None

    return find
