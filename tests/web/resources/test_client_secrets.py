"""Client secrets over the interface: an old one that works on for a time, its uses, and wrong ones slowed."""

from typing import Any

import pytest

from ostiary_net.authentications import keep_uses_once
from tests.web.envelopes import fields_of, refused, succeeded
from tests.web.served import Api, Registered, Served

CLIENTS = "/api/oauth/clients"


async def reset(api: Api, body: Any = None) -> Registered:
    data = succeeded(await api.call("POST", f"{CLIENTS}/app/secret", body))
    assert list(data) == ["secret"]
    return Registered("app", data["secret"])


async def works(served: Served, client: Registered) -> bool:
    """Whether its secret authenticates, from an address where nobody failed before."""
    response = await served.api("198.51.100.99").service("introspect", client, token="nothing")
    assert response.status_code in (200, 401)
    return response.status_code == 200


async def test_the_old_secret_works_on_for_as_long_as_is_asked(served: Served) -> None:
    old, api = await served.client(), await served.administrator()
    new = await reset(api, {"keepOldForSeconds": 3_600})
    assert succeeded(await api.call("GET", f"{CLIENTS}/app"))["oldSecretUntil"] == "2027-01-15T09:00:00.123Z"
    assert (await works(served, old), await works(served, new)) == (True, True)
    served.clock.wait(3_600)
    assert (await works(served, old), await works(served, new)) == (False, True)


@pytest.mark.parametrize("body", [None, {}, {"keepOldForSeconds": 0}])
async def test_a_reset_that_asks_for_nothing_ends_the_old_secret_at_once(served: Served, body: Any) -> None:
    old, api = await served.client(), await served.administrator()
    new = await reset(api, body)
    assert (await works(served, old), await works(served, new)) == (False, True)
    assert succeeded(await api.call("GET", f"{CLIENTS}/app"))["oldSecretUntil"] is None


@pytest.mark.parametrize(
    "body, bad",
    [
        ({"keepOldForSeconds": 59}, ["keepOldForSeconds"]),
        ({"keepOldForSeconds": 2_592_001}, ["keepOldForSeconds"]),
        ({"keepOldForSeconds": "60"}, ["keepOldForSeconds"]),
        ({"keepOldFor": 60}, ["keepOldFor"]),
        ([], []),
    ],
)
async def test_a_bad_overlap_is_named_and_resets_nothing(served: Served, body: Any, bad: list[str]) -> None:
    old, api = await served.client(), await served.administrator()
    assert fields_of(refused(await api.call("POST", f"{CLIENTS}/app/secret", body), 400, "A0401")) == bad
    assert await works(served, old)


async def test_the_overlap_can_be_ended_early(served: Served) -> None:
    old, api = await served.client(), await served.administrator()
    new = await reset(api, {"keepOldForSeconds": 3_600})
    shown = succeeded(await api.call("DELETE", f"{CLIENTS}/app/old-secret"))
    assert (shown["clientId"], shown["oldSecretUntil"]) == ("app", None)
    assert (await works(served, old), await works(served, new)) == (False, True)


async def test_an_administrator_sees_when_each_secret_was_last_used(served: Served) -> None:
    """An introspection counts: it is in no audit trail, and a resource server does nothing else."""
    old, api = await served.client(), await served.administrator()
    new = await reset(api, {"keepOldForSeconds": 3_600})
    assert await works(served, old)
    served.clock.wait(120)
    assert await works(served, new)
    await keep_uses_once(served.service.authentications, served.service.turns)
    shown = succeeded(await api.call("GET", f"{CLIENTS}/app"))
    assert shown["oldSecretLastUsedAt"] == "2027-01-15T08:00:00.123Z"
    assert shown["secretLastUsedAt"] == "2027-01-15T08:02:00.123Z"


async def test_requests_write_nothing_about_their_secrets_themselves(served: Served) -> None:
    client = await served.client()
    before = served.records()
    assert [await works(served, client) for _ in range(3)] == [True] * 3
    assert served.records() == before
    await keep_uses_once(served.service.authentications, served.service.turns)
    assert served.records() != before
    after = served.records()
    await keep_uses_once(served.service.authentications, served.service.turns)
    assert served.records() == after


# --- wrong secrets


@pytest.mark.parametrize("operation", ["token", "introspect", "revoke"])
async def test_after_ten_wrong_secrets_the_next_has_to_wait(served: Served, operation: str) -> None:
    client = await served.client()
    wrong, api = Registered("app", "wrong"), served.api()
    for _ in range(10):
        assert (await api.service(operation, wrong, token="x")).status_code == 401
    slowed = await api.service(operation, wrong, token="x")
    failure = slowed.json()
    assert (slowed.status_code, failure["code"], failure["data"]) == (429, "A0429", None)
    assert (set(failure), slowed.headers["retry-after"]) == ({"code", "msg", "data", "traceId"}, "1")
    assert await works(served, client), "from elsewhere"
    assert (await api.service("introspect", client, token="x")).status_code == 200, "known to be right now"
    served.clock.wait(1)
    assert (await api.service(operation, wrong, token="x")).status_code == 401


async def test_an_unknown_client_is_slowed_down_as_one_that_exists(served: Served) -> None:
    await served.client()
    api = served.api()
    answers = [
        [
            (await api.service("introspect", Registered(client_id, "wrong"), token="x")).status_code
            for _ in range(12)
        ]
        for client_id in ("app", "nobody", "console")
    ]
    assert answers == [[401] * 10 + [429] * 2] * 3
