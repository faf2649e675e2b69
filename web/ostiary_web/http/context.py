"""One request and its answer: who asks, in which language, under which trace id, and the way back out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import msgspec
import trio
from quart import Response, g, request

from ostiary_core.events import Event, SignedIn
from ostiary_core.http.answer import NO_STORE, Answer, retry_after
from ostiary_core.http.endpoint import Request
from ostiary_core.http.envelope import failure, success
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.http.sender import language_of
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.records import User
from ostiary_core.model.reply import AccountKnown, Refused, Reply
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_core.texts import Language, Languages
from ostiary_core.throttling.rate_windows import Operation
from ostiary_net.observability.log import log_refusal
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.turns.service import Service
from ostiary_net.turns.turns import ListQuery
from ostiary_web.pictures.uploads import orphaned_files
from ostiary_web.server.backing import Backing, backing
from ostiary_web.server.telephones import phone_number

T = TypeVar("T")

JSON_MEDIA_TYPE = "application/json"


class RequestRefused(Exception):
    """A request is refused; whoever raises it goes no further.

    Whoever answers says it in their own way: the interface in its envelope, a page on a page or beside the
    form that was sent, the command line on standard error.
    """

    def __init__(self, reply: Refused) -> None:
        super().__init__(reply.why.value)
        self.reply = reply


@dataclass(slots=True)
class RequestContext:
    """What every handler of one request needs; who calls is known once the route's gate has asked."""

    backing: Backing
    headers: Sequence[tuple[bytes, bytes]]
    language: Language
    origin: Origin
    signed_in: SignedIn | None = None
    """The login session's token that came with the request."""
    account_known: AccountKnown | None = None
    """Whose it is."""

    @property
    def trace_id(self) -> str:
        """Under which the log and the audit trail have this request."""
        return self.origin.trace_id

    @property
    def source(self) -> str:
        """The address the request came from."""
        return self.origin.source

    @property
    def service(self) -> Service:
        """One service for all doors."""
        return self.backing.service

    @property
    def languages(self) -> Languages:
        """Those that the server speaks."""
        return self.service.endpoint.languages

    @property
    def passwords(self) -> Passwords:
        """What hashes and verifies them."""
        return self.backing.passwords

    # --- who calls, behind a gate

    @property
    def caller(self) -> SignedIn:
        """As whom events are asked for."""
        assert self.signed_in is not None, "the gate of this route asks nobody who they are"
        return self.signed_in

    @property
    def account(self) -> AccountKnown:
        """What the rules know of the caller."""
        assert self.account_known is not None, "the gate of this route asks for no account"
        return self.account_known

    @property
    def user(self) -> User:
        """The caller's own account."""
        assert self.account.user is not None, "whoever is signed in is a user"
        return self.account.user

    @property
    def is_super_administrator(self) -> bool:
        """Who sees sessions that represent no user ("Session (grant)")."""
        return self.account.is_super_administrator

    def phone_number(self, text: str) -> str:
        """A telephone number in its one form, however it is written."""
        return phone_number(text, self.backing.settings.phone_region)

    # --- what is asked of the rules

    def entropy(self) -> Entropy:
        """32 bytes for one event."""
        return self.service.entropy()

    async def submit(self, event: Event) -> Decision:
        """The decision on `event`; raises `TurnFailed`, which the app answers as a 500.

        A picture that an account lets go of by it is removed, whoever decided so.
        """
        decision = await self.service.decide(event, self.origin)
        with trio.CancelScope(shield=True):
            for name in orphaned_files(decision.changes):
                await self.backing.files.remove(name)
        return decision

    async def decide(self, event: Event) -> Reply:
        """What the rules reply to `event`; raises `RequestRefused` where they refuse."""
        reply = (await self.submit(event)).reply
        if isinstance(reply, Refused):
            raise RequestRefused(reply)
        return reply

    async def query(self, read: ListQuery[T]) -> T:
        """What a question finds in the lists."""
        return await self.service.query(read, self.origin)

    def limit(self, operation: Operation) -> None:
        """Count the request as `operation`; raises `RequestRefused` past the limit ("Limits", rule 1)."""
        wait = self.service.admit(operation, self.source)
        if wait:
            self.refuse(Why.TOO_MANY_REQUESTS, wait_seconds=wait)

    # --- what the request holds

    async def request(self) -> Request:
        """The request as the core has it."""
        return Request(
            method=request.method,
            path=request.path,
            headers=self.headers,
            body=await request.body,
            source=self.source,
        )

    async def json_object(self) -> dict[str, object]:
        """The request's JSON object; anything else is refused (READINGS 29)."""
        if request.mimetype != JSON_MEDIA_TYPE:
            self.refuse(Why.MEDIA_TYPE_UNSUPPORTED)
        text: bytes = await request.body
        try:
            content = msgspec.json.decode(text)
            json.loads(text, object_pairs_hook=_each_once)
        except _NamedTwice:
            self.refuse(Why.PARAMETER_REPEATED)
        except (msgspec.DecodeError, ValueError, RecursionError):
            self.refuse(Why.BODY_NOT_JSON)
        return content if isinstance(content, dict) else self.refuse(Why.BODY_NOT_JSON)

    # --- the answer

    def success(self, data: object, status: int = 200) -> Response:
        """Code 0; `data` is JSON, structs included."""
        return respond(success(msgspec.to_builtins(data), status=status))

    def refuse(
        self, why: Why, faults: Sequence[FieldFault] = (), *, wait_seconds: int | None = None
    ) -> NoReturn:
        """Refuse what need not be decided, and say so in the log; raises `RequestRefused`."""
        self.log_refusal(why)
        raise RequestRefused(Refused(why, tuple(faults), wait_seconds=wait_seconds))

    def log_refusal(self, why: Why, **more: str) -> None:
        """A fault of ours is no refusal: whoever met it has told the log."""
        if MEANINGS[why].status < 500:
            log_refusal(why, self.trace_id, self.source, **more)

    def failure(self, reply: Refused) -> Response:
        """The envelope of a refusal; one that passes says when (RFC 9110 §10.2.3), a 401 says how to
        authenticate (RFC 9110 §11.6.1)."""
        wait = () if reply.wait_seconds is None else (retry_after(reply.wait_seconds),)
        challenge = ((b"www-authenticate", b'Bearer realm="ostiary"'),)
        return respond(
            failure(
                reply.why,
                self.language,
                self.trace_id,
                faults=reply.faults,
                headers=(*NO_STORE, *wait, *(challenge if MEANINGS[reply.why].status == 401 else ())),
            )
        )


def request_context() -> RequestContext:
    """The context of the request being handled; one a request."""
    if "request_context" not in g:
        behind = backing()
        headers = tuple(request.scope["headers"])
        client = request.scope.get("client")
        source = str(request.scope.get("ostiary.source") or (client[0] if client else ""))
        trace_id = str(request.scope.get("ostiary.trace_id") or behind.service.trace_id())
        g.request_context = RequestContext(
            backing=behind,
            headers=headers,
            language=language_of(headers, behind.service.endpoint.languages),
            origin=behind.service.origin(headers, source, trace_id),
        )
    found: RequestContext = g.request_context
    return found


def respond(answer: Answer) -> Response:
    """An answer of the core as Quart sends it: its header fields and no others."""
    response = Response(answer.body, answer.status)
    response.headers.clear()
    for name, value in answer.headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    return response


class _NamedTwice(Exception):
    """An object of JSON has two members of one name (RFC 8259 §4): which of them counts, nobody knows."""


def _each_once(members: list[tuple[str, object]]) -> None:
    if len({name for name, _ in members}) != len(members):
        raise _NamedTwice
