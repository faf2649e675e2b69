"""The next page reports an action once, and shows no report that another server made."""

import hmac
from base64 import urlsafe_b64encode

import pytest
from quart import Response

from ostiary_web.http.browser import keep_notice, read_notice
from tests.support.callers import Browser
from tests.support.served import Served

COOKIE = "ostiary_notice"


async def test_a_notice_waits_for_its_page(browser: Browser) -> None:
    await browser.submit(await browser.get("/account"), {"timezone": "UTC"}, to="/account/zone")
    assert "Saved." not in (await browser.get("/admin/people")).text
    assert "Saved." in (await browser.get("/account")).text


@pytest.mark.parametrize(
    "lines, kept",
    [
        (["a" * 2_400, "b"], ["a" * 2_400]),
        (["a" * 2_401], ["a" * 2_397 + "…"]),
        (["a" * 2_396, "bcdef"], ["a" * 2_396, "b…"]),
        (["a" * 2_397, "bcde"], ["a" * 2_397]),
        (["文" * 801, "b"], ["文" * 799 + "…"]),
    ],
)
async def test_a_long_notice_is_cut_to_what_a_cookie_holds(
    served: Served, lines: list[str], kept: list[str]
) -> None:
    app = served.application.quart
    async with app.test_request_context("/", headers={"Cookie": "ostiary_form=f"}):
        sent = keep_notice(Response(""), "/admin", lines).headers["Set-Cookie"].partition(";")[0]
    assert len(sent) < 4_000
    async with app.test_request_context("/admin", headers={"Cookie": f"ostiary_form=f; {sent}"}):
        assert read_notice() == kept
    async with app.test_request_context("/"):
        assert keep_notice(Response(""), "/admin", lines).headers.get("Set-Cookie") is None


@pytest.mark.parametrize("forgery", ["", "x", "e30.x", "another browser's", "no browser's"])
async def test_a_forged_notice_is_not_shown(served: Served, browser: Browser, forgery: str) -> None:
    await browser.submit(await browser.get("/account"), {"timezone": "UTC"}, to="/account/zone")
    kept = browser.cookies[COOKIE]
    content = urlsafe_b64encode(b'["/account", "Call us!"]').decode()
    forged = forgery or f"{content}.{kept.partition('.')[2]}"
    if forgery == "another browser's":
        browser = await served.sign_in_browser()
        await browser.get("/account")
        forged = kept
    if forgery == "no browser's":
        browser.cookies.delete("ostiary_form")
        signature = hmac.digest(b"", b"ostiary notice " + content.encode(), "sha256")
        forged = f"{content}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    browser.cookies.set(COOKIE, forged, domain="id.example")
    page = await browser.get("/account")
    assert (page.status_code, 'role="status"' in page.text) == (200, False)
