"""Two administrators with the same form open: neither undoes what the other saved."""

from html import unescape
from typing import Any

import httpx
import pytest

from tests.support.callers import Browser
from tests.support.served import Served
from tests.web.pages.test_forms import form_of

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


async def test_who_touched_the_same_is_asked_first(served_app: Served) -> None:
    (first, first_page), (second, second_page) = await open_page(served_app), await open_page(served_app)
    await save(first, first_page, redirectUris="https://new.example/cb", name="Renamed")
    asked = await save(second, second_page, redirectUris="https://other.example/cb", accessTokenTtl="600")
    assert asked.status_code == 409
    text = unescape(asked.text)
    assert "Another user has changed this in the meantime." in text
    assert "Changed meanwhile to: https://new.example/cb." in text
    shown = form_of(asked, FORM)
    # Their own entries are kept, and what they did not touch is as it stands.
    assert "https://other.example/cb</textarea>" in text
    assert (shown["accessTokenTtl"], shown["name"]) == ("600", "Renamed")
    assert (await app(served_app))["accessTokenTtl"] == 1800

    again = await save(
        second, asked, redirectUris="https://other.example/cb", accessTokenTtl="600", name="Renamed"
    )
    assert again.status_code == 303
    client = await app(served_app)
    assert client["redirectUris"] == ["https://other.example/cb"]
    assert (client["accessTokenTtl"], client["name"]) == (600, "Renamed")


async def test_a_form_with_a_fault_in_it_still_knows_what_it_showed_at_first(served_app: Served) -> None:
    (first, first_page), (second, second_page) = await open_page(served_app), await open_page(served_app)
    await save(first, first_page, name="Renamed")
    wrong = await save(second, second_page, accessTokenTtl="1")
    assert wrong.status_code == 400
    assert (await save(second, wrong, accessTokenTtl="600")).status_code == 303
    client = await app(served_app)
    assert (client["name"], client["accessTokenTtl"]) == ("Renamed", 600)


@pytest.mark.parametrize(
    "shown", ["", "{", "[]", "null", '{"name": "\\ud800"}', '{"scopes": 7}', '{"name": 1e999}', "[" * 9_000]
)
async def test_what_a_form_was_never_given_by_us_undoes_nothing_worse_than_itself(
    served_app: Served, shown: str
) -> None:
    browser, page = await open_page(served_app)
    answer = await save(browser, page, shown=shown, accessTokenTtl="600")
    assert answer.status_code == 303
    assert (await app(served_app))["accessTokenTtl"] == 600


async def test_an_untouched_form_changes_nothing_in_whatever_order_things_were_registered(
    served: Served,
) -> None:
    await served.client(grantTypes=["refresh_token", "authorization_code"])
    before = await app(served)
    browser, page = await open_page(served)
    fields = {**FILLED, "name": before["name"], "grantTypes": ["authorization_code", "refresh_token"]}
    fields["refreshTokenTtl"] = str(before["refreshTokenTtl"])
    fields["redirectUris"] = "\r\n".join(before["redirectUris"])
    served.clock.wait(60)
    assert (await save(browser, page, **fields)).status_code == 303
    assert await app(served) == before
