"""The four operations where a request is whole behind the front door: answered without the application.

For whoever serves through plain Hypercorn, over TLS with HTTP/2, or sends what the lane does not take. What
is asked in any other way than a backend asks (by cookie, with a query, by another spelling of the path) is
the application's, whose routes answer alike.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from ostiary_core.http import token_service, userinfo
from ostiary_core.http.answer import Answer
from ostiary_core.http.sender import sender_of
from ostiary_core.rate import Operation
from ostiary_net.front_door.rules import Scope
from ostiary_net.service import Service

__all__ = ["shortcut"]


def shortcut(service: Service) -> Callable[[Scope], Callable[[bytes], Awaitable[Answer]] | None]:
    """What a request is answered by, given its body; None where that is the application."""

    async def answer_token_service(operation: Operation, scope: Scope, body: bytes) -> Answer:
        sender = sender_of(scope["headers"])
        source, trace_id = scope["ostiary.source"], scope["ostiary.trace_id"]
        return await service.answer_token_service(operation, sender, body, source, trace_id)

    async def answer_userinfo(scope: Scope, body: bytes) -> Answer:
        source, trace_id = scope["ostiary.source"], scope["ostiary.trace_id"]
        return await service.answer_userinfo(scope["headers"], source, trace_id)

    def found(scope: Scope) -> Callable[[bytes], Awaitable[Answer]] | None:
        path, method = scope["path"], scope["method"]
        if scope["query_string"] or scope["raw_path"] != path.encode():
            return None
        operation = token_service.PATHS.get(path)
        if operation is not None and method == "POST":
            scope["ostiary.route"] = path
            return partial(answer_token_service, operation, scope)
        if path == userinfo.PATH and method == "GET" and not _has_cookie(scope):
            scope["ostiary.route"] = path
            return partial(answer_userinfo, scope)
        return None

    return found


def _has_cookie(scope: Scope) -> bool:
    return any(name == b"cookie" for name, _ in scope["headers"])
