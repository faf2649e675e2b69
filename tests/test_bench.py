"""The bench's own code: that it notices wrong answers, judges rightly, and writes what it measured."""

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docs.bench import postgres
from docs.bench.bars import judge, room_for_two
from docs.bench.cells import LANE, ROOT, make_glewlwyd
from docs.bench.driver import Address, WrongAnswer, ask_once, drive
from docs.bench.findings import Crowded, Findings, Idle, Machine, Measured, Stored, read_findings
from docs.bench.names import CHAINS, token
from docs.bench.peers import glewlwyd
from docs.bench.peers.installing import Unavailable, node_programs
from docs.bench.running import running
from docs.bench.workloads import Introspection, Paths, Refresh, RefreshAny, Tokens
from docs.performance_page import REPORT, measured_section, write_into_page, write_report

PATHS = Paths("/token", "/introspect", "/userinfo")
ACTIVE = b'{"active": true, "client_id": "client-1"}'


@contextmanager
def answering(*pieces: bytes) -> Iterator[Address]:
    """Serve one connection, and answer each request with these pieces, each sent on its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            link, _ = listener.accept()
            with link:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while link.recv(65536):
                    for piece in pieces:
                        link.sendall(piece)
                    if not pieces:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            thread.join()


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


# --- the driver


def test_an_answer_may_come_in_pieces_and_in_chunks() -> None:
    in_pieces = [bytes([each]) for each in whole(ACTIVE)]
    head = b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n"
    in_chunks = [head, b"3\r\n{}\n\r\n", b"1\r\n!\r\n0\r\n\r\n"]
    for pieces, expected in ((in_pieces, (200, ACTIVE)), (in_chunks, (400, b"{}\n!"))):
        with answering(*pieces) as address:
            assert ask_once(address, b"GET / HTTP/1.1\r\n\r\n") == expected


def test_every_request_of_a_round_is_counted_and_timed() -> None:
    class Ten:
        asked = heard = 0

        def ask(self) -> bytes:
            self.asked += 1
            return b"GET / HTTP/1.1\r\n\r\n"

        def hear(self, status: int, body: bytes) -> None:
            self.heard += 1

    conversation = Ten()
    with answering(whole(b"")) as address:
        done = drive(address, [conversation], 0.02)
    assert done.requests == len(done.latencies) == conversation.asked == conversation.heard > 0


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(whole(b'{"active":false}'), id="inactive"),
        pytest.param(whole(ACTIVE, "503 Busy"), id="refused"),
        pytest.param(whole(ACTIVE.replace(b"client-1", b"client-x")), id="another client's"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + ACTIVE, id="without an end"),
    ],
)
def test_a_wrong_answer_and_none_end_the_run(answer: bytes) -> None:
    for pieces in ([answer], []):
        with answering(*pieces) as address, pytest.raises(WrongAnswer):
            drive(address, [Introspection(PATHS, Tokens(10_000), seed=1)], 0.0)


def test_a_refresh_token_that_stays_as_it_was_is_a_wrong_answer() -> None:
    chain = Refresh(PATHS, 0, "first")
    chain.hear(200, b'{"access_token":"a","refresh_token":"second"}')
    assert b"refresh_token=second" in chain.ask()
    with pytest.raises(WrongAnswer, match="not rotated"):
        chain.hear(200, b'{"access_token":"b","refresh_token":"second"}')


def test_refreshes_of_any_session_spend_the_tokens_that_the_ones_before_were_given() -> None:
    tokens = Tokens(CHAINS + 3)
    [first, second] = [RefreshAny(PATHS, tokens, place, 2, seed=1) for place in range(2)]
    assert {second.ask() for _ in range(20)} == {
        Refresh(PATHS, CHAINS + 1, token("refresh", CHAINS + 1)).ask()
    }
    asked = set()
    for turn in range(20):
        asked.add(first.ask())
        first.hear(200, b'{"access_token":"access-%d","refresh_token":"refresh-%d"}' % (turn, turn))
    assert b"refresh_token=refresh-" in b"".join(asked)
    assert tokens.access(CHAINS + 2).startswith("access-")
    assert tokens.access(CHAINS + 1) == token("access", CHAINS + 1)


# --- what is stored before


@pytest.mark.parametrize("name", ["this server", "Glewlwyd"])
def test_a_server_takes_a_filled_store_for_its_own(name: str, tmp_path: Path) -> None:
    """Try every operation on sessions that were written past the rules; the driver checks the answers."""
    if name == "Glewlwyd" and shutil.which("glewlwyd") is None:
        pytest.skip("needs Debian's package glewlwyd")
    cell, sessions = LANE if name == "this server" else make_glewlwyd(name), 2_000
    with running(cell, tmp_path / "cell", sessions) as server:
        for operation in cell.operations:
            conversations = server.conversations(operation, 4, seed=1, seconds=0.05)
            assert drive(server.address, conversations, 0.05).requests >= 4
            server.look_up(conversations)
        assert server.cpu_seconds() > 0
        assert server.disk_bytes / sessions > 100


def test_a_peer_that_cannot_be_had_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for find, said in ((node_programs, "no node and npm"), (glewlwyd.find_program, "package glewlwyd")):
        with pytest.raises(Unavailable, match=said):
            find()


# --- judging and reporting


def measurement_of(
    cell: str, operation: str, cost: float, *, connections: int = 32, rate: float = 1_000
) -> Measured:
    return Measured(
        cell,
        operation,
        connections,
        100_000,
        requests=3_000,
        cpu_microseconds=[cost * 5, cost, cost / 2],
        driver_microseconds=[40.0],
        per_second=[rate],
        p50_ms=[2.0],
        p99_ms=[8.0],
        p999_ms=[20.0],
        others=[0.01],
        resident_mib=70.0,
    )


def findings() -> Findings:
    """Make figures with which introspection just meets its bar beside ASGI, and just misses Authlib's."""
    made = Findings(Machine("A processor", 2, "Linux", "3.11", ""), rounds=3, seconds=1.0)
    made.beside = [
        measurement_of("lane", "introspect", 75),
        measurement_of("lane", "introspect", 150, connections=1),
        measurement_of("lane", "refresh", 200),
        measurement_of("plain", "introspect", 900),
        measurement_of("bare ASGI", "fixed", 600),
        measurement_of("Authlib", "introspect", 899),
    ]
    made.sizes = [measurement_of("lane", "introspect", cost) for cost in (100, 160)]
    made.sizes[0].sessions = 1_000
    made.workers = [
        measurement_of("lane", "introspect", 100, rate=9_000, connections=256),
        measurement_of("lane, 2 workers", "introspect", 100, rate=12_000, connections=256),
        measurement_of("lane", "refresh", 200, rate=4_000, connections=256),
        measurement_of("lane, 2 workers", "refresh", 200, rate=3_999, connections=256),
        measurement_of("lane, 2 workers", "refresh", 200, rate=9_999),
    ]
    made.postgres = [
        measurement_of("lane", "introspect", 100),
        measurement_of(postgres.ONE.name, "introspect", 250, rate=1_000),
        measurement_of(postgres.TWO.name, "introspect", 313, connections=64, rate=1_600),
    ]
    made.stored = [Stored("lane", 100_000, 70_000_000, 70.0), Stored("oidc-provider", 100_000, 0, 300.0)]
    made.idle = Idle(10_000, 60.0, 199.0, 5.0, 6.0)
    made.crowded = [Crowded(1, 0.5, 2.0, 4.0, 2.0), Crowded(6, 0.5, 13.0, 20.0, 2.0)]
    made.left_out = {"django-oauth-toolkit": "no index could be reached"}
    return made


def test_bars_are_judged_by_the_medians_of_one_run() -> None:
    verdicts = {f"{bar.what}: {bar.unit}": bar.verdict for bar in judge(findings())}
    assert verdicts["introspect, lane: × bare ASGI"] == "met"
    assert verdicts["introspect, lane: × Authlib"] == "missed"
    assert verdicts["introspect, lane: × oidc-provider"] == "not measured"
    assert verdicts["refresh, lane: × bare ASGI"] == "met"
    assert verdicts["introspect, plain: × bare ASGI"] == "missed"
    assert verdicts["p99 of refresh, lane: × its p50"] == "met"
    assert verdicts["introspect, PostgreSQL: × the CPU on SQLite"] == "met"
    assert verdicts["introspect, PostgreSQL, 2 instances: × what one can do, by CPU"] == "missed"
    assert verdicts["refresh, PostgreSQL: × the CPU on SQLite"] == "not measured"
    assert verdicts["introspect at 100,000 sessions: × the CPU at 1,000"] == "missed"
    assert verdicts["introspect, 2 workers, 256 connections: × what two cores have room for"] == "met"
    assert verdicts["refresh, 2 workers, 256 connections: × the rate of one"] == "missed"
    assert verdicts["10,000 idle connections, one process: MiB"] == "met"
    assert verdicts["introspect, beside callers who pipeline: 1: × the latency without them"] == "met"
    assert verdicts["introspect, beside callers who pipeline: 6: × the latency without them"] == "missed"
    busy = findings()
    for here in busy.beside:
        here.others = [0.4]
    verdicts = {bar.what: bar.verdict for bar in judge(busy)}
    assert verdicts["introspect, 2 workers, 256 connections"] == "not measured", "its rates say nothing"


def test_a_driver_without_a_core_of_its_own_takes_room_from_the_workers() -> None:
    made = findings()
    one = made.workers[0]
    assert room_for_two(made, one) == pytest.approx(2e6 / 140)
    made.machine = Machine("A processor", 4, "Linux", "3.11", "")
    assert room_for_two(made, one) == pytest.approx(2e6 / 100)
    [by_rate] = [bar for bar in judge(made) if bar.what == "introspect, PostgreSQL, 2 instances"]
    assert (by_rate.verdict, by_rate.unit) == ("met", "× the rate of one"), "on cores of their own"


def test_a_report_reads_back_and_only_the_marked_place_of_a_page_is_written(tmp_path: Path) -> None:
    page, made = tmp_path / "performance.md", findings()
    marks = [line for line in (ROOT / "docs/performance.md").read_text().splitlines() if line[:4] == "<!--"]
    page.write_text(f"before\n\n{marks[0]}\nold\n{marks[1]}\n\nafter\n")
    for _ in range(2):
        write_into_page(made, page)
    assert read_findings(tmp_path / "performance" / REPORT) == made
    text = page.read_text()
    assert text.startswith(f"before\n\n{marks[0]}\n\nA processor, 2 cores")
    assert text.endswith(f"{marks[1]}\n\nafter\n")
    missing = "django-oauth-toolkit could not be installed and is left out: no index could be reached"
    assert missing in " ".join(text.split())
    assert text.count("| lane | introspect | 75 | 8.00 | 1000 | 2.00 | 8.00 | 20.00 | 70 |") == 1
    assert "| 6 | 0.50 | 13.00 | 20.00 | 26.0 | 2 |" in text
    assert "not quiet" not in text
    write_report(made, tmp_path)
    assert text.count("| lane |") == (tmp_path / "measured.md").read_text().count("| lane |")
    page.write_text("by hand")
    with pytest.raises(ValueError, match="no place marked"):
        write_into_page(made, page)
    assert page.read_text() == "by hand"


def test_the_figures_of_the_book_are_those_that_were_measured() -> None:
    """Compare the page between its marks with the JSON beside it (`python -m docs.bench --only-write`)."""
    page = ROOT / "docs/performance.md"
    assert measured_section(read_findings(page.with_suffix("") / REPORT)) in page.read_text()
