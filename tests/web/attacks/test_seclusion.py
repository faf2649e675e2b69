"""Every answer that a browser can be made to ask for is nobody else's to show, to guess at or to embed."""

import re
from collections.abc import Iterator

import httpx

from ostiary_web.app.factory import create_app
from ostiary_web.server.settings import Settings
from tests.web.account.pictures import png
from tests.web.envelopes import succeeded
from tests.web.served import Api, Browser, Served

SERVER_TO_SERVER = {
    *("/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/revoke"),
    "/api/oauth2/userinfo",
}


def addresses() -> Iterator[tuple[str, str]]:
    """Every method and path, and some that are not there."""
    for rule in create_app(Settings.from_environment({})).url_map.iter_rules():
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield method, re.sub(r"<[^>]+>", "1", str(rule.rule))
    for path in ("/static/ostiary.css", "/static/door.svg", "/static/none", "/none", "/api/none", "//x"):
        yield from (("GET", path), ("POST", path), ("OPTIONS", path), ("HEAD", path))


def secluded(response: httpx.Response) -> None:
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
        for method, path in addresses():
            if visitor is browser:
                browser.cookies.update(kept)
            response = await visitor.request(method, path, extensions={"target": path.encode()})
            statuses.add(response.status_code)
            assert response.headers["x-content-type-options"] == "nosniff", (method, path)
            if path not in SERVER_TO_SERVER:
                secluded(response)
                assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert statuses >= {200, 303, 401, 403, 404, 405, 415}


async def test_a_picture_may_be_shown_elsewhere_and_do_nothing_there(served: Served, api: Api) -> None:
    files = {"file": ("me", png(), "image/png")}
    address = succeeded(await api.call("PUT", "/api/auth/avatar", files=files))["avatarUrl"]
    shown = await served.browser().get(address)
    assert shown.status_code == 200
    secluded(shown)
    assert "sandbox" in shown.headers["content-security-policy"]
    assert shown.headers["cross-origin-resource-policy"] == "cross-origin"
