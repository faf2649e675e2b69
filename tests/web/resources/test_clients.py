"""Clients have more than other records: built-in ones, secrets, sessions and the time of their last use."""

import re
from typing import Any

import pytest

from ostiary_core.events import WrongSecretsCounted
from ostiary_core.model.records import Client, Table
from ostiary_net.upkeep.flushing import flush_uses
from tests.rows import row
from tests.support.callers import Api, Browser, Registered, fields_of, registration
from tests.support.served import Served

CLIENTS = "/api/oauth/clients"
APP = registration("app")


@row("Summary", "POST /api/oauth/clients")
@row("Client registration", "HTTP 201 and the envelope")
@row("General envelope and status codes", "200, 201")
async def test_a_client_is_registered_and_its_secret_shown_this_once(api: Api) -> None:
    data = await api.succeed("POST", CLIENTS, APP, status=201)
    secret = data.pop("secret")
    assert len(secret) == 43
    assert secret.isalnum()
    never = ("lastUsedAt", "secretLastUsedAt", "oldSecretLastUsedAt", "oldSecretUntil", "wrongSecretLastAt")
    assert data == {
        **APP,
        **dict.fromkeys(never),
        **dict.fromkeys(("createdAt", "updatedAt"), "2027-01-15T08:00:00.123Z"),
        "id": "app",
        "accessTokenTtl": 1800,
        "refreshTokenTtl": 604800,
        "secretExpiresOn": None,
        "enabled": True,
        "builtIn": False,
        "wrongSecrets": 0,
    }
    issued = await api.service("token", Registered("app", secret), grant_type="client_credentials")
    assert issued.status_code == 200


@row("Other OAuth-related codes", "B4010")
@pytest.mark.parametrize("client_id", ["console", "mobile"])
async def test_the_built_in_clients_are_protected(served: Served, api: Api, client_id: str) -> None:
    before = served.records()
    one = f"{CLIENTS}/{client_id}"
    for method, path, body in (
        ("PUT", one, {"name": "Mine"}),
        ("PUT", f"{one}/enabled", {"enabled": False}),
        ("PUT", f"{one}/enabled", {"enabled": True}),
        ("POST", f"{one}/secret", None),
        ("DELETE", one, None),
        ("POST", f"{CLIENTS}/batch-delete", {"ids": [client_id]}),
    ):
        assert (await api.fail(422, "B4010", method, path, body))["msg"] == "A built-in client is protected."
    taken = {"clientId": client_id, "name": "Mine", "grantTypes": ["client_credentials"]}
    await api.fail(409, "A0409", "POST", CLIENTS, taken)
    assert served.records() == before
    shown = await api.succeed("GET", one)
    assert (shown["builtIn"], shown["enabled"]) == (True, True)
    built_in = (await api.succeed("GET", CLIENTS, params={"builtIn": "true"}))["items"]
    assert [item["clientId"] for item in built_in] == ["console", "mobile"]


async def test_the_secret_is_shown_where_it_is_drawn_and_nowhere_else(served: Served, api: Api) -> None:
    drawn = [(await served.client()).secret, (await api.succeed("POST", f"{CLIENTS}/app/secret"))["secret"]]
    assert all(len(secret) >= 43 and secret.isalnum() for secret in drawn)
    await api.succeed("PUT", f"{CLIENTS}/app", {"name": "Other"})
    for path in ("", "/app", "/options", "/app/sessions"):
        text = (await api.call("GET", CLIENTS + path)).text
        assert not any(secret in text for secret in drawn)
        assert '"secret"' not in text
        assert "igest" not in text
    [stored] = [each for each in served.store.records(Table.CLIENT) if each.client_id == "app"]
    assert isinstance(stored, Client)
    assert stored.secret_digest is not None
    assert stored.secret_digest.hex() not in (await api.call("GET", CLIENTS)).text


async def test_the_sessions_of_a_client_are_those_that_run(served: Served, api: Api) -> None:
    client, other = await served.client(), await served.client("other")
    await served.user("anna")
    issued = await served.tokens(client, "anna", "anna's password")
    await served.tokens(other, "anna", "anna's password")
    [session] = (await api.succeed("GET", f"{CLIENTS}/app/sessions"))["items"]
    assert (session["clientId"], session["username"], session["kind"]) == ("app", "anna", "oauth")
    page = await api.succeed("GET", f"{CLIENTS}/app/sessions", params={"username": "nobody", "pageSize": 1})
    assert page == {"items": [], "total": 0}
    # The client in the path counts, and not another one in the query.
    assert (await api.succeed("GET", f"{CLIENTS}/app/sessions", params={"clientId": "other"}))["total"] == 1
    await api.service("revoke", client, token=issued["access_token"])
    assert (await api.succeed("GET", f"{CLIENTS}/app/sessions"))["total"] == 0
    await api.fail(404, "A0404", "GET", f"{CLIENTS}/nothing/sessions")
    failure = await api.fail(400, "A0401", "GET", f"{CLIENTS}/app/sessions?pageSize=500")
    assert fields_of(failure) == ["pageSize"]


# --- the use of secrets, also of an old one that works on for a time


async def reset(api: Api, body: Any = None) -> Registered:
    data = await api.succeed("POST", f"{CLIENTS}/app/secret", body)
    assert list(data) == ["secret"]
    return Registered("app", data["secret"])


async def works(served: Served, client: Registered) -> bool:
    """Say whether a client's secret authenticates, from an address without a failure before."""
    response = await served.api("198.51.100.99").service("introspect", client, token="nothing")
    assert response.status_code in (200, 401)
    return response.status_code == 200


async def test_an_administrator_sees_when_each_secret_was_last_used(served: Served) -> None:
    """An introspection counts as a use. It is in no audit trail, and a resource server asks nothing else."""
    old, api = await served.client(), await served.administrator()
    new = await reset(api, {"keepOldForSeconds": 3_600})
    assert await works(served, old)
    served.clock.wait(120)
    assert await works(served, new)
    await flush_uses(served.service.activity, served.service.turns)
    shown = await api.succeed("GET", f"{CLIENTS}/app")
    assert shown["oldSecretLastUsedAt"] == "2027-01-15T08:00:00.123Z"
    assert shown["secretLastUsedAt"] == "2027-01-15T08:02:00.123Z"


async def test_requests_write_nothing_about_their_secrets_themselves(served: Served) -> None:
    client = await served.client()
    before = served.records()
    assert [await works(served, client) for _ in range(3)] == [True] * 3
    assert served.records() == before
    await flush_uses(served.service.activity, served.service.turns)
    assert served.records() != before
    after = served.records()
    await flush_uses(served.service.activity, served.service.turns)
    assert served.records() == after


# --- wrong secrets


async def counts_of(served: Served, api: Api) -> tuple[int, str | None]:
    """Write the counted wrong secrets down; return the number and the last time that are shown of them."""
    await flush_uses(served.service.activity, served.service.turns)
    shown = await api.succeed("GET", f"{CLIENTS}/app")
    return shown["wrongSecrets"], shown["wrongSecretLastAt"]


async def test_an_administrator_sees_how_often_a_wrong_secret_came_and_when_last(
    served: Served, api: Api, browser: Browser
) -> None:
    await served.client()
    wrong = Registered("app", "wrong")
    assert await counts_of(served, api) == (0, None)
    assert "Wrong secrets" not in (await browser.get("/admin/clients/app")).text
    for operation in ("token", "introspect", "revoke"):
        await served.api().service(operation, wrong, token="x")
        served.clock.wait(7)
    assert await counts_of(served, api) == (3, "2027-01-15T08:00:14.123Z")
    await served.api("198.51.100.9").service("introspect", wrong, token="x")
    assert await counts_of(served, api) == (4, "2027-01-15T08:00:21.123Z")
    shown = (await browser.get("/admin/clients/app")).text
    assert "<dt>Wrong secrets</dt><dd>4</dd>" in shown
    assert re.search(r"<dt>Last wrong secret at</dt><dd><[^>]*>?.{0,40}2027-01-15T", shown)


async def test_wrong_secrets_are_written_down_together_and_never_those_of_strangers(served: Served) -> None:
    await served.client()
    for client_id in ("app", "app", "nobody", "console", *(f"guess {number}" for number in range(20))):
        await served.api().service("introspect", Registered(client_id, "wrong"), token="x")
    events = served.service.activity.take_uses()
    assert [(type(event), event.client_id) for event in events] == [(WrongSecretsCounted, "app")]
    assert served.service.activity.take_uses() == []
