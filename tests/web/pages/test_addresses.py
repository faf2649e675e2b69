"""Addresses of pages: those too long to come back to are refused, and long lists have pages."""

import pytest
from structlog.testing import capture_logs

from ostiary_net.front_door.limits import LONGEST_HEAD
from ostiary_web.pages import account
from ostiary_web.pages.addresses import is_too_long_to_return_to
from tests.support.callers import Browser, form_token_in
from tests.support.served import Served


@pytest.mark.parametrize("cookie, spare", [("", 2_048), ("ostiary_access=x", 256)])
@pytest.mark.parametrize("query, counts", [("q=", True), ("next=", True), ("next=/", False)])
async def test_an_address_leaves_room_for_the_cookies_that_come_back_with_it(
    served: Served, cookie: str, spare: int, query: str, counts: bool
) -> None:
    app, headers = served.application.quart, {"Cookie": cookie, "Host": "h", "User-Agent": "u"}
    request_line = f"POST /account HTTP/1.1\r\n{query}"
    fields = sum(len(f"{name}: {value}\r\n") for name, value in headers.items())
    filled = LONGEST_HEAD - spare - fields - len(request_line)
    for more in (0, 1):
        address = f"/account?{'x' * (filled + more - 1)}&{query}"
        async with app.test_request_context(address, headers=headers):
            assert is_too_long_to_return_to() == (counts and more == 1)


async def test_sessions_beyond_a_page_are_on_the_next(
    served: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "_SESSIONS_A_PAGE", 2)
    for _ in range(2):
        await served.sign_in_browser()
    for number, links in ((1, [2]), (2, [1]), (4, [2])):
        page = await browser.get(f"/account/sessions?page={number}")
        assert [each for each in range(6) if f'href="/account/sessions?page={each}"' in page.text] == links


async def test_a_page_of_a_too_long_address_is_refused_and_a_form_or_a_sign_in_is_not(
    browser: Browser,
) -> None:
    long = f"?q={'x' * 15_950}"
    with capture_logs() as log:
        refused = await browser.get(f"/account{long}", headers={"Accept": "text/html"})
    assert (refused.status_code, [entry["why"] for entry in log]) == (414, ["address_too_long"])
    assert "xxx" not in refused.text
    assert (await browser.get(f"/login{long}")).status_code == 303
    form = {"form_token": form_token_in(await browser.get("/account")), "timezone": "UTC"}
    sent = await browser.post(f"/account/zone{long}", data=form, headers={"Origin": "null"})
    assert sent.status_code == 303
