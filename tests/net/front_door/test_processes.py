"""Real processes: one server, several under a supervisor, and plain Hypercorn."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from ostiary_net.front_door import supervising
from ostiary_net.front_door.lifeline import VARIABLE, Lifeline
from ostiary_net.front_door.listeners import AddressError, open_listeners
from tests.support.processes import Process, wait_until

ROOT = Path(__file__).parents[3]
GET = b"GET / HTTP/1.1\r\nHost: door\r\nConnection: close\r\n\r\n"
PATIENCE_SECONDS = 30
"""A busy machine may take so long; no test waits for a time to pass."""

Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def start_it(how: str, bind: str = "127.0.0.1:0", *more: str, **variables: str) -> Process:
            argv = [sys.executable, "-m", "tests.net.front_door.worker", how, bind, *more]
            env, pipe = {**os.environ, **variables}, subprocess.PIPE
            return stack.enter_context(Process(argv, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True))

        yield start_it


@pytest.mark.parametrize("kind", ["serve", "supervise"])
def test_a_signal_ends_a_server_with_0(start: Start, kind: str) -> None:
    with hanging_up(signal.SIG_DFL):
        servers = {how: start(kind) for how in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    for how, server in servers.items():
        assert (ask(port_of(server)) == server.pid) == (kind == "serve")
        server.send_signal(how)
    assert [server.wait(PATIENCE_SECONDS) for server in servers.values()] == [0] * 3


def test_a_worker_that_serves_once_its_parent_has_gone_ends_without_a_word() -> None:
    with open_listeners("127.0.0.1:0") as [listener]:
        ours, its = socket.socketpair()
        ours.close()
        worker = subprocess.run(
            [sys.executable, "-m", "tests.net.front_door.worker", "serve", f"fd://{listener.fileno()}"],
            cwd=ROOT,
            env={**os.environ, VARIABLE: str(its.fileno())},
            pass_fds=(listener.fileno(), its.fileno()),
            capture_output=True,
            timeout=PATIENCE_SECONDS,
        )
        its.close()
    assert (worker.returncode, worker.stderr) == (0, b"")


async def test_a_worker_whose_parent_has_gone_announces_nothing_and_notices() -> None:
    ours, its = socket.socketpair()
    ours.close()
    with Lifeline(its) as lifeline:
        lifeline.announce_ready()
        assert not await lifeline.wait()


def test_a_server_that_does_not_come_to_its_end_ends_itself(start: Start) -> None:
    server = start("hang")
    port_of(server)
    server.send_signal(signal.SIGINT)
    assert server.wait(PATIENCE_SECONDS) == 1


@pytest.mark.parametrize(
    "signals, graceful_seconds",
    [((signal.SIGTERM,), "0.2"), ((signal.SIGTERM, signal.SIGINT), "600")],
    ids=["in time", "at once at a second signal"],
)
def test_a_server_whose_event_loop_stands_still_ends_itself(
    start: Start, signals: tuple[signal.Signals, ...], graceful_seconds: str
) -> None:
    server = start("freeze", "127.0.0.1:0", graceful_seconds)
    with socket.create_connection(("127.0.0.1", port_of(server)), PATIENCE_SECONDS) as client:
        client.sendall(GET)
        assert server.out.readline() == "frozen\n"
        for each in signals:
            server.send_signal(each)
        assert server.wait(PATIENCE_SECONDS) == 1


def test_a_signal_that_the_server_inherits_as_ignored_does_not_stop_it(start: Start) -> None:
    with hanging_up(signal.SIG_IGN):
        servers = [start(how) for how in ("serve", "supervise")]
    for server in servers:
        port = port_of(server)
        server.send_signal(signal.SIGHUP)
        assert ask(port)
        server.stop()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_worker_that_dies_or_stands_still_is_replaced_and_the_others_go_on(
    how: signal.Signals, start: Start
) -> None:
    parent = start("supervise")
    port = port_of(parent)
    ended, other = sorted(wait_for(lambda: pids(port), count=2))
    os.kill(ended, how)
    assert other in wait_for(lambda: pids(port) - {ended}, count=2)
    assert not Path(f"/proc/{ended}").exists()
    parent.stop()
    with pytest.raises(ConnectionRefusedError):
        ask(port)


async def test_a_worker_counts_as_stopped_after_thirty_seconds_of_silence_and_not_by_a_long_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ours, its = socket.socketpair()

    async def take_long_turns() -> None:
        for _ in range(20):
            await trio.sleep(25)
            worker.announce_ready()

    with Lifeline(ours) as supervisor, Lifeline(its) as worker:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(take_long_turns)
            await supervisor.wait_for_silence()
        assert trio.current_time() - began == pytest.approx(20 * 25 + 30, abs=2)


async def test_time_in_which_the_machine_was_suspended_makes_no_worker_silent(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ours, its = socket.socketpair()

    async def suspend() -> None:
        for _ in range(20):
            await trio.sleep(5)
            autojump_clock.jump(60)

    with Lifeline(ours) as supervisor, Lifeline(its) as worker:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker.beat)
            nursery.start_soon(suspend)
            with trio.move_on_after(20 * 65 + 60) as patience:
                await supervisor.wait_for_silence()
            nursery.cancel_scope.cancel()
    assert patience.cancelled_caught


async def test_a_supervisor_that_stood_still_leaves_a_full_socket_to_no_harm() -> None:
    ours, its = socket.socketpair()
    with Lifeline(ours), Lifeline(its) as worker:
        for _ in range(2_000):
            worker.announce_ready()


def test_systemd_is_given_signs_of_life_if_it_watches(start: Start, tmp_path: Path) -> None:
    path = str(tmp_path / "manager")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(PATIENCE_SECONDS)
        for how in ("serve", "supervise"):
            server = start(how, NOTIFY_SOCKET=path, WATCHDOG_USEC="300000")
            port_of(server)
            said = [manager.recv(64) for _ in range(6)]
            assert said.count(b"WATCHDOG=1") >= 4
            assert said.count(b"READY=1") <= 1
            server.stop()
            while manager.recv(64) != b"STOPPING=1":
                pass


async def test_a_worker_that_serves_as_its_supervisor_stops_is_not_announced(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ours, its = socket.socketpair()
    listener = socket.create_server(("127.0.0.1", 0))
    announced: list[list[str]] = []
    supervisor = supervising._Supervisor([], [listener], 1, 1.0, announced.append)
    with Lifeline(ours) as lifeline, Lifeline(its) as worker:
        listener.close()
        supervisor._stop.set()
        worker.announce_ready()
        with trio.move_on_after(1):
            await supervisor._listen(lifeline, cast(Any, None), 0)
    assert announced == []


def test_no_room_for_a_worker_ends_none_of_the_others(start: Start) -> None:
    parent = start("supervise")
    port = port_of(parent)
    before = wait_for(lambda: pids(port), count=2)
    soft, hard = resource.prlimit(parent.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(parent.pid, resource.RLIMIT_NOFILE, (3, hard))  # it can open nothing more
    os.kill(min(before), signal.SIGKILL)
    assert any("a worker could not be started" in line for line in parent.out)
    assert wait_for(lambda: pids(port), count=1) == {max(before)}
    resource.prlimit(parent.pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert max(before) in wait_for(lambda: pids(port), count=2)


def test_workers_do_not_outlive_their_parent(start: Start) -> None:
    parent = start("supervise")
    port = port_of(parent)
    wait_for(lambda: pids(port), count=2)
    parent.kill()
    parent.wait(PATIENCE_SECONDS)
    with pytest.raises(ConnectionError):
        wait_until(lambda: ask(port) == parent.pid, "workers still answer")


def test_a_supervisor_whose_workers_cannot_start_gives_up(start: Start) -> None:
    parent = start("supervise-refuse")
    assert parent.wait(PATIENCE_SECONDS) == 1
    said = parent.out.read()
    assert "no worker could start" in said
    assert "http://" not in said


def test_plain_hypercorn_is_free_of_the_faults() -> None:
    with open_listeners("127.0.0.1:0") as [listener]:
        os.set_inheritable(listener.fileno(), True)
        port = listener.getsockname()[1]
        argv = ["--worker-class", "trio", "--bind", f"fd://{listener.fileno()}", "--workers", "0"]
        with Process(
            [sys.executable, "-m", "hypercorn", *argv, "tests.net.front_door.worker:app"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
        ) as server:
            assert ask(port) == server.pid
            # The fixture `way` of conftest.py tries the other requests, on plain Hypercorn in this process.
            answers = [
                (200, b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: close, upgrade\r\n\r\n"),
                (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                (413, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"),
            ]
            for status, request in answers:
                heard = say(port, request)
                assert heard.startswith(b"HTTP/1.1 %d" % status)
                assert b"connection: close" in heard.lower()
                assert b"hypercorn" not in heard


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.1:x", "fd://0", "fd://x", "unix:/no/such/folder/s"])
def test_an_address_that_is_none_is_refused(bind: str) -> None:
    with pytest.raises(AddressError, match="cannot listen on"), open_listeners(bind):
        pass


def test_an_address_in_use_is_refused() -> None:
    with open_listeners("127.0.0.1:0") as [taken]:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AddressError, match=f"cannot listen on {bind}"), open_listeners(bind):
            pass


def test_a_descriptor_that_does_not_listen_is_refused_and_left_open() -> None:
    with socket.socket() as other:
        with (
            pytest.raises(AddressError, match="not a listening socket"),
            open_listeners(f"fd://{other.fileno()}"),
        ):
            pass
        assert other.getsockname()


@contextmanager
def hanging_up(handler: signal.Handlers) -> Iterator[None]:
    """Let processes that are started inside inherit `handler` for SIGHUP, which nohup, for one, ignores."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def port_of(server: Process) -> int:
    """Wait until the server prints its address, and return its port."""
    for line in server.out:
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)\n", line)
        if match is not None:
            return int(match[1])
    pytest.fail("the server did not start")


def say(port: int, request: bytes) -> bytes:
    """Send a request, and return all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        client.sendall(request)
        heard = b""
        while data := client.recv(65_536):
            heard += data
        return heard


def ask(port: int) -> int:
    """Return the process id of the server that answers."""
    return int(say(port, GET).rpartition(b"\r\n\r\n")[2])


def pids(port: int) -> set[int]:
    return {ask(port) for _ in range(20)}


def wait_for(look: Callable[[], set[int]], *, count: int) -> set[int]:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            found = look()
        except (OSError, ValueError):
            continue  # a worker that was killed a moment later had accepted the connection
        if len(found) >= count:
            return found
    pytest.fail("too few workers answer")
