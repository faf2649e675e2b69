"""The application that most tests of the web ask, and the door they ask it through."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.callers import Api, Browser
from tests.support.connections import Door
from tests.support.served import Serve, Served, in_memory, on_disk, serving

if TYPE_CHECKING:  # most tests need no Playwright
    from playwright.sync_api import Browser as Chromium


@pytest.fixture(scope="session")
def chromium_running() -> "Iterator[Chromium]":
    """One Chromium for all tests that need one, as Playwright runs once in a process."""
    from tests.support.browser import a_browser

    with a_browser() as running:
        yield running


@pytest.fixture
def door() -> Door:
    """The quickest; a module whose tests hold at every door is parametrised over `DOORS`."""
    return "guard"


@pytest.fixture
def serve(tmp_path: Path, door: Door) -> Serve:
    """Opens the application with settings of the test's own; on a file once, as doors know no store."""
    open_store = on_disk if door == "guard" else in_memory()
    return partial(serving, tmp_path, open_store=open_store, door=door)


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """The application with the settings that it has by default, on a SQLite file."""
    async with serve() as running:
        yield running


@pytest.fixture
async def api(served: Served) -> Api:
    """A program that the first administrator signed in."""
    return await served.administrator()


@pytest.fixture
async def browser(served: Served) -> Browser:
    """A browser that the first administrator signed in at."""
    return await served.sign_in_browser()
