"""Forms explain and offer values, show again what the user entered, and refuse what no form of ours sent."""

import re
from html import unescape
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from ostiary_core.model.decision import Insert
from ostiary_core.model.records import Role
from tests.support.callers import ADMIN_PASSWORD, Browser, authorization, expect_refusal, forms_in
from tests.support.connections import DOORS
from tests.support.people import with_phone
from tests.support.served import Serve, Served

# --- requests that are refused before a route sees them


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "path, length",
    [("/account/picture", 20_000_000), ("/admin/people/import", 9 * 2**20), ("/login", 70_000)],
)
@pytest.mark.parametrize("language, said", [("en-US", "That is too large"), ("zh-CN", "内容过大")])
async def test_a_user_who_sends_too_much_sees_a_page_that_says_so(
    served: Served, path: str, length: int, language: str, said: str
) -> None:
    browser = served.browser(**{"Accept-Language": language})
    await browser.sign_in()
    before = served.records()
    fields = {"Content-Type": "multipart/form-data"}
    response = await browser.post(path, content=bytes(length), headers=fields)
    assert (response.status_code, response.headers["content-type"]) == (413, "text/html; charset=utf-8")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert said in response.text
    assert "C1413" in response.text
    as_data = {"Accept": "application/json"}
    assert (await browser.post(path, content=bytes(length), headers=as_data)).json()["code"] == "C1413"
    assert served.records() == before
    assert (await browser.get("/account")).status_code == 200


@pytest.mark.parametrize("door", DOORS)
async def test_a_user_whose_address_is_too_long_sees_a_page_that_says_so(served: Served) -> None:
    response = await served.browser().get(f"/sso?state={'x' * 17_000}")
    assert response.status_code == 431
    assert "A0414" in response.text
    assert response.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("door", DOORS)
async def test_a_user_beside_the_public_path_sees_a_page_that_says_so(serve: Serve) -> None:
    async with serve(PUBLIC_URL="https://www.example.com/auth") as served:
        response = await served.browser(base="https://www.example.com").get("/login")
    assert response.status_code == 404
    assert "There is nothing here" in response.text
    assert 'href="/auth/"' in response.text


async def test_a_browser_that_opens_the_answer_to_a_form_again_learns_that_it_was_one(served: Served) -> None:
    """A telephone with little memory does this: it drops the page while the user looks up a code."""
    response = await served.browser().get("/recover/password")
    assert response.status_code == 405
    assert "This was the answer to a form" in response.text


@pytest.mark.parametrize("path, allowed", [("/sso", "GET, HEAD"), ("/account/sessions", "GET, HEAD")])
@pytest.mark.parametrize("is_signed_in", [True, False])
async def test_a_form_that_is_sent_to_a_page_without_one_is_answered_to_use_get(
    served: Served, browser: Browser, path: str, allowed: str, is_signed_in: bool
) -> None:
    """Otherwise an authorization request in a body would be lost on the way through a sign-in."""
    await served.client()
    visitor = browser if is_signed_in else served.browser()
    page = await visitor.post(path, data=authorization())
    assert (page.status_code, page.headers["allow"]) == (405, allowed)
    assert "It is opened with GET, with its parameters in the address." in page.text
    expect_refusal(await served.api().post(path, data=authorization()), 405, "A0405")
    assert (await visitor.post(f"{path}?client_id=app")).status_code != 405 or path != "/sso"


# --- signing in after a first try that was refused


async def test_the_forms_of_two_tabs_that_were_opened_without_cookies_sign_in(served: Served) -> None:
    """The browser itself says that a page of ours sent the form; no other site can make it say so."""
    for site, status in (("same-origin", 303), ("cross-site", 403), ("same-site", 403), ("none", 403)):
        browser = served.browser()
        first = await browser.get("/login")
        browser.cookies.clear()
        await browser.get("/login")
        values = {"username": "admin", "password": ADMIN_PASSWORD}
        sent = await browser.submit(first, values, to="/login", headers={"Sec-Fetch-Site": site})
        assert (sent.status_code, "ostiary_access" in browser.cookies) == (status, status == 303), site


@pytest.mark.parametrize(
    "is_other_tab, said",
    [
        (True, "This page was opened again in another tab, or a long time ago."),
        (False, "No cookie came with this form: this browser keeps none, or it was open for too long."),
    ],
)
async def test_a_form_with_a_wrong_cookie_works_again(served: Served, is_other_tab: bool, said: str) -> None:
    browser = served.browser()
    page = await browser.get("/login?next=/account")
    browser.cookies.clear()
    if is_other_tab:
        # Both were asked for before either was answered with a cookie.
        await browser.get("/login?next=/account")
    # Over plain HTTP no browser says which site makes a request.
    credentials = {"username": "admin", "password": ADMIN_PASSWORD}
    stale = await browser.submit(page, credentials, to="/login", headers={"Sec-Fetch-Site": "none"})
    assert stale.status_code == 403
    assert said in unescape(stale.text)
    assert stale.text.count('role="alert"') == 1
    assert forms_in(stale)[0].fields["username"] == "admin"
    again = await browser.submit(stale, {"password": ADMIN_PASSWORD}, to="/login")
    assert (again.status_code, again.headers["location"]) == (303, "/account")


async def test_no_other_site_fills_in_the_user_name(served: Served) -> None:
    browser = served.browser()
    page = await browser.get("/login")
    values = {"username": "mallory", "password": "x"}
    foreign = await browser.submit(page, values, to="/login", headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403
    assert "mallory" not in foreign.text
    assert "does not prove that it comes from this site" in foreign.text


@pytest.mark.parametrize(
    "path, to",
    [("/recover", "/recover"), ("/recover?code=1", "/recover/password"), ("/password", "/password")],
)
async def test_other_forms_of_another_tab_say_so_too(browser: Browser, path: str, to: str) -> None:
    page = await browser.get(path)
    browser.cookies.delete("ostiary_form")
    browser.cookies.set("ostiary_form", "another", domain="id.example", path="/")
    assert "opened again in another tab" in (await browser.submit(page, to=to)).text


async def test_an_origin_that_is_not_ours_is_logged_beside_the_one_that_is(browser: Browser) -> None:
    """An operator who forgot `PUBLIC_URL` behind a proxy then sees which value to set."""
    page = await browser.get("/account")
    foreign = {"Origin": "https://id.example", "Sec-Fetch-Site": "cross-site"}
    with capture_logs() as log:
        for to in ("/account/zone", "/logout"):
            assert (await browser.submit(page, to=to, headers=foreign)).status_code == 403
        by_cookie = await browser.put("/api/auth/locale", json={"locale": "en-US"}, headers=foreign)
        assert by_cookie.status_code == 403
        await browser.submit(page, to="/logout", headers={"Origin": "https://" + "a" * 300})
    told = [(line["origin"], line["own_origin"]) for line in log if line.get("why") == "origin_unproven"]
    assert told == [("https://id.example", "http://id.example")] * 3 + [("", "http://id.example")]


# --- roles


async def test_a_role_behind_many_others_is_offered_and_ticked(served: Served, browser: Browser) -> None:
    roles = [Role(role_id=f"role{number:03}", name="Some") for number in range(450)]
    served.store.write([Insert(role) for role in roles])
    user_id = await with_phone(served, roleIds=["role449"])
    page = await browser.get(f"/admin/people/{user_id}/edit")
    offered = re.findall(r'<input [^>]*name="roleIds"[^>]*>', page.text)
    assert len(offered) == 451
    assert [box for box in offered if "checked" in box] == [box for box in offered if "role449" in box]


async def test_no_change_of_the_built_in_role_is_offered(browser: Browser) -> None:
    built_in = (await browser.get("/admin/roles/super_admin")).text
    assert ("cannot be changed" in built_in, "super_admin/edit" in built_in) == (True, False)


# --- two administrators have the same form open: neither undoes what the other saved


FORM = "/admin/clients/app/edit"
FILLED: dict[str, Any] = {
    "name": "The App",
    "redirectUris": "https://app.example/callback",
    "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
    "scopes": ["user.read"],
    "autoApproveScopes": [],
    "accessTokenTtl": "1800",
    "refreshTokenTtl": "2592000",
}


async def open_page(served: Served) -> tuple[Browser, httpx.Response]:
    browser = await served.sign_in_browser()
    return browser, await browser.get(FORM)


async def save(browser: Browser, page: httpx.Response, **changed: Any) -> httpx.Response:
    return await browser.submit(page, {**FILLED, **changed}, to=FORM)


async def app(served: Served) -> dict[str, Any]:
    root = await served.administrator()
    client: dict[str, Any] = await root.succeed("GET", "/api/oauth/clients/app")
    return client


@pytest.fixture
async def served_app(served: Served) -> Served:
    await served.client(accessTokenTtl=1800, refreshTokenTtl=2_592_000)
    return served


@pytest.mark.parametrize(
    "shown", ["", "{", "[]", "null", '{"name": "\\ud800"}', '{"scopes": 7}', '{"name": 1e999}', "[" * 9_000]
)
async def test_a_made_up_old_value_of_a_form_undoes_nothing(served_app: Served, shown: str) -> None:
    browser, page = await open_page(served_app)
    assert (await save(browser, page, shown=shown, accessTokenTtl="600")).status_code == 303
    assert (await app(served_app))["accessTokenTtl"] == 600


async def test_an_untouched_form_changes_nothing_in_any_order_of_registration(served: Served) -> None:
    await served.client(grantTypes=["refresh_token", "authorization_code"])
    before = await app(served)
    browser, page = await open_page(served)
    fields = {**FILLED, "name": before["name"], "grantTypes": ["authorization_code", "refresh_token"]}
    fields["refreshTokenTtl"] = str(before["refreshTokenTtl"])
    fields["redirectUris"] = "\r\n".join(before["redirectUris"])
    served.clock.wait(60)
    assert (await save(browser, page, **fields)).status_code == 303
    assert await app(served) == before
