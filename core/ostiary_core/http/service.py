"""The four operations of the token service at one entrance: for every front door, ours and other people's.

    asked = read(
        request,
        rate_windows=rate_windows,
        now=now,
        monotonic=monotonic,
        entropy=entropy,
        trace_id=trace_id,
    )
    if isinstance(asked, Answer):                     # refused before there was anything to decide
        return asked
    [decision] = store.turn([asked.event], now, [asked.origin])  # once more where it raises LostRace
    return asked.answer(decision)

`answer` is that in one call, lost races included, for a store that answers where it is called. What else a
store raises is the runtime's to log, under the trace id; `Asked.failure` is what to send then, and nothing
was kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from ostiary_core.arrival import Arrival, arrival_at
from ostiary_core.audit import Origin
from ostiary_core.decision import Decision, Refused
from ostiary_core.events import ProfileRequested
from ostiary_core.http import envelope, token_service, userinfo
from ostiary_core.http.answer import NO_STORE, Answer
from ostiary_core.http.envelope import service_failure
from ostiary_core.http.language import Language
from ostiary_core.http.sender import Fields, Sender, language_of, sender_of, user_agent_of
from ostiary_core.http.token_service import TokenServiceEvent
from ostiary_core.instant import Instant, Monotonic
from ostiary_core.making import immutable
from ostiary_core.rate import Operation, RateWindows
from ostiary_core.secret import Entropy
from ostiary_core.store import LostRace, Store
from ostiary_core.why import Why

__all__ = [
    "Asked",
    "Fields",
    "Request",
    "answer",
    "failure",
    "is_failure",
    "language_of",
    "origin_of",
    "read",
    "read_token_service",
    "read_userinfo",
    "too_many_requests",
]

_MOST_ATTEMPTS: Final = 20
"""How often a turn is taken again after another writer was quicker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, whole. It may hold secrets, so its fields and body do not show in the printed form."""

    method: str
    path: str
    """Without the query, which no operation of the token service has."""
    headers: Fields = field(repr=False)
    """Names in lower case, as `Request.of` makes them; any other is not found."""
    body: bytes = field(default=b"", repr=False)
    """A runtime need not read more than `form.LONGEST_FORM` and one byte; longer is refused."""
    source: str
    """The address it came from."""

    @classmethod
    def of(
        cls,
        method: str,
        path: str,
        fields: Iterable[tuple[str, str] | tuple[bytes, bytes]],
        body: bytes = b"",
        *,
        source: str,
    ) -> "Request":
        """A request with header fields as a framework has them: text or bytes, in any case.

        Text stands for bytes as Latin-1 has them (PEP 3333), so a User-Agent stays what it was.

        >>> Request.of("GET", "/", [("User-Agent", "x")], source="127.0.0.1").headers
        ((b'user-agent', b'x'),)
        """
        headers = tuple((_raw(name).lower(), _raw(value)) for name, value in fields)
        return cls(method=method, path=path, headers=headers, body=body, source=source)


def _raw(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1", "replace")


@immutable(kw_only=True)
class Asked:
    """A request that has to be decided: its event, where it came from, and how it is answered."""

    event: TokenServiceEvent | ProfileRequested
    origin: Origin
    language: Language

    def answer(self, decision: Decision) -> Answer:
        """What to send once the decision is kept."""
        if is_failure(decision):
            return self.failure()
        if isinstance(self.event, ProfileRequested):
            return userinfo.answer(decision, language=self.language, trace_id=self.origin.trace_id)
        return token_service.answer(self.event, decision)

    def failure(self) -> Answer:
        """What to send when the store failed: the 500 in the envelope, without any detail."""
        is_enveloped = isinstance(self.event, ProfileRequested)
        return _failure(self.language, self.origin.trace_id, is_enveloped=is_enveloped)


def is_failure(decision: Decision) -> bool:
    """Whether what was asked could not be decided; its answer is the 500 of a store that failed."""
    return isinstance(decision.reply, Refused) and decision.reply.why is Why.ARRIVAL_UNKNOWN


def read(
    request: Request,
    *,
    rate_windows: RateWindows,
    now: Instant,
    monotonic: Monotonic,
    entropy: Entropy,
    trace_id: str,
) -> Asked | Answer:
    """What is asked, or the answer to what need not be decided.

    `rate_windows` are kept by the caller, one object for a process (READINGS 30); `entropy` are 32 fresh
    random bytes; `trace_id` names the request in log, audit trail and failures.
    """
    operation = token_service.PATHS.get(request.path)
    if operation is None and request.path != userinfo.PATH:
        return envelope.failure(Why.ROUTE_UNKNOWN, language_of(request.headers), trace_id)
    allowed = ("GET", "HEAD") if operation is None else ("POST",)
    if request.method not in allowed:
        allow = (b"allow", ", ".join(allowed).encode("ascii"))
        if operation is None:
            language = language_of(request.headers)
            headers = (*NO_STORE, allow)
            return envelope.failure(Why.METHOD_NOT_ALLOWED, language, trace_id, headers=headers)
        refusal = token_service.refusal(operation, Why.METHOD_NOT_ALLOWED)
        return replace(refusal, headers=(*refusal.headers, allow))
    if operation is None:
        return read_userinfo(request.headers, origin_of(request.headers, request.source, trace_id))
    wait_seconds = rate_windows.admit(operation, request.source, monotonic)
    if wait_seconds:
        return too_many_requests(language_of(request.headers), trace_id, wait_seconds)
    sender = sender_of(request.headers)
    origin = Origin(trace_id=trace_id, source=request.source, user_agent=sender.user_agent)
    return read_token_service(operation, sender, request.body, entropy, origin, arrival_at(now))


def answer(
    request: Request,
    store: Store,
    *,
    rate_windows: RateWindows,
    now: Instant,
    monotonic: Monotonic,
    entropy: Entropy,
    trace_id: str,
) -> Answer:
    """A request answered whole, its decision kept by `store` before this returns.

    A lost race is decided again, as often as is sensible; it and whatever else the store raises is the
    caller's to log and to answer with `failure`.
    """
    asked = read(
        request,
        rate_windows=rate_windows,
        now=now,
        monotonic=monotonic,
        entropy=entropy,
        trace_id=trace_id,
    )
    if isinstance(asked, Answer):
        return asked
    for _ in range(_MOST_ATTEMPTS - 1):
        try:
            [decision] = store.turn([asked.event], now, [asked.origin])
        except LostRace:
            continue
        return asked.answer(decision)
    [decision] = store.turn([asked.event], now, [asked.origin])
    return asked.answer(decision)


def failure(request: Request, trace_id: str) -> Answer:
    """What to send when `answer` raised: the 500 in the envelope, without any detail."""
    is_enveloped = request.path not in token_service.PATHS
    return _failure(language_of(request.headers), trace_id, is_enveloped=is_enveloped)


def _failure(language: Language, trace_id: str, *, is_enveloped: bool) -> Answer:
    """The token service's own 500 has no `errors` ("Envelope errors on the token-service endpoints")."""
    if is_enveloped:
        return envelope.failure(Why.INTERNAL_ERROR, language, trace_id)
    return service_failure(Why.INTERNAL_ERROR, language, trace_id)


def read_token_service(
    operation: Operation, sender: Sender, body: bytes, entropy: Entropy, origin: Origin, arrival: Arrival
) -> Asked | Answer:
    """What is asked of `/token`, `/introspect` or `/revoke` by a request within its limit."""
    event = token_service.read(
        operation, sender, body, source=origin.source, entropy=entropy, arrival=arrival
    )
    if isinstance(event, Answer):
        return event
    return Asked(event=event, origin=origin, language=sender.language)


def read_userinfo(headers: Fields, origin: Origin) -> Asked | Answer:
    """What is asked of user-info."""
    language = language_of(headers)
    event = userinfo.read(headers, language=language, trace_id=origin.trace_id)
    if isinstance(event, Answer):
        return event
    return Asked(event=event, origin=origin, language=language)


def too_many_requests(language: Language, trace_id: str, wait_seconds: int) -> Answer:
    """The 429 of a full rate window ("Limits", rule 1)."""
    return service_failure(Why.TOO_MANY_REQUESTS, language, trace_id, retry_after_seconds=wait_seconds)


def origin_of(headers: Fields, source: str, trace_id: str) -> Origin:
    """Where a request came from, for the audit trail."""
    return Origin(trace_id=trace_id, source=source, user_agent=user_agent_of(headers))
