"""The trail names the actor: a login session, a token, the command line; and accounts that were deleted."""

from typing import Any

from ostiary_core.events import ClientDisabled, Operator, UserDeleted
from ostiary_core.model.permissions import Permission
from tests.support.callers import Api, Browser
from tests.support.people import holder_of
from tests.support.served import Served

EVENTS = "/api/audit/events"


async def entries(root: Api, **query: str) -> list[dict[str, Any]]:
    """Return the entries that match, the oldest first."""
    items: list[dict[str, Any]] = (await root.succeed("GET", EVENTS, params={"sort": "at", **query}))["items"]
    return items


async def filter_trail(browser: Browser, **filters: str) -> str:
    """Fill in the form of the trail's page, and return the page."""
    form = await browser.get("/admin/audit")
    return (await browser.follow(await browser.submit(form, filters, to="/admin/audit"))).text


async def token_of(served: Served, holder: Api, *permissions: Permission) -> tuple[Api, dict[str, Any]]:
    """Return a program with a new token of the user at `holder`, and the listed fields of the token."""
    may = {"name": "nightly", "permissions": list(permissions), "expiresInDays": 1}
    created = await holder.succeed("POST", "/api/auth/tokens", may, status=201)
    program = served.api()
    program.token = created.pop("token")
    return program, created


async def test_an_entry_names_the_session_or_the_token_that_did_it(served: Served, api: Api) -> None:
    await served.client()
    program, token = await token_of(served, api, Permission.CLIENT_UPDATE)
    await program.succeed("PUT", "/api/oauth/clients/app", json={"name": "Shop"})
    await api.succeed("PUT", "/api/oauth/clients/app", json={"name": "Store"})
    await api.succeed("PUT", "/api/auth/locale", {"locale": "zh-CN"})

    by_token, by_session = await entries(api, kind="client-changed")
    [own] = await entries(api, kind="preferences-set")

    told = ("actorName", "actorSessionId", "actorToken", "actorFingerprint", "target")
    acted = ["admin", token["id"], "nightly", token["fingerprint"], "client:app"]
    assert [by_token[name] for name in told] == acted
    session_id = by_session["actorSessionId"]
    assert [by_session[name] for name in told] == ["admin", session_id, None, None, "client:app"]
    assert (own["actorSessionId"], own["actorId"], own["target"]) == (session_id, None, "user:admin")
    assert await entries(api, actorSessionId=token["id"]) == [by_token]
    assert own in await entries(api, actorSessionId=session_id)
    assert await entries(api, q="nightly", kind="client-changed") == [by_token]
    assert str(program.token) not in str(await entries(api))


async def test_the_page_of_a_session_or_token_lists_what_it_did(served: Served, api: Api) -> None:
    await served.client()
    program, token = await token_of(served, api, Permission.CLIENT_UPDATE)
    await program.succeed("PUT", "/api/oauth/clients/app", json={"name": "Shop"})
    browser = await served.sign_in_browser()

    page = (await browser.get(f"/admin/audit/sessions/{token['id']}")).text
    assert all(text in page.partition("What it did")[2] for text in ("Client changed", "Client app", "Shop"))
    [asked] = await entries(api, kind="personal-token-created")
    page = (await browser.get(f"/admin/audit/sessions/{asked['actorSessionId']}")).text
    assert "Personal access token created" in page.partition("What it did")[2]


async def test_a_refusal_of_a_token_says_that_the_token_lacks_the_permission(served: Served) -> None:
    root = await served.administrator()
    program, token = await token_of(served, root, Permission.CLIENT_LIST)
    clerk = await holder_of(served, Permission.CLIENT_LIST)

    of_token = await program.fail(403, "A0403", "GET", "/api/iam/users")
    of_user = await clerk.fail(403, "A0403", "GET", "/api/iam/users")

    assert of_token["msg"] == "This access token does not have the permission to do this."
    assert of_user["msg"] == "You do not have permission to do this."
    first, second = await entries(root, kind="administrator-refused")
    assert first["why"] == second["why"] == "permission_missing"
    assert (first["actorToken"], first["actorSessionId"]) == ("nightly", token["id"])
    assert (second["actorToken"], second["actorName"]) == (None, "holder")
    page = (await (await served.sign_in_browser()).get("/admin/audit?kind=administrator-refused")).text
    assert "This access token does not have the permission" in page
    assert "admin, by the token nightly" in page


async def test_the_command_line_is_an_actor_of_its_own(served: Served, api: Api) -> None:
    await served.client()
    await served.decide(ClientDisabled(caller=Operator("deploy"), client_id="app"))

    [entry] = await entries(api, actorId="command-line")
    assert await entries(api, actor="command-line") == [entry]
    assert (entry["kind"], entry["actorName"], entry["actorSessionId"]) == ("client-disabled", "deploy", None)
    browser = await served.sign_in_browser()
    for typed in ("command-line", "Command line"):
        page = await filter_trail(browser, actorId=typed)
        assert "Command line (deploy)" in page
        assert "The operator deploy, on the command line, disabled the client." in page


async def test_accounts_that_were_deleted_are_found_and_shown_by_name(served: Served, api: Api) -> None:
    clerk = await holder_of(served, Permission.USER_UPDATE)
    holder_id = (await clerk.succeed("GET", "/api/auth/me"))["id"]
    anna_id = await served.user("anna")
    await clerk.succeed("PUT", f"/api/iam/users/{anna_id}", {"name": "Anna B"})
    await api.succeed("PUT", f"/api/iam/users/{holder_id}", {"username": "renamed"})
    for user_id in (holder_id, anna_id):
        await served.decide(UserDeleted(caller=Operator(), user_id=user_id))

    [entry] = await entries(api, kind="user-changed", userId=anna_id)
    assert (entry["actorName"], entry["actorId"], entry["target"]) == ("holder", holder_id, "user:anna")
    again = await served.user("anna", name="Another Anna")
    browser = await served.sign_in_browser()
    page = await filter_trail(browser, userId="anna", kind="user-changed")
    assert "anna (deleted)" in page
    assert "holder (deleted)" in page, "as the administrator was called then"
    assert "“anna” is in the names of 2 users, and any of them counts: anna, anna (deleted)" in page
    assert "Anna B" in await filter_trail(browser, actorId="renam")
    assert again not in page
    many = [await served.user(f"many-{number}") for number in range(21)]
    for user_id in many:
        await served.decide(UserDeleted(caller=Operator(), user_id=user_id))
    deleted = await entries(api, kind="user-deleted", pageSize="21", sort="-at")
    assert {entry["target"] for entry in deleted} == {f"user:many-{number}" for number in range(21)}
    assert "is in the names of 21 users" in await filter_trail(browser, userId="many")
