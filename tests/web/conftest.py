"""The application that most tests of the web ask, and the door they ask it through."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.web.doors import Answers, Door
from tests.web.served import Served, in_memory, on_disk, serving

Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def door() -> Door:
    """The quickest; a module whose tests hold at every door is parametrised over `DOORS`."""
    return "guard"


@pytest.fixture(scope="session")
def said_at_other_doors() -> dict[object, list[object]]:
    """What the token service said in each test, at the first door it ran through."""
    return {}


@pytest.fixture
def answers(
    request: pytest.FixtureRequest, said_at_other_doors: dict[object, list[object]]
) -> Iterator[Answers]:
    """What the token service says in this test: the same as in the same test at another door."""
    said = Answers()
    yield said
    node: Any = request.node
    parameters = getattr(getattr(node, "callspec", None), "params", {})
    test = (node.path, node.originalname, repr({**parameters, "door": None}))
    assert said_at_other_doors.setdefault(test, said.heard) == said.heard


@pytest.fixture
def serve(tmp_path: Path, door: Door, answers: Answers) -> Serve:
    """Opens the application with settings of the test's own; on a file once, as doors know no store."""
    open_store = on_disk if door == "guard" else in_memory()
    return partial(serving, tmp_path, open_store=open_store, door=door, answers=answers)


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """The application with the settings that it has by default, on a SQLite file."""
    async with serve() as running:
        yield running
