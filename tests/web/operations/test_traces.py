"""Each request at either door has a span, and so has its turn; no span holds words that a caller sent.

The collector is a small server that takes OTLP over HTTP and keeps every request.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from fuzz.processes.connection import Connection
from fuzz.processes.server import ADMIN_PASSWORD, ROOT, Server
from fuzz.shared import http_client
from fuzz.shared.http_client import Fields, Response
from fuzz.shared.seeds import SeededEntropy
from ostiary_core import Decision, Instant
from ostiary_core.events import Event
from ostiary_core.http import Request
from ostiary_net.observability.spans import open_spans
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import open_turns
from tests.net.postgres.load import Desk
from tests.support.processes import ForkedServer
from tests.support.stores import HandClock, PlainStore, origin, registration_of

PATIENCE_SECONDS = 30.0
TOKEN, INTROSPECT = "/api/oauth2/token", "/api/oauth2/introspect"
CALLERS_TRACE, CALLERS_SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = ("traceparent", f"00-{CALLERS_TRACE}-{CALLERS_SPAN}-01")
AT_THE_LANE: list[tuple[str, str]] = []
AT_HYPERCORN = [("Cookie", "a=b")]
"""The lane takes no request with a cookie."""


class Seen(NamedTuple):
    """A span as the collector has it."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    failed: bool
    attributes: dict[str, Any]
    kind: int
    nanoseconds: int


class Collector(ThreadingHTTPServer):
    """A server that takes spans at `/v1/traces`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.sent = b""
        self.fields: list[dict[str, str]] = []
        self.spans: list[Seen] = []
        self.resources: list[dict[str, Any]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, path: str, fields: dict[str, str], body: bytes) -> None:
        assert path == "/v1/traces"
        self.sent += body
        self.fields.append(fields)
        for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(read_attributes(resource_spans.resource.attributes))
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
                    ids = trace_id.hex(), span_id.hex(), parent_id.hex()
                    failed = span.status.code == span.status.STATUS_CODE_ERROR
                    took = span.end_time_unix_nano - span.start_time_unix_nano
                    about = read_attributes(span.attributes)
                    self.spans.append(Seen(span.name, *ids, failed, about, span.kind, took))

    def await_span(self, is_it: Callable[[Seen], bool]) -> Seen:
        """Wait for a span that `is_it` accepts, and return it."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            for span in list(self.spans):
                if is_it(span):
                    return span
            assert time.monotonic() < until, [each.name for each in self.spans]
            time.sleep(0.02)


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.take(self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def read_attributes(attributes: Sequence[KeyValue]) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "") for each in attributes}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def server(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=of-the-collector",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    with ForkedServer(tmp_path_factory.mktemp("traced"), settings=settings) as made:
        made.start_and_wait()
        yield made


@pytest.fixture
async def desk(server: Server) -> AsyncIterator[Desk]:
    made = Desk(server.port, ADMIN_PASSWORD)
    await made.open()
    yield made
    made.hang_up()


async def ask(server: Server, method: str, path: str, fields: Fields) -> Response:
    with Connection(server.port) as connection:
        return await connection.exchange(http_client.Request(method, path, fields))


async def post(server: Server, path: str, fields: Fields, **form: str) -> Response:
    with Connection(server.port) as connection:
        return await connection.post_form(path, fields, **form)


def read_log(server: Server, trace_id: str) -> list[dict[str, Any]]:
    """Return the lines of the log with this trace id."""
    found = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    return [entry for entry in found if entry.get("trace_id") == trace_id]


def of_operation(operation: str, known: int, collector: Collector) -> Callable[[Seen], bool]:
    """Return whether a span is of an operation and came after the first `known`, as a function."""
    before = {span.span_id for span in collector.spans[:known]}
    return lambda span: span.span_id not in before and span.attributes.get("ostiary.operation") == operation


@pytest.mark.parametrize("door", [AT_THE_LANE, AT_HYPERCORN], ids=["lane", "hypercorn"])
async def test_a_request_has_a_span_with_its_turn_in_the_callers_trace_and_the_log_an_id_of_its_own(
    server: Server, desk: Desk, collector: Collector, door: list[tuple[str, str]]
) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": (await desk.tokens()).refresh}
    for parent, trace in (("", []), (CALLERS_SPAN, [TRACEPARENT])):
        known = len(collector.spans)
        answer = await post(server, TOKEN, [desk.basic, *trace, *door], **form)
        assert answer.status == 200
        form["refresh_token"] = answer.json()["refresh_token"]
        span = collector.await_span(of_operation("refresh_requested", known, collector))
        assert (span.name, span.parent_id, span.failed) == (f"POST {TOKEN}", parent, False)
        own_id = span.attributes["ostiary.trace_id"]
        assert (span.trace_id, own_id == CALLERS_TRACE) == (CALLERS_TRACE if trace else own_id, False)
        assert span.attributes == {
            "http.request.method": "POST",
            "http.route": TOKEN,
            "http.response.status_code": 200,
            "ostiary.operation": "refresh_requested",
            "ostiary.outcome": "ok",
            "ostiary.trace_id": own_id,
        }
        assert [entry["event"] for entry in read_log(server, own_id)] == ["pair-rotated"]
        turn = collector.await_span(lambda each: each.parent_id == span.span_id)  # noqa: B023 (called at once)
        assert (turn.name, turn.trace_id) == ("turn write", span.trace_id)
        assert turn.attributes == {"ostiary.turn.queue": "write", "ostiary.turn.events": 1}
    assert read_log(server, CALLERS_TRACE) == []


LATER = f"01-{CALLERS_TRACE}-{CALLERS_SPAN}-01-"


@pytest.mark.parametrize(
    "values, is_right",
    [
        ([TRACEPARENT[1]], True),
        ([LATER + "x" * (128 - len(LATER))], True),
        ([LATER + "x" * (129 - len(LATER))], False),
        ([TRACEPARENT[1], TRACEPARENT[1]], False),
        ([""], False),
        ([f"00-{'0' * 32}-{CALLERS_SPAN}-01"], False),
        ([f"00-{CALLERS_TRACE}-{'0' * 16}-01"], False),
        ([f"ff-{CALLERS_TRACE}-{CALLERS_SPAN}-01"], False),
        ([f"00-{CALLERS_TRACE.upper()}-{CALLERS_SPAN}-01"], False),
        (["\xff"], False),
    ],
)
async def test_a_wrong_traceparent_counts_as_none(
    collector: Collector, values: list[str], is_right: bool
) -> None:
    fields = [(b"traceparent", value.encode("latin-1")) for value in values]
    trace_id = SeededEntropy(str(values)).draw()[:16].hex()
    async with open_spans(f"{collector.address}/") as spans:
        spans.begin_request(trace_id, "BREW", [(b"tracestate", b"a=b"), *fields])
        spans.record_turn("read", [None, origin("f" * 32), origin(trace_id)], 2.5)
        spans.record_answer(trace_id, 499, None)
        spans.end_request(trace_id)
    span = collector.await_span(lambda each: each.attributes.get("ostiary.trace_id") == trace_id)
    assert (span.name, span.attributes["http.request.method"], span.failed) == ("_OTHER", "_OTHER", False)
    caller = (CALLERS_TRACE, CALLERS_SPAN) if is_right else (trace_id, "")
    assert (span.trace_id, span.parent_id) == caller
    [turn] = [each for each in collector.spans if each.parent_id == span.span_id]
    assert (turn.name, turn.trace_id, turn.nanoseconds) == ("turn read", span.trace_id, 2_500_000_000)
    assert turn.attributes == {"ostiary.turn.queue": "read", "ostiary.turn.events": 3}
    assert all(each.parent_id for each in collector.spans if each.name.startswith("turn"))
    assert (span.kind, turn.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_INTERNAL)
    said = collector.resources[-1]
    described = (said["service.name"], said["service.version"], said["process.pid"])
    assert described == ("ostiary", version("ostiary"), os.getpid())


async def test_spans_have_reasons_and_routes(server: Server, desk: Desk, collector: Collector) -> None:
    """The span of a refusal has its reason, and the span of a page has its route."""
    known = len(collector.spans)
    wrong = {"grant_type": "refresh_token", "refresh_token": "of-nobody"}
    assert (await post(server, TOKEN, [desk.basic], **wrong)).status == 400
    span = collector.await_span(of_operation("refresh_requested", known, collector))
    assert span.attributes["ostiary.outcome"] == "token_unknown"
    assert span.attributes["http.response.status_code"] == 400
    person = await desk.user()
    await ask(server, "GET", f"/api/iam/users/{person.user_id}", [])
    unauthorized = collector.await_span(lambda each: each.attributes.get("http.route", "").endswith("id>"))
    assert unauthorized.attributes["http.response.status_code"] == 401
    assert person.user_id not in unauthorized.name


async def test_no_span_holds_what_a_caller_sent(server: Server, desk: Desk, collector: Collector) -> None:
    pair = await desk.tokens()
    marked = [("User-Agent", "MarkedAgent"), ("tracestate", "marked=state"), TRACEPARENT]
    marked += [("X-Forwarded-For", "198.51.100.77")]
    refresh = {"grant_type": "refresh_token", "refresh_token": pair.refresh}
    rotated = (await post(server, TOKEN, [desk.basic, *marked], **refresh)).json()
    await post(server, INTROSPECT, [desk.basic, *marked], token=pair.access)
    await ask(server, "GET", "/marked-path?marked=query", marked)
    await ask(server, "MARKED", "/healthz", marked)
    await ask(server, "GET", "/sso?client_id=marked-client&state=marked-state", marked)
    await ask(server, "GET", "/api/oauth2/userinfo", [("Authorization", f"Bearer {pair.access}"), *marked])
    collector.await_span(lambda each: each.name == "GET /api/oauth2/userinfo")
    collector.await_span(lambda each: each.name.startswith("_OTHER"))
    collector.await_span(lambda each: each.attributes.get("http.response.status_code") == 404)
    basic = desk.basic[1].removeprefix("Basic ")
    secrets = [*pair, rotated["access_token"], rotated["refresh_token"], basic, ADMIN_PASSWORD]
    for text in (*secrets, "MarkedAgent", "marked", "MARKED", "198.51.100.77"):
        assert text.encode() not in collector.sent, text


async def test_the_sdks_variables_name_the_sender_and_its_key(server: Server, collector: Collector) -> None:
    before = {span.span_id for span in collector.spans}
    await ask(server, "GET", "/api/oauth2/userinfo", [])
    collector.await_span(lambda each: each.span_id not in before)
    said = collector.resources[-1]
    assert (said["service.name"], said["deployment.environment"]) == ("ostiary", "test")
    assert collector.fields[-1]["x-key"] == "of-the-collector"


# --- a turn that fails, a collector that is away, and a server without one


class Failing(PlainStore):
    """A store that fails every turn."""

    def turn(self, events: Sequence[Event], now: Instant, origins: Sequence[object] = ()) -> list[Decision]:
        raise OSError("the disk is full")


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "hung up"])
@pytest.mark.parametrize("store, outcome", [(PlainStore, "client_unknown"), (Failing, "failed")])
async def test_a_span_shows_how_its_turn_ended_and_whether_it_was_answered(
    collector: Collector, store: type[PlainStore], outcome: str, is_answered: bool
) -> None:
    clock, entropy = HandClock(), SeededEntropy(f"traces {outcome} {is_answered}")
    async with open_spans(collector.address) as spans, open_turns(store(), clock, tracing=spans) as turns:
        service = Service(turns=turns, clock=clock, entropy_source=entropy, tracing=spans)
        fields = [(b"content-type", b"application/x-www-form-urlencoded"), (b"authorization", b"Basic YTpi")]
        path, body = "/api/oauth2/revoke", b"token=unknown"
        request = Request(method="POST", path=path, headers=fields, body=body, source="203.0.113.7")
        trace_id = service.open_request(request)
        answer = await service.answer(request, trace_id)
        service.close_request(trace_id, *((answer.status, "/route") if is_answered else ()))
    has_failed = outcome == "failed"
    assert has_failed == (answer.status == 500)
    span = collector.await_span(lambda each: each.attributes.get("ostiary.trace_id") == str(trace_id))
    assert (span.failed, span.trace_id) == (has_failed and is_answered, str(trace_id))
    assert span.name == ("POST /route" if is_answered else "POST")
    answered = {"http.response.status_code": answer.status, "http.route": "/route"} if is_answered else {}
    assert span.attributes == {
        "http.request.method": "POST",
        "ostiary.operation": "revocation_requested",
        "ostiary.outcome": outcome,
        "ostiary.trace_id": str(trace_id),
        **answered,
    }
    made = [each for each in collector.spans if each.parent_id == span.span_id]
    assert [each.name for each in made] == ([] if has_failed else ["turn write"])
    assert all(each.trace_id == span.trace_id for each in made)


async def test_a_page_that_asks_has_the_outcome_in_its_span(collector: Collector) -> None:
    clock = HandClock()
    for store, outcome in ((PlainStore(), "ok"), (Failing(), "failed")):
        async with open_spans(collector.address) as spans, open_turns(store, clock) as turns:
            service = Service(turns=turns, clock=clock, entropy_source=SeededEntropy(outcome), tracing=spans)
            request = Request(method="POST", path="/login", headers=[], body=b"", source="203.0.113.7")
            trace_id = service.open_request(request)
            with suppress(TurnFailed):
                came_from = service.make_origin([], "203.0.113.7", trace_id)
                await service.decide(registration_of("anna"), came_from)
            service.close_request(trace_id)
        span = collector.await_span(lambda each: each.attributes.get("ostiary.trace_id") == str(trace_id))  # noqa: B023
        assert span.attributes["ostiary.outcome"] == outcome


async def test_a_collector_that_is_away_costs_no_request_and_no_graceful_stop(tmp_path: Path) -> None:
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_BSP_SCHEDULE_DELAY": "10"}
    with ForkedServer(tmp_path, settings=settings) as server:
        server.start_and_wait()
        for _ in range(20):
            assert (await ask(server, "GET", "/healthz", [])).status == 200
        assert server.stop() == 0


async def test_a_collector_that_is_silent_makes_no_stop_longer(tmp_path: Path) -> None:
    """A collector that has stopped would refuse connections at once. This one accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with ForkedServer(tmp_path, settings={"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}) as server:
            server.start_and_wait()
            assert (await ask(server, "GET", "/healthz", [])).status == 200
            began = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - began < 4.5, "by itself the SDK waits 10 s"


def test_without_a_collector_nothing_of_the_sdk_is_imported() -> None:
    look = (
        "import sys, ostiary_web.cli.command_line as line; line.main.load_all();"
        "sys.exit(any(name.partition('.')[0] == 'opentelemetry' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", look], cwd=ROOT, check=False).returncode == 0
