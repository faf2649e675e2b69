"""No other site makes a browser do anything: every page that takes a form, and every route by its cookie."""

import httpx
import pytest

from tests.web.served import Browser, Served
from tests.web.test_every_route import routes
from tests.web.test_malformed import standing

CHANGING = sorted({(method, path) for method, path in routes("/") if method in ("POST", "PUT", "DELETE")})
WITHOUT_COOKIES = {
    *("/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/revoke"),
    *("/api/auth/login", "/api/auth/refresh", "/api/auth/sms-code", "/api/auth/reset-password"),
}
"""What looks at no cookie: nothing is gained by having a browser ask for it."""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://id.example", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://id.example.evil.example"},
    ],
    ids=["no origin", "other origin", "null across sites", "sister site", "origin as a prefix"],
)
async def test_a_forged_request_does_nothing(served: Served, browser: Browser, sent: dict[str, str]) -> None:
    await served.client()
    kept, before = dict(browser.cookies), standing(served)
    assert ("POST", "/logout") in CHANGING
    assert len(CHANGING) > 40
    for method, path in CHANGING:
        if path in WITHOUT_COOKIES:
            continue
        browser.cookies.clear()
        browser.cookies.update(kept)
        guessed = {"X-Form-Token": "x" * 43} if "Origin" in sent else {}
        response: httpx.Response = await browser.request(
            method, path, content=b"form_token=" + b"x" * 43, headers={**FORM, **sent, **guessed}
        )
        assert response.status_code == 403, (method, path, response.status_code)
        assert not response.headers.get("location", "").startswith("http")
    browser.cookies.update(kept)
    assert (await browser.get("/api/auth/me")).status_code == 200
    assert standing(served) == before
