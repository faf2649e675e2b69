"""Cookies that an attacker planted in a browser are worth nothing after its user has signed in."""

import pytest

from tests.support.callers import ADMIN_PASSWORD, Browser, expect_refusal, expect_success, form_token_in, sso
from tests.support.served import Served
from tests.web.test_browser_session import cookies_of, sign_in_by

PAIR = ("ostiary_access", "ostiary_refresh")
HTTPS = "https://id.example"


@pytest.mark.parametrize("way", ["page", "interface"])
@pytest.mark.parametrize("planted", ["the attacker's own", "made up"])
async def test_a_planted_session_is_not_the_one_signed_in(served: Served, way: str, planted: str) -> None:
    await served.user("mallory")
    attacker = await served.sign_in_browser("mallory", "anna's password")
    own = {name: attacker.cookies[name] for name in PAIR}
    victim = served.browser()
    for name in PAIR:
        victim.cookies.set(name, own[name] if planted.startswith("the") else "x" * 43, domain="id.example")
    issued = {name: cookie["value"] for name, cookie in cookies_of(await sign_in_by(victim, way)).items()}
    assert set(issued) >= set(PAIR)
    assert not set(issued.values()) & {*own.values(), "x" * 43}
    # The attacker with the planted cookies is never the user who signed in after them.
    before = served.browser()
    before.cookies.update(own)
    who = await before.get("/api/auth/me")
    if planted.startswith("the") and way == "interface":
        assert expect_success(who)["username"] == "mallory"
    elif planted.startswith("the"):
        expect_refusal(who, 401, "A1001")
    assert "admin" not in who.text


@pytest.mark.parametrize("way", ["switched", "signed out and in"])
async def test_a_page_of_one_user_is_not_sent_by_the_next(served: Served, browser: Browser, way: str) -> None:
    """Two tabs of a browser: a page that names one user is not accepted from another."""
    await served.client()
    await served.user("anna")
    asks_admin = await browser.get(sso())
    changes_password = await browser.get("/password")
    if way == "switched":
        page = await browser.get("/login", params={"switch": "1"})
    else:
        await browser.submit(await browser.get("/"), to="/logout")
        page = await browser.get("/login")
    await browser.log_in(page, "anna", "anna's password")
    before = served.records()
    change = {"old_password": "x", "new_password": "y" * 9}
    decide = {"decision": "approve"}
    for shown, values, path in ((asks_admin, decide, "/sso"), (changes_password, change, "/password")):
        assert (await browser.submit(shown, values, to=path)).status_code == 403
    assert served.records() == before
    asks_anna = await browser.get(sso())
    assert "(anna)" in asks_anna.text
    assert (await browser.submit(asks_anna, {"decision": "approve"}, to="/sso")).status_code == 303


async def test_over_https_a_cookie_without_the_hosts_own_prefix_proves_nothing(served: Served) -> None:
    """A sister site or an attacker on a plain connection can set `ostiary_form`, whose token it knows, and
    `ostiary_access`. A browser lets only this host set `__Host-…` (RFC 6265bis §4.1.3.2)."""
    plain = served.browser()
    page = await plain.get("/login")
    known = {name: plain.cookies[name] for name in ("ostiary_form",)}
    values = {"username": "admin", "password": ADMIN_PASSWORD, "form_token": form_token_in(page)}
    assert (await plain.post("/login", data=values)).status_code == 303
    known |= {name: plain.cookies[name] for name in PAIR}

    victim = served.browser(base=HTTPS)
    for name, value in known.items():
        victim.cookies.set(name, value, domain="id.example")
    expect_refusal(await victim.get("/api/auth/me"), 401, "A1001")
    assert (await victim.post("/login", data=values)).status_code == 403
    page = await victim.get("/login")
    assert values["form_token"] not in page.text
    # This form has no `Sec-Fetch-Site`, which browsers send and no site can forge.
    assert (await victim.post("/login", data=values)).status_code == 403
    own = served.browser(base=HTTPS)
    own.cookies.update({f"__Host-{name}": known[name] for name in PAIR})
    assert expect_success(await own.get("/api/auth/me"))["username"] == "admin"
    # Browsers ignore a cookie of these names without all of these attributes, also when it is deleted.
    left = await own.submit(await own.get("/"), to="/logout")
    deleted = [each for each in left.headers.get_list("set-cookie") if "Max-Age=0" in each]
    names = (*known, "ostiary_kept", "ostiary_typed", "ostiary_notice")
    assert {each.partition("=")[0] for each in deleted} == {f"__Host-{name}" for name in names}
    for each in deleted:
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(each.split("; ")), each
