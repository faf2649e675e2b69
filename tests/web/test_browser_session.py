"""A browser's login session: cookies, signing in and out by forms, and the addresses a page leads to."""

from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.callers import ADMIN_PASSWORD, Browser, expect_refusal, expect_success, form_token_in, sso
from tests.support.served import Served, serving

FOREIGN = [
    *("https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "///evil.example"),
    *("https:evil.example", "javascript:alert(1)", "data:text/html,x", "evil.example", " //evil.example"),
    *("\t//evil.example", "/\t/evil.example", "/%0d%0aSet-Cookie: a=b\r\nSet-Cookie: c=d"),
    *("/x\x00y", "/\u2028", ""),
]


def cookies_of(response: httpx.Response) -> dict[str, dict[str, str]]:
    """Return the attributes of every cookie that an answer sets."""
    found = {}
    for header in response.headers.get_list("set-cookie"):
        for name, morsel in SimpleCookie(header).items():
            found[name] = {key: value for key, value in morsel.items() if value} | {"value": morsel.value}
    return found


async def sign_in_by(browser: Browser, way: str) -> httpx.Response:
    """Sign in by the page, in place of another user too, or by the interface."""
    if way == "page":
        return await browser.log_in(await browser.get("/login", params={"switch": "1"}))
    return await browser.post("/api/auth/login", json={"username": "admin", "password": ADMIN_PASSWORD})


@pytest.mark.parametrize("way", ["page", "interface"])
async def test_the_pair_is_in_cookies_that_no_script_reads(served: Served, way: str) -> None:
    cookies = cookies_of(await sign_in_by(served.browser(), way))
    assert set(cookies) == {"ostiary_access", "ostiary_refresh"}
    of_a_form = cookies_of(await served.browser().get("/login"))
    for cookie in (*cookies.values(), of_a_form["ostiary_form"]):
        assert cookie["httponly"]
        assert (cookie["samesite"], cookie["path"]) == ("Lax", "/")
        assert "domain" not in cookie
        assert "secure" not in cookie
    assert (cookies["ostiary_access"]["max-age"], cookies["ostiary_refresh"]["max-age"]) == ("1800", "604800")


async def test_before_the_password_is_changed_a_page_leads_nowhere_else(served: Served) -> None:
    await served.user(mustChangePassword=True)
    browser = served.browser()
    page = await browser.follow(await browser.sign_in("anna", "anna's password"))
    assert page.url.path == "/password"
    assert 'href="/account' not in (await browser.get("/admin/none")).text
    new = {"new_password": "a password of her own"}
    await browser.submit(page, {"old_password": "anna's password", **new}, to="/password")
    assert 'href="/account' in (await browser.get("/account")).text


async def test_the_language_of_a_browser_counts_until_its_user_is_given_one_there(browser: Browser) -> None:
    for _ in range(2):
        await browser.get("/language?to=zh-CN")
        account = await browser.get("/account")
        assert account.headers["content-language"] == "zh-CN"
        saved = await browser.submit(account, {"locale": "en-US"}, to="/account/language")
        assert (await browser.follow(saved)).headers["content-language"] == "en-US"


@pytest.mark.parametrize(
    "environment, peer, headers, base",
    [
        ({}, "203.0.113.7", {}, "https://id.example"),
        ({"PUBLIC_URL": "https://id.example"}, "203.0.113.7", {}, "http://inside:8000"),
        ({"TRUST_PROXY": "10.0.0.1"}, "10.0.0.1", {"X-Forwarded-Proto": "https"}, "http://id.example"),
    ],
    ids=["https", "PUBLIC_URL", "X-Forwarded-Proto"],
)
async def test_over_https_cookies_go_over_nothing_else(
    tmp_path: Path, environment: dict[str, Any], peer: str, headers: dict[str, str], base: str
) -> None:
    async with serving(tmp_path, **environment) as served:
        browser = served.browser(peer, base=base, **headers)
        cookies = cookies_of(await browser.get("/login")) | cookies_of(await sign_in_by(browser, "interface"))
        assert set(cookies) == {f"__Host-ostiary_{name}" for name in ("access", "refresh", "form")}
        assert all(cookie["secure"] and cookie["path"] == "/" for cookie in cookies.values())
        assert not any("domain" in cookie for cookie in cookies.values())


async def test_servers_on_other_ports_of_a_host_have_cookies_of_their_own(served: Served) -> None:
    """Browsers send the cookies of a host to every port of it (RFC 6265 §8.5)."""
    browser, servers = served.browser(), ("http://id.example:8000", "http://id.example:9000")
    for server in servers:
        await browser.get(f"{server}/language?to=zh-CN")
        await browser.log_in(await browser.get(f"{server}/login"))
    names = {f"ostiary_{name}_{port}" for name in ("access", "form", "language") for port in (8000, 9000)}
    assert names <= browser.cookies.keys()
    assert len({browser.cookies[name] for name in names if "language" not in name}) == 4
    for server in servers:
        assert (await browser.get(f"{server}/account")).headers["content-language"] == "zh-CN"
    for port in ("x", "0x50", "99999999999"):
        assert (await browser.get("/", headers={"Host": f"id.example:{port}"})).status_code < 500


async def test_a_form_from_the_public_address_is_one_of_ours(tmp_path: Path) -> None:
    origin = "https://id.example"
    async with serving(tmp_path, PUBLIC_URL="HTTPS://ID.Example:443/") as served:
        browser = served.browser(base=origin)
        page = await browser.get("/login")
        values = {"username": "admin", "password": ADMIN_PASSWORD}
        foreign = await browser.submit(page, values, to="/login", headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        ours = await browser.submit(page, values, to="/login", headers={"Origin": origin})
        assert ours.status_code == 303


# --- signing in


async def test_a_sign_in_leads_only_to_a_path_of_this_server(served: Served) -> None:
    """A form that was tampered with leads nowhere else either (READINGS 27)."""
    for return_to in FOREIGN:
        browser = served.browser()
        response = await browser.sign_in(return_to=return_to)
        assert (response.status_code, response.headers["location"]) == (303, "/admin"), return_to
        again = await browser.get("/login", params={"next": return_to})
        assert (again.status_code, again.headers["location"]) == (303, "/"), return_to
        assert "set-cookie" not in again.headers
        page = await browser.get("/login", params={"switch": "1"})
        values = {"username": "admin", "password": ADMIN_PASSWORD, "next": return_to}
        assert (await browser.submit(page, values, to="/login")).headers["location"] == "/admin", return_to


async def test_half_a_sign_in_is_a_wrong_one(served: Served) -> None:
    browser = served.browser()
    for values in ({}, {"username": "admin"}, {"password": "x"}, {"username": "x" * 257, "password": "x"}):
        response = await browser.submit(await browser.get("/login"), values, to="/login")
        assert (response.status_code, "ostiary_access" in browser.cookies) == (401, False), values


async def test_a_browser_refreshes_by_its_cookie_if_it_proves_where_it_is(browser: Browser) -> None:
    form_token = form_token_in(await browser.get("/password"))
    before = browser.cookies["ostiary_refresh"]
    expect_refusal(await browser.post("/api/auth/refresh"), 403, "A0403")
    expect_success(await browser.post("/api/auth/refresh", headers={"X-Form-Token": form_token}))
    assert browser.cookies["ostiary_refresh"] != before
    expect_success(await browser.get("/api/auth/me"))


async def test_signing_out_ends_the_session_and_forgets_the_cookies(served: Served, browser: Browser) -> None:
    kept = dict(browser.cookies)
    response = await browser.submit(await browser.get("/"), to="/logout")
    assert (response.status_code, response.headers["location"]) == (303, "/login")
    assert {"ostiary_access", "ostiary_refresh"}.isdisjoint(browser.cookies)

    thief = served.browser()
    thief.cookies.update(kept)
    expect_refusal(await thief.get("/api/auth/me"), 401, "A1001")
    assert "/login" in (await thief.get(sso())).headers["location"]
