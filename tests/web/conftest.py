"""The application that most tests of the web call, and the door through which they call it."""

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
    """Yield one Chromium for all tests that need one, as Playwright runs once in a process."""
    from tests.support.browser import a_browser

    with a_browser() as running:
        yield running


@pytest.fixture
def door() -> Door:
    """Return the quickest door; a module whose tests hold at every door is parametrised over `DOORS`."""
    return "guard"


@pytest.fixture
def serve(tmp_path: Path, door: Door) -> Serve:
    """Return a function that opens the application with a test's own settings; other doors run in memory."""
    return partial(serving, tmp_path, open_store=on_disk if door == "guard" else in_memory(), door=door)


@pytest.fixture
async def served(serve: Serve) -> AsyncIterator[Served]:
    """Yield the application with its default settings, on a SQLite file."""
    async with serve() as running:
        yield running


@pytest.fixture
async def api(served: Served) -> Api:
    """Return a program that the first administrator signed in."""
    return await served.administrator()


@pytest.fixture
async def browser(served: Served) -> Browser:
    """Return a browser in which the first administrator is signed in."""
    return await served.sign_in_browser()
