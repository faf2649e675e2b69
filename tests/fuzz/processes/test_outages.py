"""A real server whose store is full, locked or away for a while."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio

from fuzz.processes.outages import OUTAGES, Backend
from fuzz.processes.server import Server

MUST_FAIL = ("full",)
"""Whether the others are noticed depends on what is open already."""


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


@pytest.mark.parametrize("name", ["full", "moved away"])
def test_an_outage_is_said_as_a_failure_and_leaves_nothing_behind(
    name: str, server: Server, backend: Backend
) -> None:
    async def story() -> None:
        await backend.round()
        with OUTAGES[name](server):
            await backend.ask_for(1.0)
        await backend.check()

    failures = backend.failures
    run(backend, story)
    if name in MUST_FAIL:
        assert backend.failures > failures


@pytest.mark.parametrize("name", ["locked for writers", "locked for all"])
def test_a_file_that_another_program_has_locked_is_waited_for(
    name: str, server: Server, backend: Backend
) -> None:
    async def story() -> None:
        async with trio.open_nursery() as nursery:
            with OUTAGES[name](server):
                nursery.start_soon(backend.round)
                await trio.sleep(0.3)
        await backend.check()

    failures = backend.failures
    run(backend, story)
    assert backend.failures == failures
