"""Every answer that a browser can be made to ask for is nobody else's to show, to guess at or to embed."""

import httpx

from ostiary_core.http.token_service import PATHS
from tests.rows import row
from tests.support.callers import Api, Browser
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
    assert response.headers["referrer-policy"] == "no-referrer", asked
    assert response.headers["cross-origin-resource-policy"] == "same-origin", asked


@row("Authentication rules", "5 no cross-origin permission")
async def test_every_answer_is_secluded(served: Served, browser: Browser, api: Api) -> None:
    """And no page of another site may read it; of what the interface answers nobody keeps anything."""
    foreign = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    bearer = {**foreign, "Authorization": f"Bearer {api.token}"}
    kept, statuses = dict(browser.cookies), set()
    for visitor, fields in ((browser, {}), (served.browser(), {}), (api, bearer), (served.api(), foreign)):
        for method, path in [*routes(), *(("OPTIONS", path) for path in PATHS), *ELSEWHERE]:
            if visitor is browser:
                browser.cookies.update(kept)
            response = await visitor.request(
                method, path, headers=fields, extensions={"target": path.encode()}
            )
            statuses.add(response.status_code)
            assert response.headers["x-content-type-options"] == "nosniff", (method, path)
            if response.status_code == 200 and 'name="form_token"' in response.text:
                assert response.headers["cache-control"] == "no-store", (method, path)
            assert not any(name.startswith("access-control") for name in response.headers), (method, path)
            assert "server" not in response.headers
            if path not in SERVER_TO_SERVER:
                expect_seclusion(response)
            if path.startswith("/api/") and "docs" not in path:
                assert response.headers["cache-control"] == "no-store", (method, path)
                assert not response.has_redirect_location, (method, path)
    assert statuses >= {200, 303, 401, 403, 404, 405, 415}
    expect_seclusion(await browser.post("/login", content=bytes(1024 * 1024)))
