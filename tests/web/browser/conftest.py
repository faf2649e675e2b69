"""One server and one browser for all tests of pages; a profile of its own for each."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.browser import Household, Visit, Visitor, a_household, a_visitor

COLOR = "#b3124f"


@pytest.fixture(scope="session")
def browser(chromium_running: Browser) -> Browser:
    return chromium_running


@pytest.fixture(scope="package")
def household(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """Run the demonstration under a path and with a brand: every page must work with both."""
    folder = tmp_path_factory.mktemp("household")
    logo = folder / "logo.svg"
    logo.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><path d="M0 0h90v30H0z"/></svg>'
    )
    settings = {"BRAND_NAME": "Söhne & Co", "BRAND_LOGO": str(logo), "BRAND_COLOR": COLOR}
    settings["BRAND_LINKS"] = "help=https://example.com/help"
    settings["PUBLIC_URL"] = "https://www.example.com/auth"
    with a_household(folder, **settings) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, household: Household) -> Iterator[Visit]:
    """Make visitors: `visit("admin", java_script_enabled=False)` signs the visitor in, `visit()` does not."""
    with ExitStack() as stack:

        def come(*credentials: str, **profile: Any) -> Visitor:
            visitor = stack.enter_context(a_visitor(browser, household, **profile))
            if credentials:
                visitor.sign_in(*credentials)
            return visitor

        yield come
