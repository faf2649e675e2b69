"""Server processes on one PostgreSQL: what they agree on, and what happens when parts of it go away.

The database is a cluster of the tests' own, so that it can be stopped under load and started again.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest
import trio

from fuzz.processes.connection import Connection
from fuzz.processes.server import ADMIN_PASSWORD, Server
from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from tests.net.postgres.load import Desk, Load
from tests.support.processes import Cluster, ForkedServer

INSTANCES = 2
MOST_SECONDS = 20.0
"""A request must be answered in this time while the database is away: the turn before its own waits five
seconds for a connection, its own turn as long, and the machine may be busy."""

OUTAGE_SECONDS = float(os.environ.get("OSTIARY_TEST_OUTAGE_SECONDS", "6"))
"""An instance waits less for a connection, and so has to answer 503; docs/scale.md has 30 s as well."""


@pytest.fixture(scope="module")
def started(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Instances that start at the same moment on an empty database."""
    with ExitStack() as stack:
        made: list[Server] = []
        for _ in range(INSTANCES):
            folder = tmp_path_factory.mktemp("instance")
            server = ForkedServer(folder, settings={"DATABASE_URL": cluster.address})
            made.append(stack.enter_context(server))
            server.start()
        deadline = time.monotonic() + 60
        while not all(server.ready() for server in made):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield made


@pytest.fixture
def servers(started: list[Server]) -> list[Server]:
    """All instances; one that another test killed starts again beside the others."""
    for server in started:
        if not server.lives():
            server.start_and_wait()
    return started


@pytest.fixture
async def desk(servers: list[Server]) -> AsyncIterator[Desk]:
    made = Desk(servers[0].port, ADMIN_PASSWORD)
    await made.open()
    yield made
    made.hang_up()


async def at_once(servers: list[Server], call: Call, each: int) -> list[Answer]:
    """Make one call `each` times to every instance, all at one moment."""
    answers: list[Answer] = []

    async def ask(server: Server) -> None:
        with Connection(server.port) as connection:
            answers.append(await connection.ask(call))

    async with trio.open_nursery() as nursery:
        for server in servers * each:
            nursery.start_soon(ask, server)
    return answers


async def test_racing_refreshes_of_one_token_all_get_the_same_pair(servers: list[Server], desk: Desk) -> None:
    pair = await desk.tokens()
    answers = await at_once(servers, desk.call(Verb.REFRESH, pair.refresh), each=10)
    assert {answer.kind for answer in answers} == {AnswerKind.TOKENS}
    assert len({(answer.access, answer.refresh) for answer in answers}) == 1


async def test_a_forced_logout_is_seen_by_all_instances_at_once(servers: list[Server], desk: Desk) -> None:
    user = await desk.user()
    call = desk.call(Verb.INTROSPECT, (await desk.tokens(user)).access)
    assert {answer.kind for answer in await at_once(servers, call, each=1)} == {AnswerKind.ACTIVE}
    await desk.force_out(user)
    assert {answer.kind for answer in await at_once(servers, call, each=1)} == {AnswerKind.INACTIVE}


# --- what is acknowledged stays, whatever goes away


def kill_an_instance(cluster: Cluster, servers: list[Server]) -> None:
    servers[-1].kill()


def terminate_connections(cluster: Cluster, servers: list[Server]) -> None:
    cluster.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )


def restart_the_database(cluster: Cluster, servers: list[Server]) -> None:
    cluster.stop("fast")
    cluster.start()


def crash_the_database_for_a_while(cluster: Cluster, servers: list[Server]) -> None:
    cluster.stop("immediate")
    time.sleep(OUTAGE_SECONDS)
    cluster.start()


@pytest.mark.parametrize(
    "mishap", [kill_an_instance, terminate_connections, restart_the_database, crash_the_database_for_a_while]
)
async def test_nothing_acknowledged_is_lost_and_all_recover_by_themselves(
    cluster: Cluster,
    servers: list[Server],
    desk: Desk,
    mishap: Callable[[Cluster, list[Server]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = Load(lambda: [server.port for server in servers if server.lives()], desk)
    sessions = {f"session {number}": await desk.tokens() for number in range(6)}
    async with trio.open_nursery() as nursery:
        for name, pair in sessions.items():
            nursery.start_soon(partial(load.keep_refreshing, name, pair, moves=True))
        await load.until_answered(sessions, 1)
        await trio.to_thread.run_sync(mishap, cluster, servers)
        recovery_seconds = await load.until_answered(sessions, 1)
        nursery.cancel_scope.cancel()
    # docs/scale.md has these: pytest -s
    counts = f"{load.answered.total()} refreshes, {len(load.failed)} failed, {len(load.lost)} lost"
    times = f"slowest {load.slowest_seconds:.1f} s, all well {recovery_seconds:.1f} s afterwards"
    print(f"{mishap.__name__}: {counts}, {times}")
    assert load.wrong == []
    assert load.slowest_seconds < MOST_SECONDS
    if mishap is crash_the_database_for_a_while:
        assert load.failed, "nobody was told that the database was away"
