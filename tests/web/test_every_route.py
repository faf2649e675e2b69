"""What holds for every route there is: who it is open to, how it fails, what it lets others keep."""

import re
from typing import Any, NoReturn

import httpx
import pytest
import trio
from structlog.testing import capture_logs

from ostiary_core.http.token_service import PATHS
from ostiary_net.turns.turns import Turns
from tests.rows import row
from tests.support.callers import BASE, Api, Browser, expect_refusal
from tests.support.served import Served, routes
from tests.web.test_token_service import raw

OPEN = {
    ("POST", "/api/auth/login"),
    ("POST", "/api/auth/refresh"),
    ("POST", "/api/auth/sms-code"),
    ("POST", "/api/auth/reset-password"),
    ("GET", "/api/docs"),
    ("GET", "/api/docs-json"),
    ("GET", "/api/oauth2/userinfo"),
    ("POST", "/api/auth/login/second-factor"),
    ("POST", "/api/auth/login/second-factor/set-up"),
    ("POST", "/api/oauth2/token"),
    ("POST", "/api/oauth2/introspect"),
    ("POST", "/api/oauth2/revoke"),
}
"""What the interface lets be asked without a login session; each has its own credentials."""


INTERFACE = sorted(set(routes("/api/")) - OPEN)
PAGES = sorted({path for method, path in routes("/") if method == "GET" and not path.startswith("/api/")})


@row("Authentication rules", "2 any other backend endpoint answers 401")
async def test_a_third_partys_token_opens_nothing_but_user_info(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    machine = (await api.service("token", client, grant_type="client_credentials")).json()["access_token"]
    before = served.records()
    for method, path in INTERFACE:
        for token in (issued["access_token"], issued["refresh_token"], machine):
            response = await api.call(method, path, token=token)
            expect_refusal(response, 401, "A1001")
            by_cookie = {"Cookie": f"ostiary_access={token}"}
            response = await api.request(method, path, headers=by_cookie)
            assert response.status_code in (401, 403), (method, path)
    assert served.records() == before


@row("General envelope and status codes", "404")
@pytest.mark.parametrize(
    "language, message", [("en", "There is nothing at this address."), ("zh", "地址不存在")]
)
async def test_what_is_not_there_is_404_in_the_envelope(served: Served, language: str, message: str) -> None:
    api = served.api(**{"Accept-Language": language})
    for path in (
        "/api",
        "/api/",
        "/api/nothing",
        "/api/oauth2",
        "/api/oauth2/token/",
        "/api/oauth2/TOKEN",
        "/api//oauth2/token",
        "//api/oauth2/token",
        "/api/oauth2/token%00",
        "/api/oauth2/%2e%2e/token",
        "/api/.well-known/openid-configuration",
    ):
        for method in ("GET", "POST"):
            failure = expect_refusal(await api.request(method, httpx.URL(path)), 404, "A0404")
            assert failure["msg"] == message
            assert failure["errors"] == []


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/static/../app.py", "/static/", "/x"])
async def test_nothing_else_is_served(served: Served, path: str) -> None:
    response = await served.api().get(path)
    assert response.status_code == 404


async def test_a_method_that_is_not_there_is_405_and_the_others_are_named(served: Served, api: Api) -> None:
    map_of_routes = served.application.quart.url_map.bind("id.example")
    for path in {path for _, path in routes("/api/")}:
        # A word in a path may also be somebody's identifier: /users/options, /users/:id.
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
    api = served.api()
    response = await api.post(
        "/api/auth/login",
        content=b'{"username": "admin", "password": "correct horse battery"}',
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert response.status_code == 200


async def test_every_page_is_for_its_visitor_alone_and_loads_nothing_foreign(
    served: Served, browser: Browser
) -> None:
    for path in PAGES:
        for visitor in (browser, served.browser()):
            response = await visitor.get(path, headers={"If-None-Match": "*"})
            assert response.status_code in (200, 303, 400, 403, 404), path
            if path.startswith("/static"):
                continue
            assert response.headers["cache-control"] == "no-store", path
            assert "etag" not in response.headers
            if "text/html" in response.headers.get("content-type", ""):
                policy = response.headers["content-security-policy"]
                assert "unsafe" not in policy
                assert all(kept in policy for kept in ("base-uri 'none'", "form-action 'self'")), path
                assert "<script>" not in response.text
                assert not re.search(r"""(?:src|href|action)=["']?(?:https?:)?//""", response.text)
                assert not re.search(r"""\son[a-z]+=|\sstyle=|javascript:""", response.text)


async def test_no_page_shows_anything_to_a_third_partys_token(served: Served) -> None:
    issued = await served.tokens(await served.client())
    browser = served.browser()
    before = served.records()
    for path in set(PAGES) - {"/", "/login"}:
        browser.cookies.clear()
        browser.cookies.set("ostiary_access", issued["access_token"])
        browser.cookies.set("ostiary_refresh", issued["refresh_token"])
        stranger, response = await served.browser().get(path), await browser.get(path)
        assert response.status_code == stranger.status_code, path
        assert response.headers.get("location") == stranger.headers.get("location"), path
    assert served.records() == before


@pytest.mark.parametrize(
    "path", ["/account/sessions", "/account/applications", "/admin/people", "/admin/online"]
)
async def test_a_page_whose_list_fails_says_so_under_a_trace_id(
    served: Served, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*anything: object) -> NoReturn:
        raise OSError("secret detail")

    browser = await served.sign_in_browser()
    for question in ("page", "items_after"):
        monkeypatch.setattr(type(served.store), question, broken)
    with capture_logs() as log:
        response = await browser.get(path)
    assert response.status_code == 500
    traces = [entry["trace_id"] for entry in log if entry["log_level"] == "error"]
    assert any(trace_id in response.text for trace_id in traces)
    assert "secret detail" not in response.text


@pytest.mark.parametrize("body_seconds", [0.0, 0.6])
async def test_turns_that_take_too_long_together_are_told_on_a_page(
    served: Served, body_seconds: float, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    """Whether the form comes at once, or later than the front door waits before it calls the application."""

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
