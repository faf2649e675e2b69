"""Another site's page and what it can make a browser send: no sign-in, no refresh, no shopper of the demo."""

import json
from typing import Any

import httpx
import pytest
from demo.protocol import OAuthClient
from demo.third_party import third_party

from ostiary_web.texts import LANGUAGES
from tests.support.callers import ADMIN_PASSWORD, BASE
from tests.support.served import Served

SHOP = "http://127.0.0.1:9000"
FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": SHOP, "Sec-Fetch-Site": "same-site"},
    {"Origin": f"{SHOP}.evil.example"},
    {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-site"},
]
"""What browsers say of a form that another site sends; the last is the server's own address, another port."""


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
async def test_nobody_is_signed_in_by_a_form_of_another_site(served: Served, media_type: str) -> None:
    """A form can say these types and no other: JSON needs the leave that no answer of ours gives."""
    victim = served.browser(Origin="https://evil.example")
    login = json.dumps({"username": "admin", "password": ADMIN_PASSWORD, "x": "="})
    tokens = await served.api().sign_in()
    refresh = json.dumps({"refreshToken": tokens["refreshToken"], "x": "="})
    fields = {"Content-Type": media_type} if media_type else {}
    for path, body in (("/api/auth/login", login), ("/api/auth/refresh", refresh)):
        response = await victim.post(path, content=body, headers=fields)
        assert response.status_code == 415, path
        assert "set-cookie" not in response.headers
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        preflight = await victim.options(path, headers=asked)
        assert preflight.status_code == 405
        assert not any(name.startswith("access-control") for name in preflight.headers)
    assert not victim.cookies


# --- the demonstration's third party


def shop() -> httpx.AsyncClient:
    """Its page; nothing here gets as far as the server that it signs people in with."""
    oauth = OAuthClient(
        httpx.AsyncClient(), client_id="demo-shop", secret="s", redirect_uri=f"{SHOP}/callback", server=BASE
    )
    application: Any = third_party(oauth, BASE, LANGUAGES)
    return httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url=SHOP)


@pytest.mark.parametrize("said", FOREIGN, ids=[str(said) for said in FOREIGN])
async def test_no_other_site_starts_a_sign_in_at_the_shop_or_does_a_deed(said: dict[str, str]) -> None:
    browser = shop()
    started = await browser.post("/start", headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"})
    assert started.headers["location"].startswith(f"{BASE}/sso?")
    kept = dict(browser.cookies)
    for path in ("/start", "/do/refresh", "/do/revoke", "/do/machine"):
        response = await browser.post(path, headers=said)
        assert response.status_code == 403, path
        assert "set-cookie" not in response.headers
    assert dict(browser.cookies) == kept


async def test_the_shop_takes_a_callback_for_its_own_browser_alone() -> None:
    """Login CSRF by a callback: the state is another browser's, or nobody's."""
    attacker, victim = shop(), shop()
    started = await attacker.post("/start")
    state = httpx.URL(started.headers["location"]).params["state"]
    await victim.post("/start")
    for browser, given in ((victim, state), (victim, ""), (victim, "é"), (shop(), state)):
        response = await browser.get("/callback", params={"code": "the attacker's", "state": given})
        assert (response.status_code, response.headers["location"]) == (303, "/")
    assert "the attacker" not in (await victim.get("/")).text


async def test_the_shops_answers_are_secluded_too() -> None:
    browser = shop()
    for response in (await browser.get("/"), await browser.post("/start"), await browser.get("/none")):
        assert response.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert response.headers["referrer-policy"] == "no-referrer"
