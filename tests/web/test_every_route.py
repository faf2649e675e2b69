"""Rules for every route: who may call it, how it fails, and which headers keep its answers private."""

import re
from typing import Any

import httpx
import pytest
import trio

from ostiary_core.http.token_service import PATHS
from ostiary_net.turns.turns import Turns
from tests.rows import row
from tests.support.callers import BASE, Api, Browser, expect_refusal, sso
from tests.support.served import VARIABLE, Served, routes
from tests.web import test_gate
from tests.web.test_token_service import raw

INTERFACE = [
    (route.method, VARIABLE.sub("1", route.path))
    for route in test_gate.routes()
    if route.path.startswith("/api/") and not route.gate.is_open
]
PAGES = sorted(
    {path for method, path in routes() if method == "GET" and not path.startswith(("/api/", "/static"))}
)


@row("Authentication rules", "2 any other backend endpoint answers 401")
async def test_a_third_partys_token_opens_nothing_but_user_info(served: Served) -> None:
    """A token of a client in place of a browser's cookie shows the same pages as no cookie."""
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    machine = (await api.service("token", client, grant_type="client_credentials")).json()["access_token"]
    before = served.records()
    thief, stranger = served.browser(), served.browser()
    for token in (issued["access_token"], issued["refresh_token"], machine):
        for method, path in INTERFACE:
            await api.fail(401, "A1001", method, path, token=token)
            answer = await thief.request(method, path, headers={"Cookie": f"ostiary_access={token}"})
            assert answer.status_code in (401, 403), (method, path)
    planted = "; ".join(f"ostiary_{name}={issued[f'{name}_token']}" for name in ("access", "refresh"))
    for path in set(PAGES) - {"/", "/login"}:
        shown, expected = await thief.get(path, headers={"Cookie": planted}), await stranger.get(path)
        assert shown.status_code == expected.status_code, path
        # With any cookie of a sign-in, even a worthless one, the page says that the session has ended.
        location = shown.headers.get("location", "").replace("?signed_out=1&", "?")
        assert location == expected.headers.get("location", ""), path
    assert served.records() == before


@row("General envelope and status codes", "404")
@pytest.mark.parametrize(
    "language, message", [("en", "There is nothing at this address."), ("zh", "地址不存在")]
)
async def test_what_is_not_there_is_404_in_the_envelope(served: Served, language: str, message: str) -> None:
    api = served.api(**{"Accept-Language": language})
    for path in (
        *("/api", "/api/", "/api/nothing", "/api/oauth2", "/api/oauth2/token/", "/api/oauth2/TOKEN"),
        *("/api//oauth2/token", "//api/oauth2/token", "/api/oauth2/token%00", "/api/oauth2/%2e%2e/token"),
        "/api/.well-known/openid-configuration",
    ):
        for method in ("GET", "POST"):
            failure = expect_refusal(await api.request(method, httpx.URL(path)), 404, "A0404")
            assert (failure["msg"], failure["errors"]) == (message, [])


async def test_a_method_that_is_not_there_is_405_and_the_others_are_named(served: Served, api: Api) -> None:
    map_of_routes = served.application.quart.url_map.bind("id.example")
    for path in {path for _, path in routes("/api/")}:
        # A word in a path may also be the identifier of a record: /users/options, /users/:id.
        methods = set(map_of_routes.allowed_methods(path)) - {"HEAD"}
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} - methods:
            response = await api.call(method, path)
            if path in PATHS:
                raw(response, 405, "invalid_request")
            else:
                expect_refusal(response, 405, "A0405")
            named = response.headers["allow"].split(", ")
            assert named == sorted(named), path
            assert {*named} >= methods, path


async def test_json_may_name_its_charset(served: Served) -> None:
    body = b'{"username": "admin", "password": "correct horse battery"}'
    media_type = {"Content-Type": "application/json; charset=utf-8"}
    await served.api().succeed("POST", "/api/auth/login", content=body, headers=media_type)


@pytest.mark.parametrize("body_seconds", [0.0, 0.6])
async def test_turns_that_take_too_long_together_are_answered_by_a_page(
    served: Served, body_seconds: float, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    """The form comes at once, or later than the front door waits before it calls the application."""

    async def call_with_late_body(scope: Any, receive: Any, send: Any) -> None:
        async def receive_late() -> Any:
            mock_clock.jump(body_seconds)
            await trio.lowlevel.checkpoint()
            return await receive()

        await served.app(scope, receive_late, send)

    async def decide_late(*asked: Any, decide: Any = Turns.decide, **more: Any) -> Any:
        for _ in range(95):
            mock_clock.jump(0.05)
            await trio.lowlevel.checkpoint()
        return await decide(*asked, **more)

    transport = httpx.ASGITransport(call_with_late_body)
    browser = Browser(transport=transport, base_url=BASE, headers={"Accept": "text/html"})
    monkeypatch.setattr(Turns, "decide", decide_late)
    response = await browser.sign_in()
    assert (response.status_code, response.headers["content-type"][:9]) == (500, "text/html")


# --- no other site may show, read or embed an answer


SERVER_TO_SERVER = {*PATHS, "/api/oauth2/userinfo"}


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


def expect_own_page(page: httpx.Response) -> None:
    """Assert that a page is not cached, and loads and runs only files of this server."""
    assert page.headers["cache-control"] == "no-store", page.url
    assert "etag" not in page.headers
    assert page.headers["cross-origin-opener-policy"] == "same-origin", page.url
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert all(kept in policy for kept in ("base-uri 'none'", "form-action 'self'")), page.url
    assert "<script>" not in page.text
    assert not re.search(r"""(?:src|href|action)=["']?(?:https?:)?//""", page.text)
    assert not re.search(r"""\son[a-z]+=|\sstyle=|javascript:""", page.text)


@row("Authentication rules", "5 no cross-origin permission")
async def test_every_answer_is_secluded(served: Served, browser: Browser, api: Api) -> None:
    """No page of another site may read an answer, and no cache keeps an answer of the interface."""
    foreign = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    bearer = {**foreign, "Authorization": f"Bearer {api.token}"}
    kept, statuses = dict(browser.cookies), set()
    for visitor, fields in ((browser, {}), (served.browser(), {}), (api, bearer), (served.api(), foreign)):
        for method, path in [*routes(), *(("OPTIONS", path) for path in PATHS), *ELSEWHERE]:
            if visitor is browser:
                browser.cookies.update(kept)
            exactly = {"target": path.encode()}
            response = await visitor.request(method, path, headers=fields, extensions=exactly)
            statuses.add(response.status_code)
            assert response.headers["x-content-type-options"] == "nosniff", (method, path)
            if path in PAGES and "text/html" in response.headers.get("content-type", ""):
                expect_own_page(response)
            assert not any(name.startswith("access-control") for name in response.headers), (method, path)
            assert "server" not in response.headers
            if path not in SERVER_TO_SERVER:
                expect_seclusion(response)
            if path.startswith("/api/") and "docs" not in path:
                assert response.headers["cache-control"] == "no-store", (method, path)
                assert not response.has_redirect_location, (method, path)
    assert statuses >= {200, 303, 401, 403, 404, 405, 415}
    for visitor in (browser, api):  # a page, and the envelope
        expect_seclusion(await visitor.post("/login", content=bytes(1024 * 1024)))


async def test_a_window_stays_in_reach_of_the_client_that_opened_it(served: Served, browser: Browser) -> None:
    """The client's callback speaks to the window that opened it; the policy on a page would cut this off."""
    await served.client()
    for visitor, path in ((served.browser(), f"/login?next={sso()}"), (browser, sso())):
        page = await visitor.get(path)
        assert (page.status_code, "cross-origin-opener-policy" in page.headers) == (200, False), path
