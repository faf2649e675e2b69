"""`POST /api/oauth/clients`: the registration of clients over the interface."""

import trio

from tests.rows import row
from tests.web.envelopes import refused, succeeded
from tests.web.served import REDIRECT_URI, Registered, Served

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
