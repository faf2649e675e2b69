"""The page of the audit trail, as an administrator reads it."""

import re
from html import unescape

import pytest

from ostiary_core.events import RecordExpired
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Key, Table
from tests.support.callers import Browser, Registered
from tests.support.people import HOLDERS_PASSWORD, holder_of
from tests.support.served import Served


async def refresh(served: Served, client: Registered, token: str, agent: str = "app/1") -> str:
    """Refresh a pair; return the next refresh token, or an empty text if the server refused."""
    answer = await served.api(**{"User-Agent": agent}).refresh(client, token)
    return str(answer.json().get("refresh_token", ""))


async def test_each_replay_that_ended_a_session_has_its_words(served: Served, browser: Browser) -> None:
    app = await served.client()
    await served.user("anna")
    pairs = [await served.tokens(app, "anna", "anna's password") for _ in range(3)]
    late, other, older = (pair["refresh_token"] for pair in pairs)
    for token in (late, other):
        await refresh(served, app, token)
    await refresh(served, app, await refresh(served, app, older))
    assert not await refresh(served, app, other, "thief/1")
    assert not await refresh(served, app, older)
    served.clock.wait(3600)
    assert not await refresh(served, app, late)

    page = unescape((await browser.get("/admin/audit?kind=session-ended")).text)

    for text in (
        "A used refresh token came again, too late for a safe retry.",
        "A used refresh token came again, with a different User-Agent.",
        "A refresh token that was used before the last refresh came again.",
    ):
        assert page.count(text) == 1, text


@pytest.mark.parametrize("sees_machines", [False, True])
async def test_every_link_to_a_life_leads_there(served: Served, sees_machines: bool) -> None:
    """Sessions of no user are for super administrators, the others for all who may read the trail."""
    app = await served.client()
    await served.user("anna")
    tokens = await served.tokens(app, "anna", "anna's password")
    await refresh(served, app, await refresh(served, app, tokens["refresh_token"]))
    machine = await served.api().service("token", app, grant_type="client_credentials")
    await served.api().service("revoke", app, token=machine.json()["access_token"])
    await holder_of(served, Permission.AUDIT_READ)
    browser = await served.sign_in_browser(*([] if sees_machines else ["holder", HOLDERS_PASSWORD]))

    page = await browser.get("/admin/audit?clientId=app")

    lives = re.findall(r'href="(/admin/audit/sessions/[0-9a-f]+)[?"]', page.text)
    assert [(await browser.get(life)).status_code for life in lives] == [200] * len(lives)
    assert len(set(lives)) == (2 if sees_machines else 1)
    [of_a_machine] = {entry.session_id for entry in served.audit() if entry.session_id and not entry.user_id}
    hidden = await browser.get(f"/admin/audit/sessions/{of_a_machine}")
    assert hidden.status_code == (200 if sees_machines else 404)


async def test_people_are_named_and_found_by_their_names(served: Served, browser: Browser) -> None:
    anna = await served.user("anna")
    for name in ("ann", "bob"):
        await served.user(name)
    await served.client()

    async def named(label: str, **asked: str) -> list[str]:
        page = await browser.get("/admin/audit", params=asked)
        assert page.status_code == 200
        assert f'name="userId" value="{asked.get("userId", "")}"' in page.text
        shown = re.findall(f'data-label="{label}".*?</td>', page.text, re.DOTALL)
        return sorted(name for cell in shown for name in re.findall(r"<div>\s*(.*?)\s*</div>", cell))

    registered = {"kind": "user-registered"}
    assert await named("About", userId="anna", **registered) == ["anna"]
    assert await named("About", userId="ANN", **registered) == ["ann"]
    assert await named("About", userId="an", **registered) == ["ann", "anna"]
    assert await named("About", userId=anna, **registered) == ["anna"]
    assert await named("About", userId="nobody", **registered) == []
    assert await named("Done by", kind="client-registered") == ["admin"]
    assert (await browser.get("/admin/audit?userId=a%00b")).status_code == 400


async def test_a_filter_that_several_users_match_says_whom_it_means(served: Served, browser: Browser) -> None:
    for number in range(10):
        await served.user(f"clerk{number}")
    await served.user("anna")
    await served.client()

    few = unescape((await browser.get("/admin/audit?actorId=n")).text)
    many = unescape((await browser.get("/admin/audit?userId=clerk")).text)
    one = unescape((await browser.get("/admin/audit?actorId=admin")).text)

    assert "Done by: “n” is in the names of 2 users, and any of them counts: admin, anna." in few
    assert few.count('data-label="Kind"') == 1
    assert "User: “clerk” is in the names of 10 users, and any of them counts: clerk0, clerk1," in many
    assert "clerk7, and 2 more." in many
    assert "any of them counts" not in one


async def test_entries_show_a_session_whose_record_was_erased(served: Served, browser: Browser) -> None:
    app = await served.client()
    await served.user("anna")
    tokens = await served.tokens(app, "anna", "anna's password")
    await served.api().service("revoke", app, token=tokens["access_token"])
    listed = await browser.get("/admin/audit?kind=session-ended")
    (life,) = set(re.findall(r'href="(/admin/audit/sessions/[0-9a-f]+)[?"]', listed.text))
    assert (await browser.get(life)).status_code == 200
    served.clock.wait(400 * 86_400)
    await served.decide(RecordExpired(key=Key(Table.SESSION, life.rpartition("/")[2])))
    await browser.sign_in()

    page = await browser.follow(await browser.get(life))
    assert "The record of this session was erased" in unescape(page.text)
    assert page.text.count('data-label="Kind"') == 3  # it started, its code was used, it ended
    assert (await browser.get(f"/admin/audit/sessions/{'0' * 32}")).status_code == 404
    assert (await browser.get("/admin/audit/sessions/a%00b")).status_code == 404
