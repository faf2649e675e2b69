"""The demonstration as a real process, and a real browser on it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from tests.support.processes import free_port
from tests.support.served import VARIABLE, rules

PASSWORD: Final = "correct horse"
EXAMPLES: Final = Path(__file__).resolve().parents[2] / "docs" / "examples"
_START_SECONDS: Final = 30
_PATIENCE_MS: Final = 15_000

# The browser itself asks for nothing, so that tests see only the requests of pages.
_ARGUMENTS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    # No name is looked up, and no other machine is asked.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


@dataclass(frozen=True)
class Household:
    """The addresses of the server and of the third party."""

    server: str
    shop: str

    @property
    def path(self) -> str:
        """The beginning of every path of the server."""
        return urlsplit(self.server).path


@dataclass
class Visitor:
    """One browser profile on one page, and everything that the page asked for and complained of."""

    household: Household
    context: BrowserContext
    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Open a page of the server, by an address with the server's own path or without."""
        self.page.goto(self.household.server + path.removeprefix(self.household.path))

    def press(self, text: str) -> None:
        """Use the button or link of the page's main part that says `text`."""
        main = self.page.locator("main")
        main.locator(".menu").evaluate_all("menus => { for (const each of menus) each.open = true; }")
        main.locator("button, a").get_by_text(text, exact=True).or_(
            main.get_by_role("button", name=text, exact=True)
        ).first.click()

    def sign_in(self, username: str, password: str = PASSWORD) -> None:
        """Sign in by the sign-in page."""
        if not self.path.endswith("/login"):
            self.open("/login")
        self.fill(username=username, password=password)
        self.page.locator("main button[type=submit]").click()

    def fill(self, **values: str) -> None:
        """Fill the fields of these identifiers."""
        for name, value in values.items():
            self.page.fill(f"#{name}", value)

    def enter_shop(self, username: str) -> None:
        """Sign in to the demonstration's third party by this server."""
        self.page.goto(self.household.shop)
        self.press("Sign in with Ostiary")
        self.sign_in(username)
        if self.path == "/sso":
            self.agree()

    def agree(self) -> None:
        """Answer the consent page with yes, in any language."""
        self.page.locator("button[value=approve]").click()

    @property
    def path(self) -> str:
        """The path of the page that is open."""
        return urlsplit(self.page.url).path.removeprefix(self.household.path)

    @property
    def text(self) -> str:
        """The text of the page's main part."""
        return self.page.inner_text("main")

    @property
    def hosts(self) -> set[str]:
        """Every host that was asked for anything."""
        return {urlsplit(address).netloc for address in self.asked}


Visit = Callable[..., Visitor]
"""Makes visitors."""


def add_person(administrator: Visitor, username: str, name: str, password: str) -> None:
    """Add an account as an administrator does, whose page is shown then."""
    administrator.open("/admin/people/new")
    administrator.fill(username=username, name=name, password=password)
    administrator.press("Save")


def fill_client(administrator: Visitor, client_id: str, *redirect_uris: str) -> None:
    """Fill the form of a new client, for all grants or, without addresses, for the last."""
    administrator.open("/admin/clients/new")
    administrator.fill(clientId=client_id, name=client_id, redirectUris="\n".join(redirect_uris))
    for grant in ("authorization_code", "refresh_token", "client_credentials"):
        is_wanted = bool(redirect_uris) or grant == "client_credentials"
        administrator.page.set_checked(f"input[value={grant}]", is_wanted)
    administrator.page.check("input[name=scopes]")


def register_client(administrator: Visitor, client_id: str, *redirect_uris: str) -> str:
    """Register a client as an administrator does; return its secret."""
    fill_client(administrator, client_id, *redirect_uris)
    administrator.press("Register")
    return administrator.page.inner_text("#secret-text")


def chromium() -> str:
    """Return the path of the browser; without one skip the test, unless browsers are required."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        reason = "no chromium on PATH (Debian: apt-get install chromium)"
        if "chromium" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def a_household(folder: Path, days: int = 0, /, **settings: str) -> Iterator[Household]:
    """Run the demonstration for as long as the block runs, with a past of so many days."""
    server, shop = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    log = folder / "demo.log"
    environment = {
        **os.environ,
        "BIND": server,
        "SMS_OUTBOX": str(folder / "outbox.jsonl"),
        "RATE_LIMIT_SCALE": "100",
        "GUESS_LIMIT_SCALE": "100",
        "PYTHONPATH": str(EXAMPLES),
        "PYTHONUNBUFFERED": "1",
        **settings,
    }
    command = [sys.executable, "-m", "demo", "--shop", shop, "--days", str(days)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"Open "), log.read_text()
            path = urlsplit(settings.get("PUBLIC_URL", "")).path
            yield Household(f"http://{server}{path}", f"http://{shop}")
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_START_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Run Debian's chromium, headless."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def a_visitor(browser: Browser, household: Household, **profile: Any) -> Iterator[Visitor]:
    """Yield a visitor with a profile of its own, without the cookies of others."""
    usual: dict[str, Any] = {"locale": "en-US", "viewport": {"width": 1280, "height": 800}}
    context = browser.new_context(**{**usual, **profile})
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    visitor = Visitor(household, context, page)

    def asked(request: Request) -> None:
        visitor.asked.append(request.url)

    context.on("request", asked)
    page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    page.on("console", lambda message: visitor.complaints.append(message.text))
    try:
        yield visitor
    finally:
        context.close()


_NAMED: Final = {"clients": "demo-shop", "roles": "auditor"}
"""Records with fixed names; other tests open the pages of records with drawn identifiers."""


def _pages_below(beginning: str) -> Iterator[str]:
    """Yield the address of every page below a path; sheets are none."""
    for method, path in rules():
        is_page = method == "GET" and not path.endswith(("/export", "/import-template", ".txt"))
        if is_page and f"{path}/".startswith(beginning):
            name = _NAMED.get(path.split("/")[2]) if VARIABLE.search(path) else ""
            if name is not None:
                selected = (
                    f"?selected={_NAMED.get(path.split('/')[3], 'bob')}" if "/selected/" in path else ""
                )
                yield VARIABLE.sub(name, path) + selected


ROOMS: Final[dict[str, tuple[str, ...]]] = {
    "": ("/", "/login", "/recover", "/recover?code=1", "/invitation"),
    "bob": ("/", "/sso", "/sso?client_id=nobody", "/password"),
    "admin": (*_pages_below("/account/"), "/admin/clients/console", *_pages_below("/admin/")),
}
"""Every page, by the user who is signed in; "" without one."""
