"""No part of a request becomes a header field of an answer, and a forged Host is in no address."""

import re
from typing import Final
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.callers import ADMIN_PASSWORD, REDIRECT_URI, Browser, sso
from tests.support.connections import DOORS
from tests.support.served import VARIABLE, Served, rules

BREAKS: Final = ("\r\n", "\n", "\r", "%0d%0a", "%250d%250a", "\u560d\u560a", "\u2028", "\x00")
"""Line breaks: as they are, escaped, escaped twice, in wide characters; another line separator, and a NUL."""
PLANTED: Final = "X-Planted: 1"
FIELD_VALUE: Final = re.compile(r"[\x20-\x7e\x80-\xff]*")


def nothing_planted(response: httpx.Response) -> None:
    """Assert that no field was planted, and that the value of no field could end early at a proxy."""
    assert "x-planted" not in response.headers
    for name, value in response.headers.multi_items():
        assert FIELD_VALUE.fullmatch(value), (name, value)
    # A proxy decodes nothing: escaped characters in an address stay escaped.
    assert "\n" not in response.headers.get("location", "")


@pytest.mark.parametrize("door", DOORS)
async def test_no_parameter_of_a_page_becomes_a_field(served: Served) -> None:
    await served.client()
    for broken in BREAKS:
        sent = f"x{broken}{PLANTED}{broken}{broken}<p>"
        browser, stranger = served.browser(), served.browser()
        await browser.sign_in()
        for visitor in (browser, stranger):
            for path, parameters in (
                ("/login", {"next": f"/{sent}"}),
                ("/login", {"next": sent, "switch": "1"}),
                ("/language", {"to": "en-US", "next": f"/{sent}"}),
                ("/language", {"to": sent}),
                ("/password", {"next": f"/{sent}"}),
                ("/recover", {"code": sent}),
                ("/login", {"next": f"/sso?redirect_uri=https://app.example{sent}"}),
                ("/admin/clients", {"q": sent, "sort": sent}),
            ):
                nothing_planted(await visitor.get(path, params=parameters))
            for name in ("state", "redirect_uri", "client_id", "scope", "response_type", "code_challenge"):
                nothing_planted(await visitor.get(sso(**{name: sent})))
        page = await stranger.get("/login")
        values = {"username": "admin", "password": ADMIN_PASSWORD, "next": f"/{sent}"}
        signed_in = await stranger.submit(page, values, to="/login")
        nothing_planted(signed_in)
        assert signed_in.status_code == 303


@pytest.mark.parametrize("door", DOORS)
async def test_a_state_comes_back_whole_and_as_one_parameter(served: Served, browser: Browser) -> None:
    for number, broken in enumerate(BREAKS):
        await served.client(f"app{number}")
        state = f"a{broken}{PLANTED}&code=stolen#x"
        page = await browser.get(sso(f"app{number}", state=state))
        for decision in ("deny", "approve"):
            answer = await browser.submit(page, {"decision": decision}, to="/sso")
            nothing_planted(answer)
            result = urlsplit(answer.headers["location"])
            assert f"{result.scheme}://{result.netloc}{result.path}" == REDIRECT_URI
            assert result.fragment == ""
            assert parse_qs(result.query, strict_parsing=True)["state"] == [state]
            assert parse_qs(result.query).get("code") != ["stolen"]


@pytest.mark.parametrize("broken", ["\n", "\r\n", "\x00", "é"], ids=["LF", "CR LF", "NUL", "not ASCII"])
async def test_no_field_of_a_request_becomes_one_of_the_answer(browser: Browser, broken: str) -> None:
    """Some application servers let such bytes of a request through."""
    value = f"x{broken}{PLANTED}".encode("latin-1")
    for name in ("Accept-Language", "X-Timezone", "User-Agent", "Origin", "X-Request-Id", "X-Form-Token"):
        for path in ("/", "/account", "/api/auth/me", "/api/nothing", "/api/oauth/clients/export"):
            nothing_planted(await browser.get(path, headers=[(name.encode(), value)]))
    browser.cookies.set("ostiary_language", "en-US")
    nothing_planted(await browser.get("/", headers=[(b"Cookie", b"ostiary_language=" + value)]))


# --- Host


EVIL: Final = "evil.example"


FIXED: Final = [path for method, path in rules() if method == "GET" and not VARIABLE.search(path)]


async def answers_to(browser: Browser, host: str) -> list[httpx.Response]:
    found = [await browser.get(path, headers={"Host": host}) for path in (*FIXED, sso())]
    assert len(found) > 30
    return found


@pytest.mark.parametrize("door", DOORS)
async def test_a_host_that_was_made_up_is_in_no_answer(served: Served, browser: Browser) -> None:
    """Without PUBLIC_URL the server does not know its own address, so it shows none."""
    await served.client()
    kept = dict(browser.cookies)
    for visitor in (browser, served.browser()):
        for response in await answers_to(visitor, EVIL):
            assert EVIL not in response.text, response.url
            for name, value in response.headers.multi_items():
                assert EVIL not in value, (response.url, name)
            assert response.headers.get("location", "/").startswith("/")
    # Some of these pages say that nothing was selected.
    assert {name: value for name, value in browser.cookies.items() if name != "ostiary_notice"} == kept
    page = await served.browser().get("/login", headers={"Host": EVIL})
    assert "domain" not in page.headers["set-cookie"].lower()
