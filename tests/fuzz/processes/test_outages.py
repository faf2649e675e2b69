"""A real server whose store is full, locked or away for a while."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio

from fuzz.processes.outages import Backend, Outage, full, locked_for_all, locked_for_writers, moved_away
from fuzz.processes.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("outages")) as server:
        server.start_and_wait()
        yield server


@pytest.fixture(scope="module")
def backend(server: Server) -> Backend:
    backend = Backend(server)
    run(backend, backend.register)
    return backend


def run(backend: Backend, story: Callable[[], Awaitable[None]]) -> None:
    async def told() -> None:
        try:
            await story()
        finally:
            backend.connection.close()

    trio.run(told)


@pytest.mark.parametrize("outage", [full, moved_away])
def test_an_outage_is_said_as_a_failure_and_leaves_nothing_behind(
    outage: Outage, server: Server, backend: Backend
) -> None:
    async def story() -> None:
        await backend.round()
        with outage(server):
            await backend.ask_for(1.0)
        await backend.check()

    failures = backend.failures
    run(backend, story)
    if outage is full:  # whether another is noticed depends on what is open already
        assert backend.failures > failures


@pytest.mark.parametrize("outage", [locked_for_writers, locked_for_all])
def test_a_file_that_another_program_has_locked_is_waited_for(
    outage: Outage, server: Server, backend: Backend
) -> None:
    async def story() -> None:
        async with trio.open_nursery() as nursery:
            with outage(server):
                nursery.start_soon(backend.round)
                await trio.sleep(0.3)
        await backend.check()

    failures = backend.failures
    run(backend, story)
    assert backend.failures == failures
