"""The four operations of the token service, from a request to its event and from a decision to its answer.

    pending = endpoint.receive(request, now=now, monotonic=monotonic, entropy=entropy, trace_id=trace_id)
    if isinstance(pending, Answer):                                  # there is nothing to decide
        return pending
    [decision] = store.turn([pending.event], now, [pending.origin])  # once more if it raises LostRace
    return pending.answer(decision)

Every front door goes this way. `TokenEndpoint.answer` is all of it in one call, for a synchronous store. What
else a store raises the runtime logs under the trace id, and sends `PendingRequest.failure`.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from ostiary_core.events import ProfileRequested
from ostiary_core.http import envelope, token_service, userinfo
from ostiary_core.http.answer import NO_STORE, Answer
from ostiary_core.http.sender import HeaderFields, Sender, language_of, sender_of, user_agent_of
from ostiary_core.http.token_service import TokenServiceEvent
from ostiary_core.model.audit import Origin, TraceId
from ostiary_core.model.decision import Decision
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Arrival, Instant, Monotonic, arrival_at
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_core.storage.store import Store, retry_lost_races
from ostiary_core.texts import LANGUAGES
from ostiary_core.texts.language import Language, Languages
from ostiary_core.throttling.rate_windows import Operation, RateWindows


@immutable()
class Request:
    """A whole request. It may hold secrets, so its printed form leaves out header fields and body."""

    method: str
    path: str
    """Path without the query, which no operation of the token service has."""
    headers: HeaderFields
    """Header fields with lower-case names, as `Request.of` makes them."""
    source: str
    """Address of the sender."""
    body: bytes = b""
    """Body, of which a runtime need not read more than `form.LONGEST_FORM` and one byte."""
    sender: Sender | None = None
    """Sender read from the header fields, if a runtime knows it already."""

    def __repr__(self) -> str:
        return f"Request(method={self.method!r}, path={self.path!r}, source={self.source!r})"

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
        """Make a request from header fields as a framework has them: text or bytes, in any case.

        Text stands for bytes as Latin-1 has them (PEP 3333), so a User-Agent stays what it was.

        >>> Request.of("GET", "/", [("User-Agent", "x")], source="127.0.0.1").headers
        ((b'user-agent', b'x'),)
        """
        headers = tuple((_raw(name).lower(), _raw(value)) for name, value in fields)
        return cls(method, path, headers, source, body)


def _raw(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1", "replace")


@immutable()
class PendingRequest:
    """A request to decide: its event, origin and arrival, and how it is answered.

    Made by `TokenEndpoint.receive`. If its turn loses a race, take the turn again.
    """

    event: TokenServiceEvent | ProfileRequested
    origin: Origin
    language: Language
    arrival: Arrival

    @property
    def may_be_stale(self) -> bool:
        """Whether it may have waited in a socket while the server stalled."""
        return self.arrival.earliest < self.arrival.latest

    def answer(self, decision: Decision) -> Answer:
        """Return the answer to send once the decision is kept."""
        if is_failure(decision):
            return self.failure()
        if isinstance(self.event, ProfileRequested):
            return userinfo.answer(decision, language=self.language, trace_id=self.origin.trace_id)
        return token_service.answer(self.event, decision)

    def failure(self) -> Answer:
        """Return the answer for a failed store: a 500 in the envelope, without detail."""
        is_enveloped = isinstance(self.event, ProfileRequested)
        fail = envelope.failure if is_enveloped else envelope.token_service_failure
        return fail(Why.INTERNAL_ERROR, self.language, self.origin.trace_id)


def is_failure(decision: Decision) -> bool:
    """Whether the event could not be decided, which is answered as a failed store is."""
    return isinstance(decision.reply, Refused) and decision.reply.why is Why.ARRIVAL_UNKNOWN


class TokenEndpoint:
    """The token service of one process, with its rate limits (READINGS 30).

    `rate_windows` replaces the specification's limits, `languages` the languages of failures.
    """

    def __init__(self, rate_windows: RateWindows | None = None, languages: Languages = LANGUAGES) -> None:
        self.rate_windows: Final = rate_windows or RateWindows()
        self.languages: Final = languages

    def receive(
        self,
        request: Request,
        *,
        now: Instant,
        monotonic: Monotonic,
        entropy: Entropy,
        trace_id: TraceId,
        arrival: Arrival | None = None,
    ) -> PendingRequest | Answer:
        """Return what to decide for a request, or the answer if there is nothing to decide.

        `entropy` are 32 fresh random bytes, used at `token_service.PATHS_USING_ENTROPY`; `trace_id` names the
        request in log, audit trail and failures; `arrival` is None for one that arrived `now`. Each call
        counts as a request, so do not call it again for a lost race.
        """
        # The path comes first: it decides the form of every error.
        operation = token_service.PATHS.get(request.path)
        if operation is None and request.path != userinfo.PATH:
            return envelope.failure(Why.ROUTE_UNKNOWN, self._language_of(request), trace_id)
        if request.method not in (("GET", "HEAD") if operation is None else ("POST",)):
            return self._refuse_method(operation, request, trace_id)
        arrival = arrival or arrival_at(now)
        if operation is None:
            return self._receive_userinfo(request, trace_id, arrival)
        sender = request.sender or sender_of(request.headers, self.languages)
        # Before the form is read: a request over the limit costs no parsing ("Limits").
        wait_seconds = self.rate_windows.admit(operation, request.source, monotonic)
        if wait_seconds:
            return envelope.token_service_failure(
                Why.TOO_MANY_REQUESTS, sender.language, trace_id, retry_after_seconds=wait_seconds
            )
        event = token_service.read(
            operation, sender, request.body, source=request.source, entropy=entropy, arrival=arrival
        )
        if isinstance(event, Answer):
            return event
        origin = Origin(trace_id, request.source, sender.user_agent)
        return PendingRequest(event, origin, sender.language, arrival)

    def answer(
        self,
        request: Request,
        store: Store,
        *,
        now: Instant,
        monotonic: Monotonic,
        entropy: Entropy,
        trace_id: str,
        report: Callable[[Exception, str], None],
    ) -> Answer:
        """Decide a request in `store` and return its answer.

        What the store raises goes to `report`, with the trace id, and the answer is a 500. Log no more than
        the type of the exception: its text may quote a token.
        """
        try:
            pending = self.receive(request, now=now, monotonic=monotonic, entropy=entropy, trace_id=trace_id)
            if isinstance(pending, Answer):
                return pending
            events, origins = [pending.event], [pending.origin]
            [decision] = retry_lost_races(lambda: store.turn(events, now, origins))
            return pending.answer(decision)
        except Exception as error:
            report(error, trace_id)
            return self.failure(request, trace_id)

    def failure(self, request: Request, trace_id: TraceId) -> Answer:
        """Return the answer to a request that failed: a 500 in the envelope, without detail."""
        is_enveloped = request.path not in token_service.PATHS
        fail = envelope.failure if is_enveloped else envelope.token_service_failure
        return fail(Why.INTERNAL_ERROR, self._language_of(request), trace_id)

    def _refuse_method(self, operation: Operation | None, request: Request, trace_id: TraceId) -> Answer:
        """Answer 405 with the allowed methods (RFC 9110 §15.5.6)."""
        if operation is None:
            headers = (*NO_STORE, (b"allow", b"GET, HEAD"))
            language = self._language_of(request)
            return envelope.failure(Why.METHOD_NOT_ALLOWED, language, trace_id, headers=headers)
        refusal = token_service.refusal(operation, Why.METHOD_NOT_ALLOWED)
        return replace(refusal, headers=(*refusal.headers, (b"allow", b"POST")))

    def _receive_userinfo(
        self, request: Request, trace_id: TraceId, arrival: Arrival
    ) -> PendingRequest | Answer:
        language = self._language_of(request)
        event = userinfo.read(request.headers, language=language, trace_id=trace_id)
        if isinstance(event, Answer):
            return event
        origin = Origin(trace_id, request.source, user_agent_of(request.headers))
        return PendingRequest(event, origin, language, arrival)

    def _language_of(self, request: Request) -> Language:
        return language_of(request.headers, self.languages)
