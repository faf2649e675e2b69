"""Personal access tokens: programs act for a user, with chosen permissions and until a chosen day."""

import re
from typing import Any

import pytest

from ostiary_core.model.permissions import Permission
from tests.support.callers import Api, expect_refusal
from tests.support.people import HOLDERS_PASSWORD, holder_of, sign_in
from tests.support.served import Served

DAY_SECONDS = 86_400
TOKENS = "/api/auth/tokens"
LISTS_CLIENTS = {"name": "deploys", "permissions": ["oauth.client.list"], "expiresInDays": 30}


async def create(api: Api, **changed: object) -> dict[str, Any]:
    created: dict[str, Any] = await api.succeed("POST", TOKENS, {**LISTS_CLIENTS, **changed}, status=201)
    return created


async def program_with(served: Served, api: Api, **changed: object) -> Api:
    """Return a program with a token of the user who is signed in at `api`."""
    program = served.api()
    program.token = (await create(api, **changed))["token"]
    return program


async def is_accepted(program: Api) -> bool:
    response = await program.call("GET", "/api/oauth/clients")
    if response.status_code == 200:
        return True
    expect_refusal(response, 401, "A1001")
    return False


async def test_a_token_is_in_no_record_and_no_entry(served: Served, api: Api) -> None:
    token = (await create(api))["token"]
    assert re.fullmatch("ostiary_pat_[A-Za-z0-9]{43}", token)
    assert token.removeprefix("ostiary_pat_") not in repr(served.records()) + repr(served.audit())


async def test_a_user_gives_a_token_no_permission_that_the_user_lacks(served: Served) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST)
    for permissions in (["iam.user.list"], ["oauth.client.list", "iam.user.list"]):
        await holder.fail(403, "A0403", "POST", TOKENS, {**LISTS_CLIENTS, "permissions": permissions})
    browser = await served.sign_in_browser("holder", HOLDERS_PASSWORD)
    offered = re.findall('name="permissions" value="([^"]+)"', (await browser.get("/account/tokens")).text)
    assert offered == ["oauth.client.list"]
    await served.user("nobody")
    nobody = await sign_in(served, "nobody", "anna's password")
    await nobody.fail(403, "A0403", "POST", "/api/auth/tokens", LISTS_CLIENTS)


@pytest.mark.parametrize("days", [1, 365])
async def test_a_token_ends_on_its_day(served: Served, api: Api, days: int) -> None:
    program = await program_with(served, api, expiresInDays=days)
    served.clock.wait(days * DAY_SECONDS - 1)
    assert await is_accepted(program)
    served.clock.wait(1)
    assert not await is_accepted(program)
    await api.sign_in()
    assert await api.succeed("GET", "/api/auth/tokens") == []


async def test_a_hundred_tokens_live_and_each_is_listed(served: Served, api: Api) -> None:
    for number in range(100):
        await create(api, name=f"robot {number}")
    refused = await api.fail(422, "B1004", "POST", TOKENS, LISTS_CLIENTS)
    assert refused["msg"].startswith("You have as many access tokens")
    listed = await api.succeed("GET", TOKENS)
    assert {token["name"] for token in listed} == {f"robot {number}" for number in range(100)}
    await api.succeed("DELETE", f"{TOKENS}/{listed[-1]['id']}")
    await create(api, name="one more")


async def test_a_token_waits_while_its_holder_must_change_the_password(served: Served, api: Api) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST)
    user_id = (await holder.succeed("GET", "/api/auth/me"))["id"]
    program = await program_with(served, holder)
    await api.succeed("PUT", f"/api/iam/users/{user_id}", {"mustChangePassword": True})
    served.clock.wait(60)
    await program.fail(403, "A1004", "GET", "/api/oauth/clients")
    online = await api.succeed("GET", "/api/monitor/online-users", params={"kind": "token"})
    assert all(each["lastSeenAt"] == each["signedInAt"] for each in online["items"])
