"""`/token`, `/introspect`, `/revoke` and user-info as clients call them: raw forms, no envelope.

The tests of the core prove what these routes decide. The tests here prove that every door hands a request on
unchanged, and that all doors answer alike.
"""

from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from ostiary_core.model.records import Table
from tests.rows import row
from tests.support.callers import ADMIN_PASSWORD, Api, Browser, Registered, exchange_of, expect_success
from tests.support.connections import DOORS, Door
from tests.support.served import Serve, Served, in_memory, serving
from tests.support.stores import BreakingStore

pytestmark = pytest.mark.parametrize("door", DOORS)

OPERATIONS = ("token", "introspect", "revoke")


def raw(response: httpx.Response, status: int, error: str) -> None:
    """Assert that an answer is an error in the form of RFC 6749 §5.2."""
    assert response.status_code == status, response.text
    content = response.json()
    assert set(content) <= {"error", "error_description"}
    assert content["error"] == error


# --- from a code to the end of its session


@row("Summary", "POST /api/oauth2/token")
@row("Summary", "POST /api/oauth2/introspect")
@row("Summary", "POST /api/oauth2/revoke")
@row("Summary", "GET /api/oauth2/userinfo")
async def test_a_code_becomes_a_session_that_is_looked_at_and_ended(served: Served, api: Api) -> None:
    client, other = await served.client(), await served.client("other")
    redeemed = await api.service("token", client, **exchange_of(await served.code(api)))
    issued = redeemed.json()
    introspected = await api.service("introspect", client, token=issued["access_token"])
    assert introspected.json()["exp"] == 1_800_000_000 + issued["expires_in"]
    assert not await api.is_active(other, issued["access_token"])
    profile = await api.succeed("GET", "/api/oauth2/userinfo", token=issued["access_token"])
    subject = introspected.json()["sub"]
    names = dict.fromkeys(("username", "name"), "admin")
    assert profile == {"sub": subject, **names, "avatarUrl": None, "locale": None}
    ended = await api.service("revoke", client, token=issued["refresh_token"])
    await api.fail(401, "A1001", "GET", "/api/oauth2/userinfo", token=issued["access_token"])
    assert (ended.content, ended.headers["content-type"].lower()) == (b"", "application/json")
    for answer in (redeemed, introspected, ended, await api.service("revoke", client)):
        assert answer.status_code == (200 if answer in (redeemed, introspected, ended) else 400)
        assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
        assert "set-cookie" not in answer.headers


async def test_any_refresh_token_revokes_its_session_and_no_old_access_token_does(served: Served) -> None:
    """A refresh token names the whole session, an access token only itself (READINGS 7, 54)."""
    client, api = await served.client(), served.api()
    first = await served.tokens(client)
    second = (await api.refresh(client, first["refresh_token"])).json()
    before = served.records()
    for token, is_over in ((first["access_token"], False), (first["refresh_token"], True)):
        answer = await api.service("revoke", client, token=token)
        assert (answer.status_code, answer.content) == (200, b"")
        assert await api.is_active(client, second["access_token"]) is not is_over
        assert (served.records() == before) is not is_over


async def test_the_user_agent_reaches_the_rules_byte_for_byte(served: Served) -> None:
    client = await served.client()
    form = {"grant_type": "refresh_token", "refresh_token": (await served.tokens(client))["refresh_token"]}
    api = served.api()
    same, other = ({b"User-Agent": b"client/1.0 \xe4\xb8" + last} for last in (b"\xad", b"\xae"))
    sent: dict[str, Any] = {"data": form, "auth": client.basic}
    first = await api.post("/api/oauth2/token", headers=same, **sent)
    assert first.json() == (await api.post("/api/oauth2/token", headers=same, **sent)).json()
    raw(await api.post("/api/oauth2/token", headers=other, **sent), 400, "invalid_grant")


async def test_of_a_long_user_agent_a_bounded_part_is_kept_and_every_byte_is_compared(served: Served) -> None:
    client, admin = await served.client(), await served.administrator()
    agent = "x" * 5_000

    async def kept_of(agent: str) -> str:
        """Start a session and refresh it twice with this User-Agent; return what is kept of it."""
        api = served.api(**{"User-Agent": agent})
        await api.sign_in()
        code = exchange_of(await served.code(api))
        issued = (await api.service("token", client, **code)).json()
        first, again = [await api.refresh(client, issued["refresh_token"]) for _ in range(2)]
        assert first.json() == again.json()
        [kept] = {
            getattr(record, name)
            for record in served.store.records(Table.SESSION)
            for name in ("user_agent", "rotated_user_agent")
            if str(getattr(record, name)).startswith(agent[:9])
        } - seen
        seen.add(kept)
        other = served.api(**{"User-Agent": f"{agent[:-1]}y"})
        raw(await other.refresh(client, issued["refresh_token"]), 400, "invalid_grant")
        return str(kept)

    seen: set[str] = set()
    kept = await kept_of(agent)
    assert len(kept) < 600
    assert await kept_of(kept) != kept, "what was cut cannot be sent in its place"
    trail = (await admin.succeed("GET", "/api/audit/events", params={"pageSize": "200"}))["items"]
    assert max(len(entry["userAgent"] or "") for entry in trail) < 600


async def test_a_browsers_login_is_no_client(served: Served, browser: Browser) -> None:
    """The token service reads no cookies, and a Bearer token is no client secret."""
    bearer = {"Authorization": f"Bearer {(await served.api().sign_in())['accessToken']}"}
    for operation in OPERATIONS:
        path, form = f"/api/oauth2/{operation}", {"token": "x"}
        raw(await browser.post(path, data=form), 400 if operation == "token" else 401, "invalid_client")
        raw(await browser.post(path, data=form, headers=bearer), 401, "invalid_client")


async def test_a_login_session_asks_by_its_token_or_its_cookie(api: Api, browser: Browser) -> None:
    by_token = await api.succeed("GET", "/api/oauth2/userinfo")
    assert expect_success(await browser.get("/api/oauth2/userinfo")) == by_token


@row("Envelope errors on the token-service endpoints", "500 A0500")
@pytest.mark.parametrize(
    "language, message", [("en", "Something went wrong on the server."), ("zh", "服务器内部错误")]
)
async def test_an_internal_error_shows_only_its_trace_id(serve: Serve, language: str, message: str) -> None:
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
        no_errors: dict[str, Any] = {} if response in responses[:3] else {"errors": []}
        failure = {"code": "A0500", "msg": message, "data": None, "traceId": trace_id}
        assert response.json() == {**failure, **no_errors}
        assert "secret detail" not in response.text
        assert response.headers["cache-control"] == "no-store"
    assert "secret detail" not in repr(log)


async def test_credentials_and_tokens_in_the_query_count_for_nothing(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    query = {**client.fields, "grant_type": "client_credentials", "token": issued["access_token"]}
    raw(await api.post("/api/oauth2/token", params=query, data={"a": "b"}), 400, "invalid_client")
    asked = await api.post("/api/oauth2/introspect", params=query, auth=client.basic, data={"a": "b"})
    raw(asked, 400, "invalid_request")
    query = {"access_token": issued["access_token"]}
    await api.fail(401, "A1001", "GET", "/api/oauth2/userinfo", params=query)


# --- the doors of the tests are the doors that their names say


async def ask(served: Served) -> httpx.Response:
    return await served.api().service("introspect", Registered("nobody", "x"), token="x")


async def test_behind_hypercorn_calls_of_a_backend_skip_the_application(tmp_path: Path, door: Door) -> None:
    async with serving(tmp_path, open_store=in_memory(), door=door) as served:
        called = []
        application = served.app.app

        async def told(*asgi: object) -> None:
            called.append(asgi)
            await application(*asgi)

        served.app.app = told
        assert (await ask(served)).status_code == 401
    assert len(called) == (1 if door == "guard" else 0)
