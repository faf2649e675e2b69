"""The form of a client: what it says of its fields, and what it shows again of what was entered."""

from html import unescape

import httpx
import pytest

from tests.web.envelopes import succeeded
from tests.web.served import Browser, Served, forms_in


def form_of(page: httpx.Response, action: str) -> dict[str, str]:
    (form,) = [form for form in forms_in(page) if form.action == action]
    return form.fields


@pytest.mark.parametrize(
    "language, new, standing",
    [
        ("en", "300 to 86400; 1800 if left empty", "300 to 86400; unchanged if left empty"),
        ("zh-CN", "300 到 86400，留空为 1800", "300 到 86400，留空则不变"),
    ],
)
async def test_what_an_empty_lifetime_means(served: Served, language: str, new: str, standing: str) -> None:
    await served.client(accessTokenTtl=600)
    browser = served.browser(**{"Accept-Language": language})
    await browser.sign_in()
    assert new in unescape((await browser.get("/admin/clients/new")).text)
    page = await browser.get("/admin/clients/app/edit")
    assert standing in unescape(page.text)
    values = {"name": "The App", "redirectUris": "https://app.example/callback", "scopes": "user.read"}
    values |= {"grantTypes": "authorization_code", "accessTokenTtl": "", "autoApproveScopes": "user.read"}
    saved = await browser.submit(page, values, to="/admin/clients/app/edit")
    assert saved.status_code == 303, saved.text
    root = await served.administrator()
    client = succeeded(await root.call("GET", "/api/oauth/clients/app"))
    assert client["accessTokenTtl"] == 600


@pytest.mark.parametrize("path", ["/admin/clients/new", "/admin/clients/app/edit"])
async def test_a_lifetime_that_cannot_be_is_shown_as_it_was_entered(
    served: Served, browser: Browser, path: str
) -> None:
    await served.client()
    page = await browser.get(path)
    for entered in ("0", "299", "soon"):
        wrong = await browser.submit(page, {"accessTokenTtl": entered, "refreshTokenTtl": ""}, to=path)
        assert wrong.status_code == 400
        shown = form_of(wrong, path)
        assert (shown["accessTokenTtl"], shown["refreshTokenTtl"]) == (entered, "")
