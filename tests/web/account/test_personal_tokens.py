"""Personal access tokens: programs act for a user, with chosen permissions and until a chosen day."""

import re
from typing import Any

import pytest

from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import ALL_PERMISSIONS, ALL_POWERS, Permission
from ostiary_core.model.secret import Secret
from tests.support.asks import challenge_of
from tests.support.callers import ADMIN_PASSWORD, Api, Browser, authorization, expect_refusal
from tests.support.people import HOLDERS_PASSWORD, holder_of, sign_in
from tests.support.served import Served

DAY_SECONDS = 86_400
TOKENS = "/api/auth/tokens"
TOKEN = re.compile("ostiary_pat_[A-Za-z0-9]{43}")
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


async def test_a_token_is_shown_once_and_opens_what_was_chosen_for_it(served: Served, api: Api) -> None:
    created = await create(api)
    token = created.pop("token")
    assert TOKEN.fullmatch(token)
    program = served.api()
    program.token = token
    assert [one["id"] for one in (await program.succeed("GET", "/api/oauth/clients"))["items"]]
    await program.fail(403, "A0403", "GET", "/api/iam/users")
    (listed,) = await api.succeed("GET", "/api/auth/tokens")
    assert re.fullmatch("[0-9a-f]{32}", listed["id"])
    assert listed == {
        "id": created["id"],
        "name": "deploys",
        "fingerprint": Secret(token).digest.hex()[:8],
        "permissions": ["oauth.client.list"],
        "createdAt": "2027-01-15T08:00:00.123Z",
        "lastUsedAt": None,
        "expiresAt": "2027-02-14T08:00:00.123Z",
    }
    assert created == listed
    browser = await served.sign_in_browser()
    assert "deploys" in (await browser.get("/account/tokens")).text
    assert created["id"] not in (await browser.get("/account/sessions")).text
    everything = repr(served.records()) + repr(served.audit())
    assert token not in everything
    assert token.removeprefix("ostiary_pat_") not in everything


async def test_a_permission_that_its_holder_loses_is_lost_to_the_token(served: Served, api: Api) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST, Permission.ROLE_LIST)
    program = await program_with(served, holder, permissions=["oauth.client.list", "iam.role.list"])
    assert await is_accepted(program)
    await api.succeed("PUT", "/api/iam/roles/role-of-holder", {"permissions": ["iam.role.list"]})
    await program.fail(403, "A0403", "GET", "/api/oauth/clients")
    await program.succeed("GET", "/api/iam/roles")
    more = {"permissions": ["iam.role.list", "iam.user.list"]}
    await api.succeed("PUT", "/api/iam/roles/role-of-holder", more)
    await program.fail(403, "A0403", "GET", "/api/iam/users")


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


async def test_a_form_sent_twice_makes_one_token_and_shows_it_again(served: Served, browser: Browser) -> None:
    page = await browser.get("/account/tokens")
    values = {"name": "deploys", "permissions": "oauth.client.list", "expiresInDays": "30"}
    first = await browser.follow(await browser.submit(page, values, to="/account/tokens"))
    second = await browser.submit(page, values, to="/account/tokens")
    assert (second.status_code, "The same request was just made." in second.text) == (429, True)
    assert set(TOKEN.findall(first.text)) == set(TOKEN.findall(second.text)) != set()
    [end] = re.findall('href="(/account/tokens/[^"]+/end)"', (await browser.get("/account/tokens")).text)
    question = (await browser.get(end)).text
    assert re.search("<h1[^>]*>[^<]*deploys", question)
    assert "Programs that use it are refused from now on." in question


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


async def test_its_holder_ends_a_token_and_no_other_user_finds_it(served: Served, api: Api) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST, Permission.ONLINE_LIST)
    program = await program_with(served, holder)
    served.clock.wait(1)
    other = await program_with(served, holder, name="other")
    mine, first = await holder.succeed("GET", "/api/auth/tokens")
    assert (mine["name"], first["name"]) == ("other", "deploys")
    path = f"/api/auth/tokens/{first['id']}"
    await api.fail(404, "A0404", "DELETE", path)
    assert await is_accepted(program)
    assert await holder.succeed("DELETE", path) is None
    assert not await is_accepted(program)
    assert await is_accepted(other)
    await holder.fail(404, "A0404", "DELETE", path)
    online = await holder.succeed("GET", "/api/monitor/online-users", params={"kind": "login"})
    for session in online["items"]:
        await holder.fail(404, "A0404", "DELETE", f"/api/auth/tokens/{session['id']}")


async def test_administrators_see_and_end_the_tokens_of_others_as_sessions(served: Served, api: Api) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST)
    program = await program_with(served, holder)
    served.clock.wait(60)
    assert await is_accepted(program)
    (session,) = (await api.succeed("GET", "/api/monitor/online-users", params={"kind": "token"}))["items"]
    shown = {name: session[name] for name in ("kind", "username", "scope", "tokenName")}
    scope = "oauth.client.list"
    assert shown == {"kind": "token", "username": "holder", "scope": scope, "tokenName": "deploys"}
    assert session["lastSeenAt"] == "2027-01-15T08:01:00.123Z"
    browser, user_id = await served.sign_in_browser(), (await holder.succeed("GET", "/api/auth/me"))["id"]
    assert '<div class="hint">deploys</div>' in (await browser.get("/admin/online?kind=token")).text
    for page in (f"/admin/people/{user_id}", f"/admin/online/end?selected={session['id']}"):
        assert "Access token deploys" in (await browser.get(page)).text
    weak = await holder_of(served, Permission.ONLINE_KILL, username="weak")
    path = f"/api/monitor/online-users/{session['id']}"
    await weak.fail(403, "A0403", "DELETE", path)
    await api.succeed("DELETE", path)
    assert not await is_accepted(program)


async def test_a_token_waits_while_its_holder_must_change_the_password(served: Served, api: Api) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST)
    user_id = (await holder.succeed("GET", "/api/auth/me"))["id"]
    program = await program_with(served, holder)
    await api.succeed("PUT", f"/api/iam/users/{user_id}", {"mustChangePassword": True})
    served.clock.wait(60)
    await program.fail(403, "A1004", "GET", "/api/oauth/clients")
    online = await api.succeed("GET", "/api/monitor/online-users", params={"kind": "token"})
    assert all(each["lastSeenAt"] == each["signedInAt"] for each in online["items"])


async def test_a_token_opens_nothing_but_the_administration(served: Served, api: Api) -> None:
    client = await served.client()
    program = await program_with(served, api, permissions=list(ALL_PERMISSIONS))
    passwords = {"oldPassword": ADMIN_PASSWORD, "newPassword": "another long one"}
    authorizing = {**authorization("app", code_challenge=challenge_of("v" * 43)), "approve": True}
    for method, path, body in (
        *(("GET", f"/api/auth/{name}", None) for name in ("me", "tokens", "grants")),
        ("GET", "/api/oauth2/userinfo", None),
        *(("POST", f"/api/{path}", None) for path in ("auth/logout", "monitor/force-logout-all")),
        *(("POST", "/api/auth/tokens", LISTS_CLIENTS), ("POST", "/api/oauth2/authorize", authorizing)),
        *(("PUT", "/api/auth/password", passwords), ("PUT", "/api/auth/locale", {"locale": "en-US"})),
    ):
        await program.fail(401, "A1001", method, path, body)
    assert program.token is not None
    assert not await program.is_active(client, program.token)
    await program.service("revoke", client, token=program.token)
    refreshed = await program.post("/api/auth/refresh", json={"refreshToken": program.token})
    expect_refusal(refreshed, 401, "A1001")
    assert await is_accepted(program)
    served_by_cookie = served.browser()
    served_by_cookie.cookies.set("ostiary_access", program.token, domain="id.example")
    expect_refusal(await served_by_cookie.get("/api/oauth/clients"), 401, "A1001")
    assert (await served_by_cookie.get("/admin/clients")).status_code == 303


async def test_a_token_reaches_neither_its_holder_nor_users_who_may_do_more(served: Served, api: Api) -> None:
    """Otherwise a program could set its user's password, sign in, and make a token with more permissions."""
    root_id = (await api.succeed("GET", "/api/auth/me"))["id"]
    every = await program_with(served, api, permissions=[*ALL_PERMISSIONS, *ALL_POWERS])
    holder = await holder_of(served, Permission.USER_UPDATE, Permission.USER_LIST)
    own_id = (await holder.succeed("GET", "/api/auth/me"))["id"]
    own = await program_with(served, holder, permissions=["iam.user.update", "iam.user.list"])
    less = await program_with(served, api, permissions=["iam.user.update", "iam.role.update"])
    password = {"password": "another long one"}
    for program, user_id in ((every, root_id), (own, own_id), (less, own_id)):
        for method, path, body in (
            ("PUT", f"/api/iam/users/{user_id}/password", password),
            ("PUT", f"/api/iam/users/{user_id}", {"name": "Mallory"}),
        ):
            await program.fail(403, "A0403", method, path, body)
    wider = {"permissions": ["iam.user.update", "iam.user.list", "audit.read"]}
    await less.fail(403, "A0403", "PUT", "/api/iam/roles/role-of-holder", wider)
    await every.succeed("PUT", f"/api/iam/users/{own_id}/password", password)


async def test_the_trail_records_how_a_token_was_made_and_how_it_ended(served: Served, api: Api) -> None:
    token = await create(api, permissions=["audit.read", "oauth.client.list"], expiresInDays=1)
    await api.succeed("DELETE", f"/api/auth/tokens/{token['id']}")
    made, ended = served.audit()[-2:]  # The trail has no sign-in after them.
    assert (made.kind, made.session_id) == (FactKind.PERSONAL_TOKEN_CREATED, token["id"])
    browser = await served.sign_in_browser()
    assert "<li>Days: 1</li>" in (await browser.get("/admin/audit?kind=personal-token-created")).text
    assert made.user_id is not None
    assert {change.field: change.after for change in made.changes} == {
        "name": "deploys",
        "permissions": ("oauth.client.list", "audit.read"),
        "expiresInDays": 1,
    }
    assert (ended.kind, ended.session_id) == (FactKind.SESSION_ENDED, token["id"])
    history = await api.succeed("GET", f"/api/audit/sessions/{token['id']}/explain")
    assert (history["kind"], history["grantType"], history["why"]) == ("token", None, "personal_token_ended")
    assert [step["kind"] for step in history["steps"]] == ["issued", "ended"]
