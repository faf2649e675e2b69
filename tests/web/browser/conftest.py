"""One server and one browser for all tests of pages; a profile of its own for each."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.web.browser.household import Household, Visitor, a_browser, a_household, a_visitor

Visit = Callable[..., Visitor]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with a_browser() as running:
        yield running


@pytest.fixture(scope="package")
def household(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    with a_household(tmp_path_factory.mktemp("household")) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, household: Household) -> Iterator[Visit]:
    """Makes visitors: `visit(java_script_enabled=False)`."""
    with ExitStack() as stack:

        def come(**profile: Any) -> Visitor:
            return stack.enter_context(a_visitor(browser, household, **profile))

        yield come
