"""`POST /api/oauth/clients`: the registration of clients over the interface."""

import pytest
import trio

from ostiary_core.events import ClientDeleted, Operator
from tests.rows import row
from tests.web.envelopes import fields_of, refused, succeeded
from tests.web.served import REDIRECT_URI, Api, Registered, Served

PATH = "/api/oauth/clients"

APP: dict[str, object] = {
    "clientId": "app",
    "name": "The App",
    "redirectUris": [REDIRECT_URI],
    "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
    "scopes": ["user.read"],
    "autoApproveScopes": [],
}


@row("Summary", "POST /api/oauth/clients")
@row("Client registration", "HTTP 201 and the envelope")
@row("General envelope and status codes", "200, 201")
async def test_a_client_is_registered_and_its_secret_shown_this_once(served: Served) -> None:
    api = await served.administrator()
    data = succeeded(await api.call("POST", PATH, APP), status=201)
    secret = data.pop("secret")
    assert len(secret) == 43
    assert secret.isalnum()
    assert data == {
        **APP,
        "id": "app",
        "accessTokenTtl": 1800,
        "refreshTokenTtl": 604800,
        "enabled": True,
        "builtIn": False,
        "createdAt": "2027-01-15T08:00:00.123Z",
        "updatedAt": "2027-01-15T08:00:00.123Z",
        "lastUsedAt": None,
        "secretLastUsedAt": None,
        "oldSecretLastUsedAt": None,
        "oldSecretUntil": None,
        "wrongSecrets": 0,
        "wrongSecretLastAt": None,
    }
    issued = await api.service("token", Registered("app", secret), grant_type="client_credentials")
    assert issued.status_code == 200


async def test_what_is_left_out_has_its_default(served: Served) -> None:
    api = await served.administrator()
    body = {"clientId": "machine", "name": "Machine", "grantTypes": ["client_credentials"]}
    data = succeeded(await api.call("POST", PATH, body), status=201)
    assert (data["redirectUris"], data["scopes"], data["autoApproveScopes"]) == ([], [], [])


@row("General envelope and status codes", "409")
@pytest.mark.parametrize("client_id", ["app", "console", "mobile"])
async def test_an_identifier_is_taken_once(served: Served, client_id: str) -> None:
    await served.client()
    api = await served.administrator()
    served.clock.wait(1)
    before = served.records()
    refused(await api.call("POST", PATH, {**APP, "clientId": client_id}), 409, "A0409")
    assert served.records() == before


async def test_the_identifier_of_a_deleted_client_is_never_given_out_again(served: Served) -> None:
    await served.client()
    await served.decide(ClientDeleted(caller=Operator(), client_id="app"))
    api = await served.administrator()
    served.clock.wait(1)
    refused(await api.call("POST", PATH, APP), 409, "A0409")


async def test_identifiers_differ_by_case(served: Served) -> None:
    await served.client("app")
    await served.client("App")


async def test_who_lacks_the_permission_gets_403_whatever_they_send(served: Served) -> None:
    await served.user("anna")
    api = served.api()
    await api.sign_in("anna", "anna's password")
    before = served.records()
    refused(await api.call("POST", PATH, APP), 403, "A0403")
    refused(await api.call("POST", PATH, {}), 403, "A0403")
    refused(await api.call("POST", PATH, content=b"not json"), 403, "A0403")
    assert served.records() == before


async def test_every_bad_field_is_named_at_once(served: Served) -> None:
    api = await served.administrator()
    before = served.records()
    body = {
        "clientId": "-",
        "name": " ",
        "redirectUris": [REDIRECT_URI, "http://app.example/", "https://a.example/#f", "https://*.example"],
        "grantTypes": ["password"],
        "scopes": ["user.read", "user.write"],
        "autoApproveScopes": ["user.admin"],
        "accessTokenTtl": 299,
        "refreshTokenTtl": "3600",
        "enabled": "yes",
        "colour": "blue",
    }
    named = fields_of(refused(await api.call("POST", PATH, body), 400, "A0401"))
    assert set(named) == {
        "clientId",
        "name",
        "redirectUris.1",
        "redirectUris.2",
        "redirectUris.3",
        "grantTypes.0",
        "scopes.1",
        "autoApproveScopes.0",
        "accessTokenTtl",
        "refreshTokenTtl",
        "enabled",
        "colour",
    }
    assert served.records() == before


@pytest.mark.parametrize("seconds", [300, 86_400])
async def test_lifetimes_at_their_bounds_are_kept(served: Served, seconds: int) -> None:
    api = await served.administrator()
    body = {**APP, "accessTokenTtl": seconds, "refreshTokenTtl": 2_592_000}
    secret = succeeded(await api.call("POST", PATH, body), status=201)["secret"]
    issued = await api.service("token", Registered("app", secret), grant_type="client_credentials")
    assert issued.json()["expires_in"] == seconds


async def test_fault_texts_are_in_the_language_of_the_request(served: Served) -> None:
    api = await served.administrator()
    response = await api.call("POST", PATH, {**APP, "name": ""}, headers={"Accept-Language": "zh-CN"})
    failure = refused(response, 400, "A0401")
    assert failure["msg"] == "部分字段无效"
    assert failure["errors"] == [{"path": "name", "msg": "必填"}]


# --- duplicate submission (READINGS 31)


@row("General envelope and status codes", "429")
async def test_the_same_create_request_within_a_second_is_a_duplicate(served: Served) -> None:
    api = await served.administrator()
    succeeded(await api.call("POST", PATH, APP), status=201)
    served.clock.wait(0.999)
    before = served.records()
    failure = refused(await api.call("POST", PATH, APP), 429, "A0429")
    assert failure["msg"] == "The same request was just made."
    reordered = dict(reversed(APP.items()))
    refused(await api.call("POST", PATH, reordered), 429, "A0429")
    assert served.records() == before
    served.clock.wait(0.001)
    refused(await api.call("POST", PATH, APP), 409, "A0409")


async def test_a_clock_that_is_set_back_makes_no_duplicate(served: Served) -> None:
    """READINGS 42."""
    api = await served.administrator()
    succeeded(await api.call("POST", PATH, APP), status=201)
    served.clock.set_back(3_600)
    served.clock.wait(1)
    refused(await api.call("POST", PATH, APP), 409, "A0409")


async def test_of_two_at_the_same_moment_one_is_a_duplicate(served: Served) -> None:
    api = await served.administrator()
    statuses = []

    async def register() -> None:
        statuses.append((await api.call("POST", PATH, APP)).status_code)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(register)
        nursery.start_soon(register)
    assert sorted(statuses) == [201, 429]


async def test_another_body_or_caller_is_no_duplicate(served: Served) -> None:
    api = await served.administrator()
    succeeded(await api.call("POST", PATH, APP), status=201)
    succeeded(await api.call("POST", PATH, {**APP, "clientId": "other"}), status=201)
    another: Api = await served.administrator()
    refused(await another.call("POST", PATH, APP), 409, "A0409")


async def test_a_request_that_failed_may_be_sent_again_at_once(served: Served) -> None:
    api = await served.administrator()
    for _ in range(2):
        refused(await api.call("POST", PATH, {**APP, "name": ""}), 400, "A0401")
