"""`/api/auth/*`: signing in and out, the pair of login tokens, the caller's account and password."""

import pytest

from ostiary_core.model.instant import Arrival, later
from ostiary_net.turns.service import Service
from tests.rows import row
from tests.support.callers import Api, Browser, exchange_of, expect_refusal
from tests.support.served import Served


@row("Authentication rules", "2 any other backend endpoint answers 401")
async def test_no_token_is_accepted_in_the_place_of_another(served: Served) -> None:
    """Try each kind of token in the place of every other (READINGS 12)."""
    client = await served.client()
    api = served.api()
    login = await api.sign_in()
    code = await served.code(api)
    unspent = await served.code(api)
    issued = (await api.service("token", client, **exchange_of(code))).json()
    machine = (await api.service("token", client, grant_type="client_credentials")).json()["access_token"]
    before = served.records()

    values = {
        "code": unspent,
        "access": issued["access_token"],
        "refresh": issued["refresh_token"],
        "login access": login["accessToken"],
        "login refresh": login["refreshToken"],
        "machine": machine,
        "secret": client.secret,
    }
    for name, value in values.items():
        if name != "login access":
            await api.fail(401, "A1001", "GET", "/api/auth/me", token=value)
        if name != "login refresh":
            expect_refusal(await api.post("/api/auth/refresh", json={"refreshToken": value}), 401, "A1001")
        if name != "refresh":
            refreshed = await api.refresh(client, value)
            assert (refreshed.status_code, refreshed.json()["error"]) == (400, "invalid_grant"), name
        if name != "code":
            redeemed = await api.service("token", client, **exchange_of(value))
            assert (redeemed.status_code, redeemed.json()["error"]) == (400, "invalid_grant"), name
        if name not in ("access", "login access", "machine"):
            await api.fail(401, "A1001", "GET", "/api/oauth2/userinfo", token=value)
        if name not in ("access", "refresh", "machine"):
            assert (await api.service("introspect", client, token=value)).json() == {"active": False}, name
            assert (await api.service("revoke", client, token=value)).status_code == 200
        shown = await served.api().get("/api/oauth2/userinfo", headers={"Cookie": f"ostiary_access={value}"})
        assert shown.status_code == (200 if name == "login access" else 401), name
    assert served.records() == before


# --- signing out, and the caller's account


async def test_signing_out_ends_the_login_session_and_no_other(served: Served) -> None:
    api, other = served.api(), await served.administrator()
    pair = await api.sign_in()
    assert await api.succeed("POST", "/api/auth/logout") is None
    await api.fail(401, "A1001", "GET", "/api/auth/me")
    await api.fail(401, "A1001", "POST", "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    await api.fail(401, "A1001", "POST", "/api/auth/logout")
    for body, status, code in (({"refreshToken": "x" * 1_024}, 401, "A1001"), (None, 415, "A0415")):
        await api.fail(status, code, "POST", "/api/auth/refresh", body)
    await other.succeed("GET", "/api/auth/me")


@row("General envelope and status codes", "401")
async def test_a_caller_who_is_not_signed_in_gets_401(served: Served, browser: Browser) -> None:
    """Send odd texts in place of a token; tests/web/test_gate.py calls every route without one."""
    odd = ("Bearer", "Bearer ", "Bearer a b", "Basic YWRtaW46YWRtaW4=", "bearer\tx", "Bearer \xe9")
    for endpoint in ("GET /api/auth/me", "POST /api/auth/logout", "POST /api/oauth2/authorize"):
        for authorization in (None, *odd, "Bearer " + "x" * 43, "Bearer " + "x" * 8000):
            headers = [] if authorization is None else [(b"Authorization", authorization.encode("latin-1"))]
            for visitor in (served.api(), browser) if headers else (served.api(),):
                response = await visitor.request(*endpoint.split(), headers=headers, json={})
                expect_refusal(response, 401, "A1001")


@pytest.mark.parametrize("white", [" ", "\t", "\u00a0", "\u3000", "\u2003\n"])
async def test_white_space_around_a_user_name_is_ignored(served: Served, api: Api, white: str) -> None:
    typed, password = f"{white}Anna{white}", "anna's password"
    fields = {"username": typed, "name": " Anna", "password": password}
    registered = await api.succeed("POST", "/api/iam/users", fields, status=201)
    assert (registered["username"], registered["name"]) == ("Anna", "Anna")
    await served.api().sign_in(typed, password)
    assert (await served.browser().sign_in(typed, password)).status_code == 303
    await api.fail(409, "A0409", "POST", "/api/iam/users", {**fields, "username": f"anna{white}"})
    renamed = await api.succeed("PUT", f"/api/iam/users/{registered['id']}", {"username": f"{white}anna"})
    assert renamed["username"] == "anna"
    await api.fail(400, "A0401", "POST", "/api/iam/users", {**fields, "username": white})


async def test_a_refresh_that_may_have_come_in_time_is_a_failure_and_ends_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """READINGS 46: the server was stopped for a while, with the request on its way."""
    program = served.api()
    first = {"refreshToken": (await program.sign_in())["refreshToken"]}
    second = {"refreshToken": (await program.succeed("POST", "/api/auth/refresh", first))["refreshToken"]}
    served.clock.wait(40)
    now = served.clock.now()
    monkeypatch.setattr(Service, "estimate_arrival", lambda _: Arrival(later(now, -20), now))
    await program.fail(500, "A0500", "POST", "/api/auth/refresh", first)
    await program.succeed("POST", "/api/auth/refresh", second)
