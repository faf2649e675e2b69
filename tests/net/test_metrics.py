"""Metrics: each event is counted once, by its known name."""

import os
import resource
import time
from importlib.metadata import version
from pathlib import Path

import pytest
import trio
from structlog.testing import capture_logs

from fuzz.processes.connection import Connection
from fuzz.shared.http_client import Request, Response
from ostiary_core import Instant
from ostiary_core.events import GrantUnrecognised
from ostiary_core.http import token_service
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.reply import Done, Refused
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import LIMITS, Operation
from ostiary_net.front_door.scraping import open_metrics_listeners, serve_metrics
from ostiary_net.observability.metrics import Metrics
from ostiary_net.turns.turn_queue import TurnFailed
from tests.net.test_service import posting, serving
from tests.support import asks
from tests.support.stores import BreakingStore, PlainStore, origin, registration_of

SECRET = "a-secret-that-a-client-sent"

UNKNOWN_GRANT = GrantUnrecognised(credentials=asks.credentials("app", "secret"), why=Why.GRANT_TYPE_UNKNOWN)


def samples(metrics: Metrics) -> dict[str, float]:
    """Return every sample by its name and labels."""
    lines = [line for line in metrics.write_exposition().splitlines() if not line.startswith("# ")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


async def test_an_event_is_counted_by_its_name_and_how_it_went() -> None:
    store, metrics = BreakingStore(), Metrics()
    async with serving(store, metrics) as service:
        await service.decide(registration_of("anna"), origin())
        await service.decide(registration_of("anna"), origin())
        store.broken = True
        with pytest.raises(TurnFailed):
            await service.decide(registration_of("bert"), origin())
        for look in (service.query, service.query_whole_lists):
            with pytest.raises(TurnFailed):
                await look(lambda store, now: 1 // 0, origin())
    found = samples(metrics)
    assert found["ostiary_failed_looks_total"] == 2
    for outcome, number in (("ok", 1), ("already_taken", 1), ("failed", 1)):
        assert found[f'ostiary_requests_total{{operation="user_registered",outcome="{outcome}"}}'] == number
    assert found['ostiary_facts_total{fact="user-registered",why=""}'] == 1
    assert found['ostiary_turn_events_count{queue="write"}'] == 2
    assert found['ostiary_turn_seconds_bucket{queue="write",le="+Inf"}'] == 2
    assert found['ostiary_turn_seconds_sum{queue="write"}'] < time.perf_counter(), "a duration"


async def test_a_request_over_its_limit_is_counted_by_its_operation() -> None:
    metrics = Metrics()
    async with serving(PlainStore(), metrics) as service:
        request = posting(Operation.TOKEN, [], b"")
        with capture_logs() as log:
            assert (await service.answer(request, service.draw_trace_id())).status == 400
        assert log == []
        for _ in range(LIMITS[Operation.TOKEN] + 1):
            service.admit(Operation.TOKEN, "203.0.113.7")
        assert (await service.answer(request, service.draw_trace_id())).status == 429
    found = samples(metrics)
    assert found['ostiary_rate_limited_total{operation="token"}'] == 3
    assert found['ostiary_rate_limited_total{operation="revoke"}'] == 0
    assert [tally for key, tally in service.activity.take_refusals()[0].items() if "many" in key.detail] == [
        (1, 0, 0)
    ]


def test_the_delay_of_a_safe_retry_is_counted_and_never_negative() -> None:
    metrics = Metrics()
    for earlier_at in (10_000, 9_700, 12_000):
        fact = Fact(kind=FactKind.PAIR_REPEATED, earlier_at=Instant(earlier_at))
        metrics.count_decision(UNKNOWN_GRANT, Decision(Done(), facts=(fact,)), lambda: Instant(10_000))
    found = samples(metrics)
    assert found['ostiary_retry_delay_seconds_bucket{le="0.1"}'] == 2
    assert found['ostiary_retry_delay_seconds_bucket{le="0.5"}'] == 3
    assert found["ostiary_retry_delay_seconds_count"] == 3
    assert found["ostiary_retry_delay_seconds_sum"] == pytest.approx(0.3)


async def test_nothing_that_a_client_sent_is_in_the_metrics() -> None:
    metrics, store = Metrics(), PlainStore()
    async with serving(store, metrics) as service:
        fields = [(b"content-type", b"application/x-www-form-urlencoded"), (b"user-agent", SECRET.encode())]
        for body in (
            f"grant_type={SECRET}&client_id={SECRET}&client_secret={SECRET}",
            f"grant_type=refresh_token&refresh_token={SECRET}&client_id={SECRET}&client_secret={SECRET}",
            f"{SECRET}={SECRET}",
        ):
            await service.answer(posting(Operation.TOKEN, fields, body.encode(), SECRET), "a trace")
    assert token_service.PATHS, "the operations have paths"
    assert SECRET not in metrics.write_exposition()
    assert sum(n for name, n in samples(metrics).items() if name.startswith("ostiary_requests_total")) == 2


def test_what_the_process_uses_is_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    found = samples(Metrics())
    assert found["process_resident_memory_bytes"] == pytest.approx(used, rel=0.1)
    assert found["process_open_fds"] == len(os.listdir("/proc/self/fd"))
    assert found["process_max_fds"] == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert found["process_cpu_seconds_total"] == pytest.approx(time.process_time(), abs=0.5)
    assert found["process_start_time_seconds"] == pytest.approx(time.time(), abs=60)
    assert found[f'ostiary_build_info{{version="{version("ostiary")}"}}'] == 1
    for nothing in (b"", b"1 x"):
        monkeypatch.setattr(Path, "read_bytes", lambda _, said=nothing: said)
        assert not {"process_resident_memory_bytes", "process_open_fds", "process_max_fds"} & {
            *samples(Metrics())
        }


# --- the address of the metrics


async def ask(port: int, method: str, target: str) -> Response:
    with Connection(port) as connection:
        return await connection.exchange(Request(method, target))


async def test_metrics_are_served_on_an_address_of_their_own_and_nothing_else_is() -> None:
    metrics = Metrics()
    metrics.count_decision(UNKNOWN_GRANT, Decision(Refused(Why.GRANT_TYPE_UNKNOWN)), lambda: Instant(0))
    with open_metrics_listeners("127.0.0.1:0", {}) as listeners, trio.fail_after(20):
        port = listeners[0].getsockname()[1]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_metrics, listeners, metrics)
            response = await ask(port, "GET", "/metrics")
            assert response.status == 200
            assert response.field("content-type") == "text/plain; version=0.0.4; charset=utf-8"
            assert response.field("x-content-type-options") == "nosniff"
            assert b'operation="grant_unrecognised",outcome="grant_type_unknown"} 1\n' in response.body
            assert (await ask(port, "HEAD", "/metrics")).body == b""
            assert (await ask(port, "GET", "/")).status == 404
            assert (await ask(port, "POST", "/metrics")).status == 405
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await stream.send_all(b"nonsense\r\n\r\n")
                assert await stream.receive_some(1) == b""
            assert (await ask(port, "GET", "/metrics?x=1")).status == 200
            nursery.cancel_scope.cancel()
