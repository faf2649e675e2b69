"""Consents of a user: shown by client with its running sessions, and withdrawn (READINGS 26)."""

import re
from typing import Any

import pytest

from ostiary_core import Secret, events as e
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import CodeIssued, TokensIssued
from tests.support import asks
from tests.support.callers import REDIRECT_URI, Api, Registered, authorization, exchange_of, in_query
from tests.support.people import PASSWORD, browser_of, holder_of, open_all, sign_in, with_phone
from tests.support.served import Served


async def grants(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await api.succeed("GET", "/api/auth/grants")
    return found


async def test_a_user_sees_neither_grants_of_others_nor_login_sessions_nor_ended_ones(served: Served) -> None:
    await with_phone(served)
    await with_phone(served, "bert", None)
    client = await served.client()
    anna = await open_all(served, client)
    bert = await sign_in(served, "bert")
    assert await grants(bert) == []
    await anna.here.succeed("POST", "/api/auth/logout")
    for pair in (anna.rotated, anna.fresh):
        await bert.service("revoke", client, token=pair["access_token"])
    (grant,) = await grants(anna.elsewhere)
    assert grant["sessions"] == []


@pytest.mark.parametrize("by_administrator", [False, True])
async def test_withdrawing_ends_the_clients_sessions_and_codes_of_this_user_and_it_asks_again(
    served: Served, by_administrator: bool
) -> None:
    """The user withdraws the consent, or an administrator on behalf of the user."""
    anna_id = await with_phone(served)
    await with_phone(served, "bert", None)
    client, other = await served.client(), await served.client("other")
    anna, annas_other = await open_all(served, client), await open_all(served, other)
    bert = await open_all(served, client, "bert")

    if by_administrator:
        place = f"/api/iam/users/{anna_id}/grants"
        clerk = await holder_of(served, Permission.USER_LIST, Permission.USER_UPDATE, username="clerk")
        own = await grants(anna.here)
        assert await clerk.succeed("GET", place) == own != []
        assert await clerk.succeed("DELETE", f"{place}/app") is None
        assert [one["clientId"] for one in await clerk.succeed("GET", place)] == ["other"]
        actor_id = (await clerk.succeed("GET", "/api/auth/me"))["id"]
    else:
        assert await anna.here.succeed("DELETE", "/api/auth/grants/app") is None
        actor_id = None
    trail = await (await served.administrator()).succeed("GET", "/api/audit/events?kind=consent-withdrawn")
    [entry] = trail["items"]
    assert (entry["userId"], entry["clientId"], entry["actorId"]) == (anna_id, "app", actor_id)

    assert await anna.living() == {"login here", "login elsewhere"}
    answer = await anna.here.service("token", client, **exchange_of(anna.code))
    assert answer.json()["error"] == "invalid_grant"
    for pair in (anna.rotated, anna.fresh):
        answer = await anna.here.refresh(client, pair["refresh_token"])
        assert answer.json()["error"] == "invalid_grant"
    assert [grant["clientId"] for grant in await grants(anna.here)] == ["other"]
    check = await anna.here.succeed("GET", "/api/oauth2/authorize", params=authorization("app"))
    assert check["consentRequired"] is True
    await annas_other.assert_all_alive()
    await bert.assert_all_alive()


async def test_a_consent_never_given_is_not_found_for_any_client(served: Served, anna: Api) -> None:
    own_id = (await anna.succeed("GET", "/api/auth/me"))["id"]
    admin = await served.administrator()
    for client_id in ("app", "quiet"):
        await served.client(client_id, autoApproveScopes=["user.read"] if client_id == "quiet" else [])
    await served.code(anna, "quiet")
    await anna.succeed("DELETE", "/api/auth/grants/quiet")
    before, entries = served.records(), served.audit()
    for client_id in ("app", "quiet", "nothing", "console", "mobile", "%00", "%2e%2e"):
        await anna.fail(404, "A0404", "DELETE", f"/api/auth/grants/{client_id}")
        await admin.fail(404, "A0404", "DELETE", f"/api/iam/users/{own_id}/grants/{client_id}")
    assert (served.records(), served.audit()) == (before, entries)
    await admin.fail(404, "A0404", "DELETE", "/api/iam/users/nobody/grants/app")
    await admin.fail(404, "A0404", "GET", "/api/iam/users/nobody/grants")
    await anna.succeed("GET", "/api/auth/me")


async def test_an_administrator_withdraws_on_the_persons_page_after_a_question(served: Served) -> None:
    anna_id = await with_phone(served)
    anna = await open_all(served, await served.client(name="The App"))
    clerk = await browser_of(served, Permission.USER_LIST, Permission.USER_UPDATE)
    reader = await browser_of(served, Permission.USER_LIST, username="reader")
    place = f"/admin/people/{anna_id}"
    question = f"{place}/applications/app/withdraw"

    assert ("The App" in (shown := (await reader.get(place)).text), question in shown) == (True, False)
    assert question in (await clerk.get(place)).text
    asked = await clerk.get(question)
    assert re.search("Anna.*2 running sessions", asked.text)
    assert (await clerk.submit(asked, to=question)).headers["location"] == place
    assert await anna.living() == {"login here", "login elsewhere"}
    assert (await clerk.get(question)).status_code == 404


MANY = 1_098
"""More sessions than a list shows at once; with two login sessions they fill pages of a hundred."""


def start_sessions(served: Served, api: Api, client: Registered, number: int) -> None:
    """Start sessions of a client for the user who is signed in at `api`, in two turns."""
    assert api.token is not None
    caller = e.SignedIn(access_token=Secret(api.token))
    asked = asks.parameters(client.client_id, redirect_uri=REDIRECT_URI)
    draws = [served.entropy_source.draw() for _ in range(number)]
    approvals = [e.ConsentGiven(caller=caller, parameters=asked, entropy=entropy) for entropy in draws]
    credentials = asks.credentials(client.client_id, client.secret)
    redemptions = []
    for decision in served.store.turn(approvals, served.clock.now()):
        assert isinstance(decision.reply, CodeIssued)
        code = in_query(decision.reply.redirect_to.reveal(), "code")
        redemptions.append(asks.redeem(credentials, Secret(code), redirect_uri=REDIRECT_URI))
    for decision in served.store.turn(redemptions, served.clock.now()):
        assert isinstance(decision.reply, TokensIssued)


async def test_many_sessions_of_one_client_hide_no_other_client(served: Served) -> None:
    """The list cuts the sessions of a client, but not the clients, and counts all sessions."""
    anna_id = await with_phone(served)
    quiet = await served.client("quiet", name="Quiet", autoApproveScopes=["user.read"])
    busy = await served.client("busy", name="Busy")
    anna = await sign_in(served)
    pair = (await anna.service("token", quiet, **exchange_of(await served.code(anna, "quiet")))).json()
    served.clock.wait(1)
    start_sessions(served, anna, busy, MANY)
    browser = await served.sign_in_browser("anna", PASSWORD)
    admin = await served.administrator()

    for found in (await grants(anna), await admin.succeed("GET", f"/api/iam/users/{anna_id}/grants")):
        assert [(one["clientId"], one["sessionCount"]) for one in found] == [("busy", MANY), ("quiet", 1)]
        assert len(found[0]["sessions"]) == 200
    shown = (await browser.get("/account/applications")).text
    assert re.search("<h2[^>]*>Quiet</h2>.*<dd>1</dd>", shown, re.DOTALL)
    assert f"<dd>{MANY}</dd>" in shown
    asked = await browser.get("/account/applications/quiet/withdraw")
    await browser.submit(asked, to="/account/applications/quiet/withdraw")
    assert not await anna.is_active(quiet, pair["access_token"])
    assert [one["clientId"] for one in await grants(anna)] == ["busy"]


async def test_every_running_session_of_an_account_is_on_one_of_its_pages(served: Served) -> None:
    await with_phone(served)
    client, anna = await served.client(), await sign_in(served)
    served.clock.wait(1)
    start_sessions(served, anna, client, MANY)
    served.clock.wait(1)
    browser = await served.sign_in_browser("anna", PASSWORD)
    found: set[str] = set()
    address: str | None = "/account/sessions"
    while address is not None:
        shown = (await browser.get(address)).text
        ends = set(re.findall("/account/sessions/([0-9a-f]{32})/end", shown))
        assert ends, "no page is empty"
        found |= ends
        following = re.search('<a rel="next" href="([^"]*)"', shown)
        address = following and following[1]
    assert len(found) == MANY + 1
