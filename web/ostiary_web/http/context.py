"""Hold what the handler of a request needs: caller, language, trace id, and the ways to answer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeVar

import msgspec
import trio
from quart import Response, g, request

from ostiary_core.events import Event, SignedIn
from ostiary_core.http.answer import NO_STORE, UNCODED, Answer, retry_after
from ostiary_core.http.endpoint import Request
from ostiary_core.http.envelope import failure, success
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.http.sender import language_of
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.model.reply import AccountKnown, Refused, Reply
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_core.texts import Language, Languages
from ostiary_core.throttling.rate_windows import Operation
from ostiary_net.front_door.limits import Scope
from ostiary_net.observability.log import log_refusal
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.text_messages import TextMessage
from ostiary_net.turns.service import Service
from ostiary_net.turns.turns import ListQuery
from ostiary_web.pictures.orphaned_files import orphaned_files
from ostiary_web.server.app_services import AppServices, current_services
from ostiary_web.server.notices import find_notices
from ostiary_web.server.telephones import phone_number

T = TypeVar("T")

JSON_MEDIA_TYPE = "application/json"


class RequestRefused(Exception):
    """A refusal, which ends the handling of the request.

    Each face answers it in its own way: the interface in its envelope, a page on a page or beside the form,
    the command line on standard error.
    """

    def __init__(self, reply: Refused) -> None:
        super().__init__(reply.why.value)
        self.reply = reply


class ProofRequired(Exception):
    """Raised on a page whose visitor must first prove who they are (READINGS 57).

    It is no `RequestRefused`, so no form is shown again for it: the page asks, and the form goes on.
    """


@dataclass(slots=True)
class RequestContext:
    """What every handler of a request needs; the caller is known once the route's gate has asked."""

    services: AppServices
    headers: Sequence[tuple[bytes, bytes]]
    language: Language
    origin: Origin
    signed_in: SignedIn | None = None
    """Token of the login session that came with the request."""
    account_known: AccountKnown | None = None
    """Account of that login session."""
    permission: Permission | None = None
    """Permission that the route's gate requires."""
    may_ask_for_proof: bool = False
    """Whether the request is a page's form, which can ask for a proof and go on."""

    @property
    def trace_id(self) -> str:
        """The request's identifier in the log and the audit trail."""
        return str(self.origin.trace_id)

    @property
    def source(self) -> str:
        """The address that the request came from."""
        return self.origin.source

    @property
    def service(self) -> Service:
        """The service that all doors share."""
        return self.services.service

    @property
    def languages(self) -> Languages:
        """The languages that the server speaks."""
        return self.service.endpoint.languages

    @property
    def passwords(self) -> Passwords:
        """The hasher and verifier of passwords."""
        return self.services.passwords

    # --- who calls, behind a gate

    @property
    def caller(self) -> SignedIn:
        """The caller in whose name events are decided."""
        assert self.signed_in is not None, "the gate of this route asks nobody who they are"
        return self.signed_in

    @property
    def account(self) -> AccountKnown:
        """The caller's account and permissions, from the core."""
        assert self.account_known is not None, "the gate of this route asks for no account"
        return self.account_known

    @property
    def user(self) -> User:
        """The caller's own account."""
        assert self.account.user is not None, "whoever is signed in is a user"
        return self.account.user

    @property
    def is_super_administrator(self) -> bool:
        """Whether the caller sees sessions that represent no user ("Session (grant)")."""
        return self.account.is_super_administrator

    def phone_number(self, text: str) -> str:
        """Return a telephone number in its canonical form."""
        return phone_number(text, self.services.settings.phone_region)

    # --- what is asked of the rules

    def draw_entropy(self) -> Entropy:
        """Return 32 bytes for one event."""
        return self.service.draw_entropy()

    async def submit(self, event: Event) -> Decision:
        """Return the decision on `event`; raise `TurnFailed`, which the app answers as a 500.

        The audit trail is told what it refuses an administrator. A picture that an account loses by it is
        removed, and users are told of a changed password or number, no matter who caused the event. For that
        the caller need not be there: one who breaks off while the event is decided would keep it secret.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        deadline = trio.current_effective_deadline()
        with trio.fail_at(deadline, shield=True):
            decision = await self.service.decide(event, self.origin)
        with trio.CancelScope(shield=True):
            for name in orphaned_files(decision.changes):
                await self.services.files.remove(name)
            now = self.service.clock.now()
            own = None if self.account_known is None else self.account_known.user
            for message in find_notices(decision, own, self.languages, self.language, now):
                await self.send_text_message(message)
        with trio.fail_at(deadline, shield=True):
            await self.service.report_refusals(decision, self.permission, self.origin)
        return decision

    async def decide(self, event: Event) -> Reply:
        """Return the reply to `event`; raise `RequestRefused` if it is a refusal."""
        reply = (await self.submit(event)).reply
        if isinstance(reply, Refused):
            if reply.why is Why.PROOF_REQUIRED and self.may_ask_for_proof:
                raise ProofRequired
            raise RequestRefused(reply)
        return reply

    async def send_text_message(self, message: TextMessage) -> None:
        """Have a message sent; the caller does not wait for a gateway."""
        await self.services.text_messages.send(partial(_give, message), self.trace_id)

    async def query(self, read: ListQuery[T]) -> T:
        """Return what `read` finds in the lists."""
        return await self.service.query(read, self.origin)

    def count_against_limit(self, operation: Operation) -> None:
        """Count the request as `operation`; raise `RequestRefused` past its limit ("Limits", rule 1)."""
        wait = self.service.admit(operation, self.source)
        if wait:
            self.refuse(Why.TOO_MANY_REQUESTS, wait_seconds=wait)

    # --- what the request holds

    async def request(self) -> Request:
        """Return the request as the core has it."""
        return Request(
            method=request.method,
            path=request.path,
            headers=self.headers,
            body=await request.body,
            source=self.source,
        )

    async def json_object(self) -> dict[str, object]:
        """Return the request's JSON object; refuse anything else (READINGS 29)."""
        if request.mimetype != JSON_MEDIA_TYPE:
            self.refuse(Why.MEDIA_TYPE_UNSUPPORTED)
        text: bytes = await request.body
        try:
            content = msgspec.json.decode(text)
            json.loads(text, object_pairs_hook=_refuse_duplicates)
        except _DuplicateMember:
            self.refuse(Why.PARAMETER_REPEATED)
        except (msgspec.DecodeError, ValueError, RecursionError):
            self.refuse(Why.BODY_NOT_JSON)
        return content if isinstance(content, dict) else self.refuse(Why.BODY_NOT_JSON)

    # --- the answer

    def success(self, data: object, status: int = 200) -> Response:
        """Answer code 0; `data` is JSON, structs included."""
        return respond(success(msgspec.to_builtins(data), status=status))

    def refuse(
        self, why: Why, faults: Sequence[FieldFault] = (), *, wait_seconds: int | None = None
    ) -> NoReturn:
        """Refuse, and log it, what no event need decide; raise `RequestRefused`."""
        self.log_refusal(why)
        raise RequestRefused(Refused(why, tuple(faults), wait_seconds=wait_seconds))

    def log_refusal(self, why: Why, **more: str) -> None:
        """Log a refusal; server faults are logged where they are raised."""
        if MEANINGS[why].status < 500:
            log_refusal(why, self.trace_id, self.source, **more)

    def failure(self, reply: Refused) -> Response:
        """Answer a refusal in the envelope, with the header fields that its status asks for."""
        wait = () if reply.wait_seconds is None else (retry_after(reply.wait_seconds),)
        challenge = ((b"www-authenticate", b'Bearer realm="ostiary"'),)
        more = challenge if MEANINGS[reply.why].status == 401 else ()
        if reply.why is Why.CONTENT_CODING_UNSUPPORTED:
            more = (UNCODED,)
        return respond(
            failure(
                reply.why,
                self.language,
                self.trace_id,
                faults=reply.faults,
                headers=(*NO_STORE, *wait, *more),
            )
        )


def request_context() -> RequestContext:
    """Return the context of the current request, one a request."""
    if "request_context" not in g:
        behind = current_services()
        scope: Scope = request.scope  # type: ignore[assignment]
        headers = tuple(scope["headers"])
        g.request_context = RequestContext(
            services=behind,
            headers=headers,
            language=language_of(headers, behind.service.endpoint.languages),
            # Both are the front door's, which every request comes through.
            origin=behind.service.make_origin(
                headers, scope["ostiary.source"], str(scope["ostiary.trace_id"])
            ),
        )
    found: RequestContext = g.request_context
    return found


def respond(answer: Answer) -> Response:
    """Return the core's answer as Quart sends it: its header fields and no others."""
    response = Response(answer.body, answer.status)
    response.headers.clear()
    for name, value in answer.headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    return response


async def _give(message: TextMessage) -> TextMessage:
    """Return a message that is written already, as a job."""
    return message


class _DuplicateMember(Exception):
    """A JSON object with two members of one name: which one counts is undefined (RFC 8259 §4)."""


def _refuse_duplicates(members: list[tuple[str, object]]) -> None:
    if len({name for name, _ in members}) != len(members):
        raise _DuplicateMember
