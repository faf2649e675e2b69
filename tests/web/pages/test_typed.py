"""A form has its typed fields again after a sign-in in between, and in another language."""

import re
from collections.abc import AsyncIterator
from html import unescape
from urllib.parse import urlencode

import httpx
import pytest

from ostiary_core.model.records import Table
from tests.support.callers import ADMIN_PASSWORD, Browser, form_token_in, forms_in
from tests.support.served import Served

NEW = "/admin/people/new"
TYPED = {"username": "li", "name": '"Li" & <b>', "password": "a first password", "phone": "+8613800000009"}
CHOSEN = {"locale": "zh-CN", "timezone": "America/Lima"}


async def end_session(served: Served) -> None:
    """End the administrator's sessions from another browser."""
    api = await served.administrator()
    me = await api.succeed("GET", "/api/auth/me")
    await api.succeed("POST", f"/api/iam/users/{me['id']}/force-logout")


async def send_after_the_end(served: Served) -> tuple[Browser, httpx.Response]:
    """Send a form after the session was ended; return the browser and the answer."""
    browser = await served.sign_in_browser()
    page = await browser.get(NEW)
    await end_session(served)
    return browser, await browser.submit(page, {**TYPED, **CHOSEN}, to=NEW)


def fields_on(page: httpx.Response) -> dict[str, str]:
    [form] = [form for form in forms_in(page) if form.action == NEW]
    return form.fields


async def test_a_form_whose_session_ended_comes_back_filled_but_for_passwords(served: Served) -> None:
    browser, sent = await send_after_the_end(served)
    assert sent.headers["location"] == f"/login?signed_out=1&next={NEW}"
    assert "a first password" not in str(dict(browser.cookies))
    page = await browser.follow(sent)
    assert "You were signed out. What you entered is kept" in page.text
    assert len(served.records()[Table.USER]) == 1, "nothing was done yet"
    page = await browser.follow(await browser.log_in(page))
    assert "What you had entered is filled in again" in page.text
    assert {name: fields_on(page)[name] for name in TYPED} == {**TYPED, "password": ""}
    chosen = re.findall("<option[^>]* selected[^>]*>([^<]+)", page.text)
    assert chosen == ["中文", "America/Lima"], "a list that has values, and one that has texts alone"
    assert "filled in again" not in (await browser.get(NEW)).text, "once"


@pytest.mark.parametrize(
    "characters, in_pieces, is_kept", [(1, False, True), (7_300, False, False), (1, True, False)]
)
async def test_a_lost_form_is_kept_if_it_is_short_and_says_so(
    served: Served, characters: int, in_pieces: bool, is_kept: bool
) -> None:
    browser = await served.sign_in_browser()
    token = form_token_in(await browser.get(NEW))
    await end_session(served)
    content = urlencode({"form_token": token, "name": "李" * characters}).encode()

    async def pieces() -> AsyncIterator[bytes]:
        yield content

    kind = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    sent = await browser.post(NEW, content=pieces() if in_pieces else content, headers=kind)
    assert (sent.status_code, "ostiary_typed=" in str(sent.headers)) == (303, is_kept)


async def test_another_user_is_shown_nothing_of_it(served: Served) -> None:
    root = await served.administrator()
    may = {"code": "desk", "name": "Desk", "permissions": ["iam.user.create", "iam.user.list"]}
    role = await root.succeed("POST", "/api/iam/roles", may, status=201)
    await served.user("anna", "anna's password", roleIds=[role["code"]])
    browser, sent = await send_after_the_end(served)
    page = await browser.follow(sent)
    page = await browser.follow(await browser.log_in(page, "anna", "anna's password"))
    assert page.url.path == NEW
    assert fields_on(page)["name"] == ""


@pytest.mark.parametrize(
    "headers, cookies, fields",
    [
        ({"Sec-Fetch-Site": "cross-site"}, [], {}),
        ({}, ["ostiary_form"], {}),
        ({}, ["ostiary_access", "ostiary_refresh"], {}),
        ({}, [], {"form_token": "x" * 43 + ".0123"}),
        ({}, [], {"name": "x" * 70_000}),
        ({"Content-Type": "text/plain"}, [], {}),
    ],
    ids=["other site", "no cookie", "no login", "made-up token", "too long", "a file"],
)
async def test_nothing_is_kept_of_what_no_form_of_ours_sent(
    served: Served, headers: dict[str, str], cookies: list[str], fields: dict[str, str]
) -> None:
    browser = await served.sign_in_browser()
    token = form_token_in(await browser.get(NEW))
    await end_session(served)
    for name in cookies:
        browser.cookies.delete(name)
    headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    content = urlencode({**TYPED, "form_token": token, **fields})
    assert (await browser.post(NEW, content=content, headers=headers)).status_code == 303
    assert "ostiary_typed" not in browser.cookies


async def test_an_ended_session_is_mentioned_at_the_sign_in_that_leads_back(served: Served) -> None:
    """A stranger, who had no session, reads nothing of one."""
    browser = await served.sign_in_browser()
    await end_session(served)
    sent = await browser.get("/admin/people?q=li")
    assert sent.headers["location"] == "/login?signed_out=1&next=/admin/people?q=li"
    page = await browser.follow(sent)
    assert "You were signed out. Sign in to go on" in page.text
    assert (await browser.log_in(page)).headers["location"] == "/admin/people?q=li"
    stranger = served.browser()
    page = await stranger.follow(await stranger.get("/admin/people"))
    assert "You were signed out" not in page.text


async def ask_for_chinese(browser: Browser, **typed: str) -> httpx.Response:
    """Fill in the form of a new user, and press the button for Chinese."""
    page = await browser.get(NEW)
    [to] = re.findall(r'formaction="(/language\?to=zh-CN[^"]*)"', page.text)
    fields = {**fields_on(page), "form_action": NEW, **typed}
    return await browser.post(unescape(to), data=fields, headers={"Origin": "null"})


async def test_another_language_keeps_what_was_typed(served: Served, browser: Browser) -> None:
    page = await browser.follow(await ask_for_chinese(browser, **TYPED))
    assert 'lang="zh-CN"' in page.text[:200]
    assert all(text in page.text for text in ("<!doctype html>", '<path class="door"'))
    assert {name: fields_on(page)[name] for name in TYPED} == {**TYPED, "password": ""}
    browser = await served.sign_in_browser()
    forged = await ask_for_chinese(browser, form_token="x", **TYPED)
    assert (forged.status_code, "ostiary_typed" in forged.cookies) == (403, False)


async def test_what_is_long_but_packs_well_is_not_kept_and_breaks_no_page(browser: Browser) -> None:
    page = await browser.follow(await ask_for_chinese(browser, name="\x01" * 15_000))
    assert (page.status_code, fields_on(page)["name"]) == (200, "")


async def test_boxes_lists_and_lines_come_back(served: Served) -> None:
    browser = await served.sign_in_browser()
    place = "/admin/clients/new"
    page = await browser.get(place)
    await end_session(served)
    fields = {"form_token": form_token_in(page), "clientId": "app", "grantTypes": "client_credentials"}
    content = urlencode({**fields, "redirectUris": "https://a.example/\nhttps://b"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "null"}
    page = await browser.follow(await browser.post(place, content=content, headers=headers))
    page = await browser.follow(await browser.submit(page, {"username": "admin", "password": ADMIN_PASSWORD}))
    assert ">\nhttps://a.example/\nhttps://b</textarea>" in page.text
    boxes = re.findall(r'<input type="checkbox" name="grantTypes" value="(\w+)"( checked)?>', page.text)
    assert dict(boxes) == {"authorization_code": "", "refresh_token": "", "client_credentials": " checked"}
