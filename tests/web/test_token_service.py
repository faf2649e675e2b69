"""`/token`, `/introspect`, `/revoke` and user-info as third parties reach them: raw forms, no envelope.

What they decide is the core's, and proved there; here it is that every door hands everything on as it came,
and that all of them answer alike.
"""

import httpx
import pytest
from structlog.testing import capture_logs

from tests.net.rooms import BreakingStore
from tests.rows import row
from tests.web.conftest import Serve
from tests.web.doors import DOORS
from tests.web.envelopes import refused, succeeded
from tests.web.served import (
    ADMIN_PASSWORD,
    Api,
    Browser,
    Served,
    exchange_of,
    in_memory,
)

pytestmark = pytest.mark.parametrize("door", DOORS)

OPERATIONS = ("token", "introspect", "revoke")


def raw(response: httpx.Response, status: int, error: str) -> None:
    """An error in the form of RFC 6749 §5.2."""
    assert response.status_code == status, response.text
    content = response.json()
    assert set(content) <= {"error", "error_description"}
    assert content["error"] == error
    uncached(response)


def uncached(response: httpx.Response) -> None:
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["pragma"] == "no-cache"
    assert "set-cookie" not in response.headers
    assert not any(name.startswith("access-control") for name in response.headers)


# --- the whole way


@row("Summary", "POST /api/oauth2/token")
async def test_a_code_becomes_a_pair_and_a_pair_another(served: Served, api: Api) -> None:
    client = await served.client()
    response = await api.service("token", client, **exchange_of(await served.code(api)))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    uncached(response)
    issued = response.json()
    assert set(issued) == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (issued["token_type"], issued["expires_in"], issued["scope"]) == ("Bearer", 1800, "user.read")

    refresh = {"grant_type": "refresh_token", "refresh_token": issued["refresh_token"]}
    refreshed = await api.service("token", client, **refresh)
    retried = await api.service("token", client, **refresh)
    assert refreshed.json() == retried.json()
    assert refreshed.json()["access_token"] != issued["access_token"]
    served.clock.wait(31)
    raw(await api.service("token", client, **refresh), 400, "invalid_grant")


async def test_the_user_agent_reaches_the_rules_byte_for_byte(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    form = {"grant_type": "refresh_token", "refresh_token": issued["refresh_token"]}
    api = served.api()
    agent = {b"User-Agent": b"client/1.0 \xe4\xb8\xad"}
    sent = {"data": form, "auth": client.basic}
    first = await api.post("/api/oauth2/token", headers=agent, **sent)  # type: ignore[arg-type]
    again = await api.post("/api/oauth2/token", headers=agent, **sent)  # type: ignore[arg-type]
    assert first.json() == again.json()
    other = {b"User-Agent": b"client/1.0 \xe4\xb8\xae"}
    raw(
        await api.post("/api/oauth2/token", headers=other, **sent),  # type: ignore[arg-type]
        400,
        "invalid_grant",
    )


@row("Summary", "POST /api/oauth2/introspect")
async def test_a_client_asks_about_its_tokens(served: Served) -> None:
    client, other = await served.client(), await served.client("other")
    issued = await served.tokens(client)
    api = served.api()
    response = await api.service("introspect", client, token=issued["access_token"])
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    uncached(response)
    content = response.json()
    assert set(content) == {"active", "client_id", "scope", "token_type", "exp", "sub", "username"}
    assert (content["active"], content["client_id"], content["username"]) == (True, "app", "admin")
    assert content["exp"] == 1_800_000_000 + 1800

    refresh = (await api.service("introspect", client, token=issued["refresh_token"])).json()
    assert "token_type" not in refresh
    assert (await api.service("introspect", other, token=issued["access_token"])).json() == {"active": False}
    raw(await api.service("introspect", client), 400, "invalid_request")


@row("Summary", "POST /api/oauth2/revoke")
async def test_a_client_ends_a_session(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    response = await api.service("revoke", client, token=issued["refresh_token"])
    assert (response.status_code, response.content) == (200, b"")
    assert (response.headers["content-length"], response.headers["content-type"]) == ("0", "application/json")
    uncached(response)
    refused(await api.call("GET", "/api/oauth2/userinfo", token=issued["access_token"]), 401, "A1001")
    assert (await api.service("revoke", client, token="x" * 43)).status_code == 200
    raw(await api.service("revoke", client), 400, "invalid_request")


async def test_a_browsers_login_is_no_client(served: Served, browser: Browser) -> None:
    """Nothing of the token service looks at cookies, and a Bearer token is no client secret."""
    bearer = {"Authorization": f"Bearer {(await served.api().sign_in())['accessToken']}"}
    for operation in OPERATIONS:
        path, form = f"/api/oauth2/{operation}", {"token": "x"}
        by_cookie = await browser.post(path, data=form)
        raw(by_cookie, 400 if operation == "token" else 401, "invalid_client")
        raw(await browser.post(path, data=form, headers=bearer), 401, "invalid_client")


# --- user-info


@row("Summary", "GET /api/oauth2/userinfo")
async def test_user_info_shows_the_profile_and_nothing_else(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    data = succeeded(await api.call("GET", "/api/oauth2/userinfo", token=issued["access_token"]))
    subject = (await api.service("introspect", client, token=issued["access_token"])).json()["sub"]
    assert data == {
        "sub": subject,
        "username": "admin",
        "name": "admin",
        "avatarUrl": None,
        "locale": None,
    }


async def test_a_login_session_asks_by_its_token_or_its_cookie(api: Api, browser: Browser) -> None:
    by_token = succeeded(await api.call("GET", "/api/oauth2/userinfo"))
    assert succeeded(await browser.get("/api/oauth2/userinfo")) == by_token


# --- bodies that are none


@row("General envelope and status codes", "413")
async def test_a_form_over_64_kib_is_413_in_the_raw_form(served: Served) -> None:
    client = await served.client()
    at_most = b"token=" + b"x" * (64 * 1024 - 6)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for operation in OPERATIONS:
        for body, status in ((at_most, (200, 400)), (at_most + b"x", (413,)), (b"x" * 1024 * 1024, (413,))):
            response = await served.api().post(
                f"/api/oauth2/{operation}", content=body, headers=headers, auth=client.basic
            )
            assert response.status_code in status
            if response.status_code == 413:
                raw(response, 413, "invalid_request")


# --- the envelope where even the token service uses it


@row("Envelope errors on the token-service endpoints", "500 A0500")
@pytest.mark.parametrize(
    "language, message", [("en", "Something went wrong on the server."), ("zh", "服务器内部错误")]
)
async def test_an_internal_error_is_told_by_its_trace_id_alone(
    serve: Serve, language: str, message: str
) -> None:
    store = BreakingStore()
    async with serve(open_store=in_memory(store)) as served:
        client = await served.client()
        token = (await served.api().sign_in())["accessToken"]
        store.broken = True
        api = served.api(**{"Accept-Language": language})
        bearer = {"Authorization": f"Bearer {token}"}
        with capture_logs() as log:
            responses = [
                await api.service("token", client, grant_type="client_credentials"),
                await api.service("introspect", client, token="x"),
                await api.service("revoke", client, token="x"),
                await api.get("/api/oauth2/userinfo", headers=bearer),
                await api.get("/api/oauth2/authorize", headers=bearer),
                await api.post("/api/oauth2/authorize", headers=bearer, json={}),
                await api.post("/api/oauth/clients", headers=bearer, json={}),
                await api.post("/api/auth/login", json={"username": "admin", "password": ADMIN_PASSWORD}),
                await api.get("/api/auth/me", headers=bearer),
            ]
    traces = [entry["trace_id"] for entry in log if entry["log_level"] == "error"]
    assert len(traces) == len(responses)
    for response, trace_id in zip(responses, traces, strict=True):
        assert response.status_code == 500
        content = response.json()
        errors = content.pop("errors", [])
        assert content == {"code": "A0500", "msg": message, "data": None, "traceId": trace_id}
        assert errors == []
        assert "secret detail" not in response.text
    for response in responses[:3]:
        assert "errors" not in response.json()
    assert "secret detail" not in repr(log)


# --- methods and the browser's business


@row("Authentication rules", "5 no cross-origin permission")
async def test_no_other_site_gets_permission(served: Served) -> None:
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    for operation in OPERATIONS:
        preflight = await served.api().options(f"/api/oauth2/{operation}", headers=asked)
        assert preflight.status_code == 405
        posted = await served.api().post(f"/api/oauth2/{operation}", headers={"Origin": asked["Origin"]})
        for each in (preflight, posted):
            assert not any(name.startswith("access-control") for name in each.headers)


async def test_credentials_and_tokens_in_the_query_count_for_nothing(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    query = {**client.fields, "grant_type": "client_credentials", "token": issued["access_token"]}
    raw(await api.post("/api/oauth2/token", params=query, data={"a": "b"}), 400, "invalid_client")
    raw(
        await api.post("/api/oauth2/introspect", params=query, auth=client.basic, data={"a": "b"}),
        400,
        "invalid_request",
    )
    refused(
        await api.get("/api/oauth2/userinfo", params={"access_token": issued["access_token"]}), 401, "A1001"
    )
