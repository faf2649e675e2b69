"""`/api/audit`: the events with their actors, and the explanation of a session."""

from dataclasses import replace
from typing import Any

from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import Permission
from ostiary_web.application.browsers import agent_name
from ostiary_web.application.resources.audit import name_entries
from ostiary_web.texts.en_us import LANGUAGE as ENGLISH
from ostiary_web.texts.zh_cn import LANGUAGE as CHINESE
from tests.support.callers import SOURCE, Api, Registered
from tests.support.files import rows_of
from tests.support.people import holder_of
from tests.support.served import Served
from tests.support.stores import origin

EVENTS = "/api/audit/events"


async def events(api: Api, **query: str) -> list[dict[str, Any]]:
    """Return the events that match, the oldest first."""
    data = await api.succeed("GET", EVENTS, params={"pageSize": "200", "sort": "at", **query})
    assert data["total"] == len(data["items"])
    items: list[dict[str, Any]] = data["items"]
    return items


async def refresh(served: Served, client: Registered, tokens: dict[str, Any], agent: str) -> dict[str, Any]:
    api = served.api(**{"User-Agent": agent})
    answer: dict[str, Any] = (await api.refresh(client, tokens["refresh_token"])).json()
    return answer


async def session_of(root: Api, kind: str = "session-started", client_id: str = "app") -> str:
    [event] = await events(root, kind=kind, clientId=client_id)
    session_id: str = event["sessionId"]
    return session_id


def explain(session_id: str) -> str:
    return f"/api/audit/sessions/{session_id}/explain"


# --- events


async def test_events_are_narrowed_by_who_did_it_from_where_to_which_role_and_by_text(served: Served) -> None:
    await served.client()
    root, clerk = await served.administrator(), await holder_of(served, Permission.CLIENT_UPDATE)
    me = (await clerk.succeed("GET", "/api/auth/me"))["id"]
    elsewhere = served.api("198.51.100.77")
    elsewhere.token = clerk.token
    await elsewhere.succeed("PUT", "/api/oauth/clients/app", json={"name": "Käse aus Ulm"})
    await root.succeed("PUT", "/api/oauth/clients/app", json={"name": "Shop"})

    async def kinds(**query: str) -> list[str]:
        found = [event["kind"] for event in await events(root, **query)]
        sheet = await root.call("GET", f"{EVENTS}/export", params=query)
        assert len(rows_of(sheet.content)) == len(found) + 1
        return found

    assert await kinds(actorId=me) == ["client-changed"]
    assert await kinds(ip="51.100.77") == ["client-changed"]
    assert await kinds(roleId="role-of-holder") == ["role-registered"]
    assert await kinds(actor=me, actorId="nobody") == ["client-changed"]
    assert await kinds(q="KäSE AUS") == ["client-changed"] * 2
    assert await kinds(q="rOLE-of-holder") == ["role-registered", "user-registered"]
    assert await kinds(q="SHOP", actorId=me) == await kinds(q="nothing has this") == []


async def test_a_change_says_each_field_before_and_after_and_no_whole_number(served: Served) -> None:
    app, anna = await served.client(), await served.user("anna")
    await served.tokens(app, "anna", "anna's password")
    root = await served.administrator()
    await root.succeed("PUT", "/api/oauth/clients/app/enabled", json={"enabled": False})
    sent = {"phone": "+8613812345678", "roleIds": ["super_admin"]}
    await root.succeed("PUT", f"/api/iam/users/{anna}", json=sent)

    [changed] = await events(root, kind="user-changed")
    assert changed["changes"] == [
        {"field": "phone", "before": None, "after": "***78"},
        {"field": "roleIds", "before": [], "after": ["super_admin"]},
    ]
    sheet = await root.call("GET", f"{EVENTS}/export", params={"kind": "user-changed"})
    [headings, cells] = rows_of(sheet.content)
    changes = "Telephone: — → ***78\nRoles: — → super_admin"
    assert dict(zip(headings, cells, strict=True))["What changed"] == changes
    [session] = await events(root, kind="session-started", clientId="app")
    life = await root.succeed("GET", explain(session["sessionId"]))
    disabled = [{"field": "enabled", "before": True, "after": False}]
    assert [step["changes"] for step in life["steps"]] == [[], disabled]


async def test_an_entry_of_an_earlier_release_is_named_by_what_it_has(served: Served, api: Api) -> None:
    await served.client()
    old = replace(served.audit()[-1], actor_name=None, client_id=None, session_id="one")
    entries = [old, replace(old, session_id=None)]
    named = await served.service.query(lambda store, now: name_entries(store, entries), origin())
    assert [(each.actor_name, each.target) for each in named] == [("admin", "session:one"), ("admin", None)]


# --- a session explained


async def test_a_replay_is_explained_with_both_times_and_both_user_agents(served: Served) -> None:
    app = await served.client()
    tokens = await served.tokens(app)
    issued_at = served.clock.now()
    served.clock.wait(60)
    first_use = iso_time(served.clock.now())
    for seconds in (5, 26):
        await refresh(served, app, tokens, "app/1")
        served.clock.wait(seconds)
    replayed_at = served.clock.now()
    assert (await refresh(served, app, tokens, "thief/9"))["error"] == "invalid_grant"
    served.clock.wait(3_600)
    api = await served.administrator()
    session_id = await session_of(api)

    life = await api.succeed("GET", explain(session_id))

    told = {"kind": "oauth", "grantType": "authorization_code", "clientId": "app", "clientName": "The App"}
    told |= {"username": "admin", "name": "admin", "scope": "user.read", "startedAt": iso_time(issued_at)}
    told |= {"id": session_id, "state": "ended", "why": "replayed_after_grace", "userId": life["userId"]}
    assert set(life) == {*told, "steps", "text", "nearMisses", "expiresAt"}
    assert {name: life[name] for name in told} == told
    *before, ended = life["steps"]
    steps = [("issued", None), ("rotated", None), ("retried", 5_000)]
    assert [(step["kind"], step["delayMs"]) for step in before] == steps
    assert [before[0]["at"], before[1]["at"], ended["earlierAt"]] == [iso_time(issued_at), *[first_use] * 2]
    assert (ended["kind"], ended["at"], ended["delayMs"]) == ("ended", iso_time(replayed_at), 31_000)
    assert (ended["userAgent"], ended["earlierUserAgent"]) == ("thief/9", "app/1")
    assert (ended["why"], ended["ip"], ended["text"]) == ("replayed_after_grace", SOURCE, life["text"])
    misses = {"count": 1, "latestDelayMs": 5_000, "longestDelayMs": 5_000}
    assert life["nearMisses"] == {**misses, "text": life["nearMisses"]["text"]}
    [event] = await events(api, kind="session-ended")
    assert ended["traceId"] == event["traceId"]


async def test_only_super_administrators_read_about_a_session_of_client_credentials(served: Served) -> None:
    await served.api().service("token", await served.client(), grant_type="client_credentials")
    root = await served.administrator()
    session_id = await session_of(root)
    reads = await holder_of(served, *Permission)

    life = await root.succeed("GET", explain(session_id))
    assert (life["grantType"], life["userId"], life["username"]) == ("client_credentials", None, None)
    await reads.fail(404, "A0404", "GET", explain(session_id))


async def test_a_session_that_never_was_is_404(api: Api) -> None:
    for session_id in ("unknown", "%00", "%ff", "é"):
        await api.fail(404, "A0404", "GET", explain(session_id))


async def test_nothing_under_audit_shows_a_token_or_a_secret(served: Served, api: Api) -> None:
    app = await served.client()
    tokens = await served.tokens(app)
    rotated = await refresh(served, app, tokens, "app/1")

    told = (await api.call("GET", explain(await session_of(api)))).text
    told += (await api.call("GET", EVENTS, params={"pageSize": "200"})).text

    issued = [pair[name] for pair in (tokens, rotated) for name in ("access_token", "refresh_token")]
    for secret in (app.secret, api.token, *issued):
        assert secret
        assert secret not in told


# --- browsers and programs by name


KIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
WINDOWS = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {KIT} Chrome/131.0.0.0 Safari/537.36"
ANDROID = f"Mozilla/5.0 (Linux; Android 14; SM-S918B) {KIT}"
NAMES = {
    f"Mozilla/5.0 (X11; Linux x86_64) {KIT} HeadlessChrome/131.0.0.0 Safari/537.36": "Chrome on Linux",
    f"{IPHONE} Version/17.5 Mobile/15E148 Safari/604.1": "Safari on iPhone",
    f"{IPHONE} CriOS/131.0 Mobile/15E148 Safari/604.1": "Chrome on iPhone",
    f"{IPHONE} Mobile/15E148 MicroMessenger/8.0.49 NetType/WIFI": "WeChat on iPhone",
    WINDOWS: "Chrome on Windows",
    f"{WINDOWS} Edg/131.0.0.0": "Edge on Windows",
    f"{WINDOWS} OPR/115.0.0.0": "Opera on Windows",
    f"{ANDROID} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36": "Samsung Internet on Android",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:133.0) Gecko/2010 Firefox/133.0": "Firefox on macOS",
    "curl/8.5.0": "curl 8.5",
    "python-requests/2.32.3": "python-requests 2.32",
    "okhttp/4": "okhttp 4",
    **dict.fromkeys(("", "shop/3.1", "Mozilla/5.0", "Mozilla/5.0 (compatible; Googlebot/2.1)", "xcurl/8.5")),
    "Chrome/131 Linux": None,
    f"{'Mozilla/5.0 (Linux)':505}Chrome/": "Chrome on Linux",
    f"{'Mozilla/5.0 (Linux)':506}Chrome/": None,
}


def test_an_agent_is_named_as_people_know_it_or_not_at_all() -> None:
    assert {user_agent: agent_name(user_agent, ENGLISH) for user_agent in NAMES} == NAMES
    assert agent_name(WINDOWS, CHINESE) == "Windows 上的 Chrome"
