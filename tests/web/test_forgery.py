"""No other site makes a browser do anything: every page that takes a form, and every route by its cookie."""

import pytest
from structlog.testing import capture_logs

from tests.support.callers import Browser, form_token_in
from tests.support.served import Served, routes
from tests.web.test_malformed import standing

WITHOUT_COOKIES = {
    *("/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/revoke"),
    *("/api/auth/login", "/api/auth/login/second-factor", "/api/auth/login/second-factor/set-up"),
    *("/api/auth/refresh", "/api/auth/sms-code", "/api/auth/reset-password"),
}
"""What looks at no cookie: nothing is gained by having a browser ask for it."""
CHANGING = sorted(
    {
        (method, path)
        for method, path in routes()
        if method in ("POST", "PUT", "DELETE") and path not in WITHOUT_COOKIES
    }
)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


FOREIGN = {
    "other origin": {"Origin": "https://evil.example"},
    "null across sites": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "sister site": {"Origin": "http://id.example", "Sec-Fetch-Site": "same-site"},
    "origin as a prefix": {"Origin": "http://id.example.evil.example"},
    "other scheme": {"Origin": "https://id.example"},
    "other port": {"Origin": "http://id.example:8080"},
}


@pytest.mark.parametrize(
    "origin, logged",
    [
        ("https://evil.example", "https://evil.example"),
        ("https://evil.example\tmsg=all-is-well", ""),
        ("https://" + "x" * 300, ""),
    ],
)
async def test_the_log_has_the_origin_that_was_refused_if_it_can_be_one(
    origin: str, logged: str, browser: Browser
) -> None:
    with capture_logs() as log:
        await browser.request("POST", "/api/auth/logout", headers={"Origin": origin})
    assert [(entry["why"], entry["origin"]) for entry in log] == [("origin_unproven", logged)]


@pytest.mark.parametrize("sent", ["nothing", *FOREIGN])
async def test_a_forged_request_does_nothing(served: Served, browser: Browser, sent: str) -> None:
    """Without the browser's form token, and with it from another site."""
    await served.client()
    known = form_token_in(await browser.get("/password"))
    kept, before = dict(browser.cookies), standing(served)
    assert ("POST", "/logout") in CHANGING
    assert len(CHANGING) > 40
    for method, path in CHANGING:
        for token in ("x" * 43, *([known] if sent in FOREIGN else [])):
            browser.cookies.clear()
            browser.cookies.update(kept)
            fields = {**FORM, **FOREIGN.get(sent, {}), **({"X-Form-Token": token} if sent in FOREIGN else {})}
            response = await browser.request(method, path, content=f"form_token={token}", headers=fields)
            assert response.status_code == 403, (method, path, response.status_code)
            assert not response.headers.get("location", "").startswith("http")
    browser.cookies.update(kept)
    assert (await browser.get("/api/auth/me")).status_code == 200
    assert standing(served) == before
