"""The sign-in form, when the first try did not do."""

import re

import httpx
import pytest

from tests.web.served import ADMIN_PASSWORD, Served, forms_in


def typed_in(page: httpx.Response) -> list[str]:
    """The fields that the page says are typed in first."""
    return re.findall(r'<input id="([a-z]+)"[^>]* autofocus', page.text)


async def test_the_password_is_typed_again_after_a_wrong_one(served: Served) -> None:
    browser = served.browser()
    page = await browser.get("/login")
    assert typed_in(page) == ["username"]
    wrong = await browser.log_in(page, "admin", "wrong")
    assert forms_in(wrong)[0].fields["username"] == "admin"
    assert typed_in(wrong) == ["password"]


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "This page was open for too long. Please sign in again."),
        ("zh-CN", "页面打开时间过久，请重新登录。"),
    ],
)
async def test_a_form_that_was_open_for_too_long_says_so_and_works_again(
    served: Served, language: str, text: str
) -> None:
    browser = served.browser(**{"Accept-Language": language})
    page = await browser.get("/login?next=/account")
    browser.cookies.clear()
    stale = await browser.log_in(page)
    assert stale.status_code == 403
    assert text in stale.text
    assert stale.text.count('role="alert"') == 1
    assert forms_in(stale)[0].fields["username"] == "admin"
    assert typed_in(stale) == ["password"]
    again = await browser.submit(stale, {"password": ADMIN_PASSWORD}, to="/login")
    assert (again.status_code, again.headers["location"]) == (303, "/account")


async def test_no_other_site_fills_in_the_user_name(served: Served) -> None:
    browser = served.browser()
    page = await browser.get("/login")
    values = {"username": "mallory", "password": "x"}
    foreign = await browser.submit(page, values, to="/login", headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403
    assert "mallory" not in foreign.text
    assert "open for too long" not in foreign.text
