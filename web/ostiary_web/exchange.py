"""One request and its answer: who asks, in which language, under which trace id, and the way back out."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps

import msgspec
import trio
from quart import Response, current_app, g, request

from ostiary_core.events import Event
from ostiary_core.http.answer import NO_STORE, Answer, Headers, retry_after
from ostiary_core.http.endpoint import Request
from ostiary_core.http.envelope import failure, success
from ostiary_core.http.language import Language
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.http.sender import language_of
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision, FieldFault, Refused
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_net.observability.log import log_refusal
from ostiary_net.runtime.files import Files
from ostiary_net.turns.service import Service
from ostiary_web.uploads import left_behind

__all__ = [
    "JSON_MEDIA_TYPE",
    "Exchange",
    "body",
    "exchange",
    "json_object",
    "limited",
    "respond",
]

JSON_MEDIA_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What every handler of one request needs."""

    service: Service
    headers: Sequence[tuple[bytes, bytes]]
    language: Language
    origin: Origin

    @property
    def trace_id(self) -> str:
        """Under which the log and the audit trail have this request."""
        return self.origin.trace_id

    @property
    def source(self) -> str:
        """The address the request came from."""
        return self.origin.source

    async def request(self) -> Request:
        """The request as the core has it."""
        return Request(
            method=request.method,
            path=request.path,
            headers=self.headers,
            body=await body(),
            source=self.source,
        )

    def entropy(self) -> Entropy:
        """32 bytes for one event."""
        return self.service.entropy()

    async def decide(self, event: Event) -> Decision:
        """The decision on `event`; raises `TurnFailed`, which the app answers as a 500.

        A picture that an account lets go of by it is removed, whoever decided so.
        """
        decision = await self.service.decide(event, self.origin)
        with trio.CancelScope(shield=True):
            for name in left_behind(decision.changes):
                files: Files = current_app.extensions["ostiary.files"]
                await files.remove(name)
        return decision

    def success(self, data: object, status: int = 200) -> Response:
        """Code 0; `data` is JSON, structs included."""
        return respond(success(msgspec.to_builtins(data), status=status))

    def refuse(self, why: Why, faults: Sequence[FieldFault] = (), headers: Headers = NO_STORE) -> Response:
        """The failure of what need not be decided, in the envelope and in the log.

        A fault of ours is no refusal: whoever met it has told the log.
        """
        if MEANINGS[why].status < 500:
            log_refusal(why, self.trace_id, self.source)
        return self._failure(why, faults, headers)

    def _failure(self, why: Why, faults: Sequence[FieldFault], headers: Headers) -> Response:
        """A 401 says how to authenticate (RFC 9110 §11.6.1)."""
        if MEANINGS[why].status == 401:
            headers = (*headers, (b"www-authenticate", b'Bearer realm="ostiary"'))
        return respond(failure(why, self.language, self.trace_id, faults=faults, headers=headers))

    def refused(self, reply: Refused) -> Response:
        """The envelope of a refusal that the rules decided; one that passes says when (RFC 9110 §10.2.3)."""
        wait = () if reply.wait_seconds is None else (retry_after(reply.wait_seconds),)
        return self._failure(reply.why, reply.faults, (*NO_STORE, *wait))


def exchange() -> Exchange:
    """The exchange of the request being handled; one a request."""
    if "exchange" not in g:
        service: Service = current_app.extensions["ostiary"]
        headers = tuple(request.scope["headers"])
        client = request.scope.get("client")
        source = str(request.scope.get("ostiary.source") or (client[0] if client else ""))
        trace_id = str(request.scope.get("ostiary.trace_id") or service.trace_id())
        g.exchange = Exchange(
            service=service,
            headers=headers,
            language=language_of(headers),
            origin=service.origin(headers, source, trace_id),
        )
    found: Exchange = g.exchange
    return found


def respond(answer: Answer) -> Response:
    """An answer of the core as Quart sends it: its header fields and no others."""
    response = Response(answer.body, answer.status)
    response.headers.clear()
    for name, value in answer.headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    return response


Handler = Callable[[], Awaitable[Response]]


def limited(operation: Operation) -> Callable[[Handler], Handler]:
    """Have a route count as `operation`: past its limit a request is a 429 and no more ("Limits", rule 1)."""

    def within(handler: Handler) -> Handler:
        @wraps(handler)
        async def view() -> Response:
            here = exchange()
            wait = here.service.seconds_to_wait(operation, here.source)
            if not wait:
                return await handler()
            return here.refuse(Why.TOO_MANY_REQUESTS, headers=(*NO_STORE, retry_after(wait)))

        return view

    return within


async def body() -> bytes:
    """The request's body, whole; the front door has bounded it."""
    read: bytes = await request.body
    return read


async def json_object() -> dict[str, object] | Why:
    """The request's JSON object; else what is wrong with the body (READINGS 29)."""
    if request.mimetype != JSON_MEDIA_TYPE:
        return Why.MEDIA_TYPE_UNSUPPORTED
    text = await body()
    try:
        content = msgspec.json.decode(text)
        json.loads(text, object_pairs_hook=_each_once)
    except _NamedTwice:
        return Why.PARAMETER_REPEATED
    except (msgspec.DecodeError, ValueError, RecursionError):
        return Why.BODY_NOT_JSON
    return content if isinstance(content, dict) else Why.BODY_NOT_JSON


class _NamedTwice(Exception):
    """An object of JSON has two members of one name (RFC 8259 §4): which of them counts, nobody knows."""


def _each_once(members: list[tuple[str, object]]) -> None:
    if len({name for name, _ in members}) != len(members):
        raise _NamedTwice
