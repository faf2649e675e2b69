"""Each address of the server has one spelling; every other is answered 404 at every door."""

from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from ostiary_core.http.token_service import PATHS
from tests.support.callers import BASE, Api, Browser
from tests.support.connections import Door
from tests.support.served import VARIABLE, Served, rules

pytestmark = pytest.mark.parametrize("door", ["guard", "lane"])

Spelling = Callable[[str], str]


def within(mark: str) -> Spelling:
    """Return a spelling with `mark` in place of the last slash, but with the first slash kept."""

    def spelt(path: str) -> str:
        before, _, name = path.rpartition("/")
        return f"{before}{mark}{name}" if before else f"/{mark}{name}"

    return spelt


SPELLINGS: Final[dict[str, Spelling]] = {
    "two slashes first": lambda path: "/" + path,
    "three slashes first": lambda path: "//" + path,
    "two slashes within": within("//"),
    "an escaped slash": within("%2F"),
    "an escaped slash first": lambda path: "/%2f" + path[1:],
    "an escaped letter": lambda path: path[:-1] + f"%{ord(path[-1]):02x}",
    "an escaped first letter": lambda path: f"/%{ord(path[1]):02X}" + path[2:],
    "escaped twice": lambda path: path[:-1] + f"%25{ord(path[-1]):02x}",
    "a backslash": within("%5C"),
    "a parameter": lambda path: path + ";x",
    "an escaped parameter": lambda path: path + "%3bx",
    "a parameter within": within(";x/"),
    "a dot segment": within("/./"),
    "two dots": within("/x/../"),
    "two dots from a page": lambda path: "/login/.." + path,
    "escaped dots": within("/x/%2e%2e/"),
    "dots with a parameter": within("/x/..;/"),
    "a slash last": lambda path: path + "/",
    "a dot last": lambda path: path + "/.",
    "a NUL": lambda path: path + "%00",
    "a white space": lambda path: path + "%20",
    "a line break": lambda path: path + "%0a",
    "an escaped question mark": lambda path: path + "%3fx",
    "an escaped number sign": lambda path: path + "%23",
    "an overlong slash": within("%c0%af"),
    "a wide letter": lambda path: path[:-1] + "%ef%bd%81",
    "capitals": str.upper,
}


async def ask(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> httpx.Response:
    """Ask for exactly this path."""
    return await client.request(method, BASE, extensions={"target": path.encode("ascii")}, **options)


FIXED: Final = sorted(
    {
        path: method
        for method, path in rules()
        if path != "/" and not VARIABLE.search(path) and (method, path) != ("POST", "/sso")
    }.items()
)
"""Every path without variable parts with one method of it; `/sso` has GET, as it refuses a bare POST."""
ONE_OF_EACH: Final = {*PATHS, "/api/oauth2/userinfo", "/api/auth/me", "/login", "/healthz"}


def paths_at(door: Door) -> list[tuple[str, str]]:
    """Return all paths; behind real HTTP, which is slower, those of the lane and one of each kind."""
    return FIXED if door == "guard" else [each for each in FIXED if each[0] in ONE_OF_EACH]


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
async def test_another_spelling_of_an_address_is_not_there(
    browser: Browser, door: Door, spelling: Spelling
) -> None:
    bearer = {"Authorization": f"Bearer {browser.cookies['ostiary_access']}"}
    for path, method in paths_at(door):
        response = await ask(browser, method, spelling(path), headers=bearer)
        assert response.status_code == 404, (method, spelling(path), response.text[:200])


async def test_the_one_spelling_is_there(api: Api, door: Door) -> None:
    """Without this, the test above would pass on a server without routes."""
    for path, method in paths_at(door):
        assert (await api.call(method, path)).status_code not in (404, 405), path


async def test_no_spelling_gets_around_a_limit_that_goes_by_the_path(served: Served) -> None:
    """A token request may have 64 KiB, and no spelling of its path gets the larger limit of another."""
    client = await served.client()
    body = b"grant_type=client_credentials&x=" + b"x" * 100_000
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    right = {"content": body[:31], "headers": form, "auth": client.basic}
    assert (await ask(served.api(), "POST", "/api/oauth2/token", **right)).status_code == 200
    for path, status in (
        ("/api/oauth2/token", 413),
        ("//api/oauth2/token", 413),
        ("/api/oauth2%2Ftoken", 413),
        ("/admin/../api/oauth2/token", 404),
        ("/api/oauth/..%2foauth2/token", 404),
        ("/api/oauth/import/..;/..;/oauth2/token", 404),
    ):
        response = await ask(served.api(), "POST", path, **{**right, "content": body})
        assert response.status_code == status, path
