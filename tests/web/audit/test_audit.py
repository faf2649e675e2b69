"""`/api/audit`: what happened with who asked for it, and a session explained."""

from typing import Any

import pytest

from ostiary_core.model.audit import NOT_KEPT
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import Permission
from tests.web.envelopes import fields_of, refused, succeeded
from tests.web.holders import holder_of
from tests.web.served import SOURCE, Api, Registered, Served

EVENTS = "/api/audit/events"


async def events(api: Api, **query: str) -> list[dict[str, Any]]:
    """The events that fit, the oldest first."""
    data = succeeded(await api.call("GET", EVENTS, params={"pageSize": "200", "sort": "at", **query}))
    assert data["total"] == len(data["items"])
    items: list[dict[str, Any]] = data["items"]
    return items


async def refresh(served: Served, client: Registered, tokens: dict[str, Any], agent: str) -> dict[str, Any]:
    api = served.api(**{"User-Agent": agent})
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    answer: dict[str, Any] = (await api.service("token", client, **form)).json()
    return answer


async def session_of(root: Api, kind: str = "session-started", client_id: str = "app") -> str:
    [event] = await events(root, kind=kind, clientId=client_id)
    session_id: str = event["sessionId"]
    return session_id


def explain(session_id: str) -> str:
    return f"/api/audit/sessions/{session_id}/explain"


# --- events


async def test_an_event_has_who_what_when_and_the_request_behind_it(served: Served) -> None:
    app = await served.client()
    root = await served.administrator()

    [registered] = await events(root, kind="client-registered")

    assert registered == {
        "id": registered["id"],
        "at": iso_time(served.clock.now()),
        "kind": "client-registered",
        "why": None,
        "actorId": (await root.call("GET", "/api/auth/me")).json()["data"]["id"],
        "userId": None,
        "clientId": app.client_id,
        "sessionId": None,
        "roleId": None,
        "scope": "",
        "traceId": registered["traceId"],
        "ip": SOURCE,
        "userAgent": registered["userAgent"],
        "earlierAt": None,
        "earlierUserAgent": None,
    }
    assert registered["id"].isdigit()
    assert registered["userAgent"].startswith("python-httpx")
    assert await events(root, traceId=registered["traceId"]) == [registered]


async def test_events_are_narrowed_by_client_user_session_kind_and_time(served: Served) -> None:
    app = await served.client()
    anna = await served.user("anna")
    before = iso_time(served.clock.now())
    served.clock.wait(10)
    tokens = await served.tokens(app, "anna", "anna's password")
    served.clock.wait(10)
    await refresh(served, app, tokens, "app/1")
    root = await served.administrator()
    session_id = (await events(root, kind="pair-rotated"))[0]["sessionId"]

    of_the_session = await events(root, sessionId=session_id)
    assert [(event["kind"], event["earlierAt"]) for event in of_the_session] == [
        ("code-used", None),
        ("session-started", None),
        ("pair-rotated", None),
    ]
    assert {event["userId"] for event in await events(root, userId=anna)} == {anna}
    assert {event["clientId"] for event in await events(root, clientId="app")} == {"app"}
    assert await events(root, userId="nobody") == []
    late = await events(root, atFrom=before, kind="session-started")
    assert [event["at"] for event in late] == sorted(event["at"] for event in late)
    assert await events(root, atTo="2020-01-01") == []
    both = await served.api().request(
        "GET",
        EVENTS,
        params=[("kind", "pair-rotated"), ("kind", "code-used")],
        headers={"Authorization": f"Bearer {root.token}"},
    )
    assert [event["kind"] for event in succeeded(both)["items"]] == ["pair-rotated", "code-used"]


async def test_the_latest_come_first_and_pages_follow_one_another(served: Served, api: Api) -> None:
    await served.client()
    every = (await events(api))[::-1]

    first = succeeded(await api.call("GET", EVENTS, params={"pageSize": "2"}))
    second = succeeded(await api.call("GET", EVENTS, params={"pageSize": "2", "page": "2"}))

    assert first["items"] + second["items"] == every[:4]
    assert first["total"] == second["total"] == len(every)


async def test_every_bad_parameter_is_named(api: Api) -> None:
    query = {"kind": "refused", "sort": "kind", "atFrom": "yesterday", "q": "x", "page": "0"}

    failure = refused(await api.call("GET", EVENTS, params=query), 400, "A0401")

    assert sorted(fields_of(failure)) == sorted(query)


async def test_a_kind_can_be_asked_for_if_it_is_kept(api: Api) -> None:
    for kind in FactKind:
        response = await api.call("GET", EVENTS, params={"kind": kind.value})
        assert response.status_code == (400 if kind in NOT_KEPT else 200), kind


# --- a session explained


async def test_a_replay_is_explained_with_both_times_and_both_user_agents(served: Served) -> None:
    app = await served.client()
    tokens = await served.tokens(app)
    issued_at = served.clock.now()
    served.clock.wait(60)
    first_use = served.clock.now()
    await refresh(served, app, tokens, "app/1")
    served.clock.wait(5)
    await refresh(served, app, tokens, "app/1")
    served.clock.wait(26)
    replayed_at = served.clock.now()
    assert (await refresh(served, app, tokens, "thief/9"))["error"] == "invalid_grant"
    served.clock.wait(3_600)
    api = await served.administrator()
    session_id = await session_of(api)

    life = succeeded(await api.call("GET", explain(session_id)))

    assert {
        name: life[name] for name in life if name not in ("steps", "text", "nearMisses", "expiresAt")
    } == {
        "id": session_id,
        "kind": "oauth",
        "grantType": "authorization_code",
        "state": "ended",
        "why": "replayed_after_grace",
        "clientId": "app",
        "clientName": "The App",
        "userId": life["userId"],
        "username": "admin",
        "name": "admin",
        "scope": "user.read",
        "startedAt": iso_time(issued_at),
    }
    assert [(step["kind"], step["at"], step["delayMs"]) for step in life["steps"]] == [
        ("issued", iso_time(issued_at), None),
        ("rotated", iso_time(first_use), None),
        ("retried", iso_time(first_use + 5_000), 5_000),  # type: ignore[arg-type]
        ("ended", iso_time(replayed_at), 31_000),
    ]
    ended = life["steps"][-1]
    assert (ended["userAgent"], ended["earlierUserAgent"]) == ("thief/9", "app/1")
    assert (ended["earlierAt"], ended["why"], ended["ip"]) == (
        iso_time(first_use),
        "replayed_after_grace",
        SOURCE,
    )
    assert life["text"] == ended["text"]
    assert life["nearMisses"] == {
        "count": 1,
        "latestDelayMs": 5_000,
        "longestDelayMs": 5_000,
        "text": life["nearMisses"]["text"],
    }
    [event] = await events(api, kind="session-ended")
    assert ended["traceId"] == event["traceId"]


async def test_the_words_are_in_the_language_that_is_asked_for_and_nothing_else_differs(
    served: Served, api: Api
) -> None:
    app = await served.client()
    await served.tokens(app)
    path = explain(await session_of(api))

    english = succeeded(await api.call("GET", path, headers={"Accept-Language": "en"}))
    chinese = succeeded(await api.call("GET", path, headers={"Accept-Language": "zh-CN"}))

    assert english["text"].startswith("It is running until")
    assert chinese["text"].startswith("会话有效")
    assert english["nearMisses"]["text"] != chinese["nearMisses"]["text"]
    for life in (english, chinese):
        del life["text"], life["nearMisses"]["text"]
        for step in life["steps"]:
            del step["text"]
    assert english == chinese


async def test_a_session_of_client_credentials_is_explained_to_a_super_administrator_only(
    served: Served,
) -> None:
    app = await served.client()
    await served.api().service("token", app, grant_type="client_credentials")
    root = await served.administrator()
    session_id = await session_of(root)
    reads = await holder_of(served, *Permission)

    life = succeeded(await root.call("GET", explain(session_id)))
    assert (life["grantType"], life["userId"], life["username"]) == ("client_credentials", None, None)
    refused(await reads.call("GET", explain(session_id)), 404, "A0404")


@pytest.mark.parametrize("session_id", ["unknown", "%00", "%ff", "é"])
async def test_a_session_that_never_was_is_404(api: Api, session_id: str) -> None:
    refused(await api.call("GET", explain(session_id)), 404, "A0404")


async def test_nothing_under_audit_shows_a_token_or_a_secret(served: Served, api: Api) -> None:
    app = await served.client()
    tokens = await served.tokens(app)
    rotated = await refresh(served, app, tokens, "app/1")
    session_id = await session_of(api)

    told = (await api.call("GET", explain(session_id))).text
    told += (await api.call("GET", EVENTS, params={"pageSize": "200"})).text

    secrets = [app.secret, api.token]
    for pair in (tokens, rotated):
        secrets += [pair["access_token"], pair["refresh_token"]]
    for secret in secrets:
        assert secret
        assert secret not in told
