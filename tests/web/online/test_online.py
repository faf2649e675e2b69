"""`/api/monitor/online-users`: which sessions run, who may see them, and the end of one of them."""

import re
from typing import Any

import pytest

from ostiary_core.model.permissions import Permission
from tests.rows import row
from tests.web.envelopes import fields_of, refused, succeeded
from tests.web.holders import holder_of
from tests.web.served import ADMIN_PASSWORD, SOURCE, Api, Browser, Registered, Served

PATH = "/api/monitor/online-users"


async def listed(api: Api, **query: str) -> list[dict[str, Any]]:
    data = succeeded(await api.call("GET", PATH, params=query))
    assert data["total"] == len(data["items"])
    items: list[dict[str, Any]] = data["items"]
    return items


async def machine_token(served: Served, client: Registered) -> str:
    answer = await served.api().service("token", client, grant_type="client_credentials")
    token: str = answer.json()["access_token"]
    return token


async def test_login_and_oauth_sessions_are_listed_with_who_whence_and_until_when(
    served: Served, api: Api
) -> None:
    app = await served.client()
    await served.user("anna")
    served.clock.wait(10)
    await served.tokens(app, "anna", "anna's password")

    by_kind = {item["kind"]: item for item in await listed(api, username="anna")}

    assert set(by_kind) == {"login", "oauth"}
    oauth = by_kind["oauth"]
    assert {name: oauth[name] for name in ("username", "name", "clientId", "scope", "ip")} == {
        "username": "anna",
        "name": "Anna Ng",
        "clientId": "app",
        "scope": "user.read",
        "ip": SOURCE,
    }
    assert oauth["userAgent"].startswith("python-httpx")
    assert oauth["signedInAt"] == oauth["lastSeenAt"] < oauth["expiresAt"]
    assert oauth["signedInAt"].endswith("Z")
    assert set(oauth) == {
        *("id", "kind", "username", "name", "clientId", "scope", "ip", "userAgent"),
        *("signedInAt", "lastSeenAt", "expiresAt"),
    }
    assert by_kind["login"]["clientId"] == "console"


async def test_filters_ranges_sorts_and_pages(served: Served, api: Api) -> None:
    app = await served.client()
    for _ in range(3):
        served.clock.wait(10)
        await served.tokens(app)

    every = await listed(api, kind="oauth")
    assert [item["signedInAt"] for item in every] == sorted(
        (item["signedInAt"] for item in every), reverse=True
    )
    assert await listed(api, kind="oauth", sort="signedInAt") == every[::-1]
    assert await listed(api, kind="oauth", signedInAtFrom=every[1]["signedInAt"]) == every[:2]
    assert await listed(api, kind="oauth", signedInAtTo=every[1]["signedInAt"]) == every[1:]
    assert await listed(api, clientId="app", q="ADM") == every
    page = succeeded(await api.call("GET", PATH, params={"kind": "oauth", "pageSize": "2", "page": "2"}))
    assert page == {"items": every[2:], "total": 3}


async def test_every_bad_parameter_is_named(api: Api) -> None:
    query = {"kind": "robot", "pageSize": "201", "sort": "ip", "colour": "red", "expiresAtFrom": "then"}

    failure = refused(await api.call("GET", PATH, params=query), 400, "A0401")

    assert sorted(fields_of(failure)) == sorted(query)


# --- the end of one session


@row("Session and tokens", "one session force-logged-out")
async def test_one_session_ends_at_once_and_the_others_stand(served: Served) -> None:
    app = await served.client()
    await served.user("anna")
    first = await served.tokens(app, "anna", "anna's password")
    watcher = await holder_of(served, Permission.ONLINE_LIST, Permission.ONLINE_KILL)
    [ended] = await listed(watcher, kind="oauth")
    served.clock.wait(1)
    second = await served.tokens(app, "anna", "anna's password")
    by_login = served.api()
    await by_login.sign_in("anna", "anna's password")

    succeeded(await watcher.call("DELETE", f"{PATH}/{ended['id']}"))

    assert not await served.api().is_active(app, first["access_token"])
    assert not await served.api().is_active(app, first["refresh_token"])
    refresh = await served.api().refresh(app, first["refresh_token"])
    assert (refresh.status_code, refresh.json()["error"]) == (400, "invalid_grant")
    assert await served.api().is_active(app, second["access_token"])
    assert (await by_login.call("GET", "/api/auth/me")).status_code == 200
    assert ended["id"] not in [item["id"] for item in await listed(watcher)]
    refused(await watcher.call("DELETE", f"{PATH}/{ended['id']}"), 404, "A0404")


@pytest.mark.parametrize("session_id", ["unknown", "%00", "é", "a" * 2_000])
async def test_a_session_that_is_not_there_is_404(api: Api, session_id: str) -> None:
    refused(await api.call("DELETE", f"{PATH}/{session_id}"), 404, "A0404")


# --- client credentials


@row("Session (grant)", "client-credentials session force-terminable only by a super administrator")
async def test_client_credentials_are_a_super_administrators_to_see_and_to_end(
    served: Served, api: Api
) -> None:
    app = await served.client()
    token = await machine_token(served, app)
    watcher = await holder_of(served, *(each for each in Permission))
    [session] = await listed(api, kind="oauth")
    assert (session["username"], session["name"], session["clientId"]) == (None, None, "app")

    assert await listed(watcher, kind="oauth") == []
    refused(await watcher.call("DELETE", f"{PATH}/{session['id']}"), 404, "A0404")
    assert await served.api().is_active(app, token)

    succeeded(await api.call("DELETE", f"{PATH}/{session['id']}"))
    assert not await served.api().is_active(app, token)


async def seen_on_pages(browser: Browser) -> list[str]:
    """How many sessions of the client its page counts, and each question before one of its actions."""
    shown = (await browser.get("/admin/clients/app")).text
    counts = re.findall(r"<dt>Running sign-ins</dt><dd>(?:<a [^>]*>)?([0-9]+)", shown)
    for action in ("disable", "delete", "reset-secret"):
        asked = (await browser.get(f"/admin/clients/app/{action}")).text
        counts += re.findall(r"you may see[^0-9<]*([0-9]+)", asked)
    return counts


async def test_a_client_has_as_many_sessions_as_its_reader_may_see(served: Served) -> None:
    """On its page, in each question, and in the list of its sessions: those of client credentials are a super
    administrator's."""
    app = await served.client()
    await machine_token(served, app)
    await machine_token(served, app)
    await served.tokens(app)
    reader = await holder_of(served, *(each for each in Permission))
    root = await served.administrator()
    for api, name, password, seen in (
        (reader, "holder", "the holder's", 1),
        (root, "admin", ADMIN_PASSWORD, 3),
    ):
        browser = served.browser()
        await browser.sign_in(name, password)
        assert await seen_on_pages(browser) == [str(seen)] * 4
        sessions = succeeded(await api.call("GET", "/api/oauth/clients/app/sessions"))
        assert (sessions["total"], len(sessions["items"])) == (seen, seen)
        assert len(await listed(api, clientId="app")) == seen


@pytest.mark.parametrize("sees", [True, False])
async def test_the_number_leads_to_the_list_for_whoever_may_open_it(served: Served, sees: bool) -> None:
    await served.client()
    more = (Permission.ONLINE_LIST,) if sees else ()
    await holder_of(served, Permission.CLIENT_LIST, *more)
    browser = served.browser()
    await browser.sign_in("holder", "the holder's")
    shown = (await browser.get("/admin/clients/app")).text
    assert ("/admin/online?clientId=app" in shown) is sees
