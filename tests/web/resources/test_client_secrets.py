"""Client secrets over the interface: an old one that works on for a time, its uses, and wrong ones."""

import re
from typing import Any

from ostiary_core.events import WrongSecretsCounted
from ostiary_net.upkeep.flushing import flush_uses
from tests.support.callers import Api, Browser, Registered
from tests.support.served import Served

CLIENTS = "/api/oauth/clients"


async def reset(api: Api, body: Any = None) -> Registered:
    data = await api.succeed("POST", f"{CLIENTS}/app/secret", body)
    assert list(data) == ["secret"]
    return Registered("app", data["secret"])


async def works(served: Served, client: Registered) -> bool:
    """Whether its secret authenticates, from an address where nobody failed before."""
    response = await served.api("198.51.100.99").service("introspect", client, token="nothing")
    assert response.status_code in (200, 401)
    return response.status_code == 200


async def test_an_administrator_sees_when_each_secret_was_last_used(served: Served) -> None:
    """An introspection counts: it is in no audit trail, and a resource server does nothing else."""
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
    """What an administrator is shown of the client's wrong secrets, once they are written down."""
    await flush_uses(served.service.activity, served.service.turns)
    shown = await api.succeed("GET", f"{CLIENTS}/app")
    return shown["wrongSecrets"], shown["wrongSecretLastAt"]


async def test_an_administrator_sees_how_often_a_wrong_secret_came_and_when_last(served: Served) -> None:
    await served.client()
    api, wrong = await served.administrator(), Registered("app", "wrong")
    assert await counts_of(served, api) == (0, None)
    for operation in ("token", "introspect", "revoke"):
        await served.api().service(operation, wrong, token="x")
        served.clock.wait(7)
    assert await counts_of(served, api) == (3, "2027-01-15T08:00:14.123Z")
    await served.api("198.51.100.9").service("introspect", wrong, token="x")
    assert await counts_of(served, api) == (4, "2027-01-15T08:00:21.123Z")


async def test_the_page_of_a_client_shows_its_wrong_secrets(served: Served, browser: Browser) -> None:
    await served.client()
    for _ in range(12):
        await served.api().service("introspect", Registered("app", "wrong"), token="x")
    assert "Wrong secrets" not in (await browser.get("/admin/clients/app")).text
    await flush_uses(served.service.activity, served.service.turns)
    shown = (await browser.get("/admin/clients/app")).text
    assert "<dt>Wrong secrets</dt><dd>12</dd>" in shown
    assert re.search(r"<dt>Last wrong secret at</dt><dd><time [^>]*2027-01-15T", shown)


async def test_wrong_secrets_are_written_down_together_and_never_those_of_strangers(served: Served) -> None:
    await served.client()
    for client_id in ("app", "app", "nobody", "console", *(f"guess {number}" for number in range(20))):
        await served.api().service("introspect", Registered(client_id, "wrong"), token="x")
    events = served.service.activity.take_uses()
    assert [(type(event), event.client_id) for event in events] == [(WrongSecretsCounted, "app")]
    assert served.service.activity.take_uses() == []
