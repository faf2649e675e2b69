"""`/api/monitor`: the running sessions, who may see them, and the end of one, of a client's, of all."""

from typing import Any, TypeVar

import pytest

from ostiary_core.events import Event, Operator
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Reply
from ostiary_net.turns.turns import ListQuery
from ostiary_web.application.resources.online import force_out_everybody
from tests.rows import row
from tests.support.callers import Api, Registered
from tests.support.people import holder_of, sign_in
from tests.support.served import Served
from tests.support.stores import origin

PATH = "/api/monitor/online-users"
ANNA = ("anna", "anna's password")
T = TypeVar("T")


async def list_sessions(api: Api, **query: str) -> list[dict[str, Any]]:
    data = await api.succeed("GET", PATH, params=query)
    assert data["total"] == len(data["items"])
    items: list[dict[str, Any]] = data["items"]
    return items


async def machine_token(served: Served, client: Registered) -> str:
    answer = await served.api().service("token", client, grant_type="client_credentials")
    token: str = answer.json()["access_token"]
    return token


# --- the end of one session


@row("Session and tokens", "one session force-logged-out")
async def test_one_session_ends_at_once_and_the_others_stand(served: Served) -> None:
    app = await served.client()
    await served.user("anna")
    first = await served.tokens(app, *ANNA)
    watcher = await holder_of(served, Permission.ONLINE_LIST, Permission.ONLINE_KILL)
    [ended] = await list_sessions(watcher, kind="oauth")
    served.clock.wait(1)
    second = await served.tokens(app, *ANNA)
    by_login = await sign_in(served, *ANNA)

    await watcher.succeed("DELETE", f"{PATH}/{ended['id']}")

    assert not await served.api().is_active(app, first["access_token"])
    assert not await served.api().is_active(app, first["refresh_token"])
    refresh = await served.api().refresh(app, first["refresh_token"])
    assert (refresh.status_code, refresh.json()["error"]) == (400, "invalid_grant")
    assert await served.api().is_active(app, second["access_token"])
    await by_login.succeed("GET", "/api/auth/me")
    assert ended["id"] not in [item["id"] for item in await list_sessions(watcher)]
    await watcher.fail(404, "A0404", "DELETE", f"{PATH}/{ended['id']}")


# --- the end of all sessions of a client, and of all sessions


async def test_all_of_a_client_ends_and_nothing_else_does(served: Served, api: Api) -> None:
    app, other = await served.client(), await served.client("other")
    await served.user("anna")
    kept = await served.tokens(other, *ANNA)
    browser, place = await served.sign_in_browser(), "/admin/clients/app/force-out"
    for by_page in (False, True):
        ended = await served.tokens(app, *ANNA)
        if by_page:
            asked = await browser.get(place)
            assert "1 running session that you may see ends at once" in asked.text
            await browser.submit(asked, to=place)
        else:
            await api.succeed("POST", "/api/oauth/clients/app/force-logout")
        assert not await api.is_active(app, ended["access_token"])
        assert (await api.refresh(app, ended["refresh_token"])).json()["error"] == "invalid_grant"
    assert await api.is_active(other, kept["access_token"])


@pytest.mark.parametrize("by_page", [False, True])
async def test_the_end_of_all_sessions_includes_ones_own(served: Served, api: Api, by_page: bool) -> None:
    app = await served.client()
    await served.user("anna")
    pair = await served.tokens(app, *ANNA)
    holder, here = await holder_of(served, *Permission), await served.sign_in_browser()
    theirs = await served.sign_in_browser("holder", "the holder's")
    assert "/admin/online/end-all" not in (await theirs.get("/admin/online")).text
    [session] = await list_sessions(api, kind="oauth")
    if by_page:
        assert "/admin/online/end-all" in (await here.get("/admin/online")).text
        asked = await here.get("/admin/online/end-all")
        assert f"you too: {len(await list_sessions(api))} running sessions end" in asked.text
        assert (await here.submit(asked, to="/admin/online/end-all")).headers["location"] == "/login"
    else:
        await api.succeed("POST", "/api/monitor/force-logout-all")

    assert not await api.is_active(app, pair["access_token"])
    for signed_in in (api, holder):
        await signed_in.fail(401, "A1001", "GET", "/api/auth/me")
    assert (await here.get("/account")).headers["location"].startswith("/login")
    root = await served.administrator()
    assert [item["username"] for item in await list_sessions(root)] == ["admin"]
    trail = await root.succeed("GET", "/api/audit/events", params={"kind": "client-sessions-ended"})
    entries = [(item["clientId"], item["why"]) for item in trail["items"]]
    assert sorted(entries) == [(name, "everybody_forced_out") for name in ("app", "console", "mobile")]
    explained = await root.succeed("GET", f"/api/audit/sessions/{session['id']}/explain")
    assert explained["steps"][-1]["actorId"] == (await root.succeed("GET", "/api/auth/me"))["id"]


async def test_a_client_that_comes_while_all_are_listed_is_ended_as_well(served: Served, api: Api) -> None:
    late: list[tuple[Registered, str]] = []

    class RulesAndLists:
        """Rules and lists of a server on which a client with a token is added after each list."""

        async def decide(self, event: Event) -> Reply:
            reply: Reply = await served.decide(event)
            return reply

        async def query(self, read: ListQuery[T]) -> T:
            found = await served.service.query(read, origin())
            if len(late) < 2:
                client = await served.client(f"late-{len(late)}")
                late.append((client, await machine_token(served, client)))
            return found

    await served.client()
    assert await force_out_everybody(RulesAndLists(), Operator(), Operator()) == 5
    for client, token in late:
        assert not await served.api().is_active(client, token)
    await api.fail(401, "A1001", "GET", "/api/auth/me")


# --- client credentials


@row("Session (grant)", "client-credentials session force-terminable only by a super administrator")
async def test_only_super_administrators_see_and_end_client_credentials(served: Served, api: Api) -> None:
    app = await served.client()
    token = await machine_token(served, app)
    watcher = await holder_of(served, *(each for each in Permission))
    [session] = await list_sessions(api, kind="oauth")
    assert (session["username"], session["name"], session["clientId"]) == (None, None, "app")

    assert await list_sessions(api, kind="machine") == [session]
    assert session not in await list_sessions(api, kind="person")
    for kind in ("oauth", "machine"):
        assert await list_sessions(watcher, kind=kind) == []
    await watcher.fail(404, "A0404", "DELETE", f"{PATH}/{session['id']}")
    assert await served.api().is_active(app, token)

    await api.succeed("DELETE", f"{PATH}/{session['id']}")
    assert not await served.api().is_active(app, token)
