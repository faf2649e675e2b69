"""Every answer that a browser can be made to ask for is nobody else's to show, to guess at or to embed."""

import httpx

from tests.support.callers import Browser
from tests.support.served import Served, routes

SERVER_TO_SERVER = {
    *("/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/revoke"),
    "/api/oauth2/userinfo",
}


ELSEWHERE = [
    (method, path)
    for path in ("/static/ostiary.css", "/static/door.svg", "/static/none", "/none", "/api/none", "//x")
    for method in ("GET", "POST", "OPTIONS", "HEAD")
]


def expect_seclusion(response: httpx.Response) -> None:
    asked = (response.request.method, response.url, response.status_code)
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"], asked
    assert "default-src 'none'" in response.headers["content-security-policy"], asked
    assert response.headers["x-frame-options"] == "DENY", asked
    assert response.headers["x-content-type-options"] == "nosniff", asked
    assert response.headers["referrer-policy"] == "no-referrer", asked
    assert not any(name.startswith("access-control") for name in response.headers), asked


async def test_every_answer_is_secluded(served: Served, browser: Browser) -> None:
    kept = dict(browser.cookies)
    statuses = set()
    for visitor in (browser, served.browser(), served.api()):
        for method, path in [*routes(), *ELSEWHERE]:
            if visitor is browser:
                browser.cookies.update(kept)
            response = await visitor.request(method, path, extensions={"target": path.encode()})
            statuses.add(response.status_code)
            assert response.headers["x-content-type-options"] == "nosniff", (method, path)
            if response.status_code == 200 and 'name="form_token"' in response.text:
                assert response.headers["cache-control"] == "no-store", (method, path)
            if path not in SERVER_TO_SERVER:
                expect_seclusion(response)
                assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert statuses >= {200, 303, 401, 403, 404, 405, 415}
    expect_seclusion(await browser.post("/login", content=bytes(1024 * 1024)))
