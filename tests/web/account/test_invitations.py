"""Invitations over the interface and on pages: a link is shown once, used once, and in no log or store."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from ostiary_core.events import BatchRequested, Event, InvitationMade
from ostiary_core.model.instant import iso_time, later
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.records import Table
from ostiary_core.storage.json_codec import to_text
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.application.resources.import_rows import MOST_HASHED_IN_A_REQUEST
from ostiary_web.server.app_services import attach_services
from tests.support.callers import BASE, Api, expect_refusal, expect_success
from tests.support.files import SHEET, sheet_of
from tests.support.people import PHONE, holder_of, outbox, sign_in, with_phone
from tests.support.served import Served, serving
from tests.web.attacks.test_enumeration import watch_costs
from tests.web.audit.test_refused_administrators import details_of, refusals

ACCEPT = "/api/auth/invitation"
GATEWAY = "https://messages.example/send"
LINK = re.compile(r"http\S+/invitation#([0-9a-f]{32}\.[A-Za-z0-9]{43})")


async def invite(served: Served, user_id: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    root = await served.administrator()
    path = f"/api/iam/users/{user_id}/invitation"
    made: dict[str, Any] = await root.succeed("POST", path, body, status=201)
    return made


def token_in(text: str) -> str:
    [token] = LINK.findall(text)
    return str(token)


async def refuse(served: Served, token: str, status: int = 401, code: str = "A1002") -> None:
    await served.api().fail(status, code, "POST", ACCEPT, acceptance(token))


def acceptance(token: str, password: str = "chosen by anna") -> dict[str, str]:
    return {"token": token, "newPassword": password}


def entries(invitation: str, password: str = "chosen by anna") -> dict[str, str]:
    """Return the fields of the page of an invitation."""
    return {"invitation": invitation, "new_password": password}


@contextmanager
def with_gateway(served: Served) -> Iterator[None]:
    """Set the address of a gateway, while messages still go to the outbox."""
    services = served.services
    named = replace(services, settings=replace(services.settings, sms_gateway_url=GATEWAY))
    attach_services(served.application.quart, named)
    try:
        yield
    finally:
        attach_services(served.application.quart, services)


async def test_a_link_sets_the_password_once(served: Served) -> None:
    made = await invite(served, await served.user("anna", "anna password", mustChangePassword=True))
    assert made["expiresAt"] == iso_time(later(served.clock.now(), 72 * 60 * 60))
    assert made["sent"] is False
    token = token_in(made["url"])
    await served.api().succeed("POST", ACCEPT, acceptance(token))
    await refuse(served, token)
    assert (await sign_in(served, password="chosen by anna")).token


async def test_with_a_gateway_only_the_telephone_is_sent_the_link(served: Served) -> None:
    user_id = await with_phone(served, locale="en-US", timezone="America/Lima")
    unreachable = await served.user("bob", "bob password")
    assert (await invite(served, user_id, {"send": True}))["url"], "there is no gateway"
    with with_gateway(served):
        assert (await invite(served, unreachable, {"send": True}))["url"], "there is no number"
        assert (await invite(served, user_id))["url"], "it was not to be sent"
        made = await invite(served, user_id, {"send": True})
    assert (made["url"], made["sent"]) == (None, True)
    message = outbox(served)[-1]
    assert (message["phone"], message["purpose"], message["code"]) == (PHONE, "invitation", None)
    assert "(America/Lima)" in message["text"]
    await served.api().succeed("POST", ACCEPT, acceptance(token_in(message["text"])))


async def test_several_are_invited_in_a_batch_or_not_at_all(served: Served) -> None:
    root, place = await served.administrator(), "/api/iam/users/batch-invitation"
    anna, bert = await with_phone(served), await served.user("bert", "bert password")
    own = (await root.succeed("GET", "/api/auth/me"))["id"]
    for status, code, content, path in (
        (422, "B1003", {"ids": [anna, own]}, "ids.1"),
        (400, "A0401", {"ids": [f"{each}" for each in range(1_001)]}, "ids"),
    ):
        refused = await root.fail(status, code, "POST", place, content)
        assert [error["path"] for error in refused["errors"]] == [path]
    assert not served.records()[Table.INVITATION]
    with with_gateway(served):
        [unsent] = await root.succeed("POST", place, {"ids": [anna]}, status=201)
        assert unsent["url"]
        made = await root.succeed("POST", place, {"ids": [anna, bert], "send": True}, status=201)
    until = iso_time(later(served.clock.now(), 72 * 60 * 60))
    token = token_in(made[1]["url"])
    link = f"{BASE}/invitation#{token}"
    assert made == [
        {"id": anna, "username": "anna", "url": None, "expiresAt": until, "sent": True},
        {"id": bert, "username": "bert", "url": link, "expiresAt": until, "sent": False},
    ]
    for each, name in ((token_in(outbox(served)[-1]["text"]), "anna"), (token, "bert")):
        await served.api().succeed("POST", ACCEPT, acceptance(each, f"chosen by {name}"))
        await sign_in(served, name, f"chosen by {name}")


async def test_a_token_that_is_not_good_costs_no_hash(served: Served) -> None:
    user_id = await served.user("anna", "anna password")
    used, good = [token_in((await invite(served, user_id))["url"]) for _ in range(2)]
    browser = served.browser()
    page = await browser.get("/invitation")
    for token in ("x.y", f"{user_id}.{'x' * 43}", f"{'0' * 32}.{'x' * 43}", used):
        with watch_costs(served) as work:
            await refuse(served, token)
            await browser.submit(page, entries(token), to="/invitation")
        assert work == ["InvitationPresented"] * 2
    with watch_costs(served) as work:
        await served.api().succeed("POST", ACCEPT, acceptance(good))
    assert work == ["InvitationPresented", "hash", "InvitationAccepted"]


async def test_attempts_are_counted_by_address(served: Served) -> None:
    for _ in range(20):
        await refuse(served, "x.y")
    await refuse(served, "x.y", 429, "A0429")


async def test_the_token_is_in_no_log_no_entry_and_no_record(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with serving(tmp_path) as served:
            user_id = await served.user("anna", "anna password")
            first = token_in((await invite(served, user_id))["url"])
            token = token_in((await invite(served, user_id))["url"])
            stored = [to_text(record) for records in served.records().values() for record in records]
            assert served.records()[Table.INVITATION]
            await refuse(served, first)
            browser = served.browser()
            await browser.submit(await browser.get("/invitation"), entries(token), to="/invitation")
            trail = served.store.audit()
            metrics = served.services.service.metrics.write_exposition()
    shown = f"{logs} {stored} {trail} {metrics}"
    assert "invitation-made" in shown
    for secret in (first, token):
        assert secret not in shown
        assert secret.partition(".")[2] not in shown
    assert "chosen by anna" not in shown


# --- the pages


async def test_an_administrator_copies_the_link_from_the_page_and_it_is_shown_once(served: Served) -> None:
    user_id = await served.user("anna", "anna password")
    administrator = await served.sign_in_browser()
    person = await administrator.get(f"/admin/people/{user_id}")
    assert f"/admin/people/{user_id}/invite" in person.text
    question = await administrator.get(f"/admin/people/{user_id}/invite")
    assert "by_text_message" not in question.text, "there is neither a number nor a gateway"
    made = await administrator.submit(question, {}, to=f"/admin/people/{user_id}/invite")
    shown = await administrator.follow(made)
    token = token_in(unescape(shown.text))
    assert (shown.headers["Cache-Control"], shown.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert token not in str(dict(administrator.cookies))
    again = await administrator.get("/admin/people/invitations")
    assert (again.status_code, again.headers["location"]) == (303, "/admin/people"), "once"
    person = await administrator.get(f"/admin/people/{user_id}")
    assert token not in person.text
    assert "Invitation good until" in person.text

    anna = served.browser()
    page = await anna.get("/invitation")
    short = await anna.submit(page, entries(token, "short"), to="/invitation")
    assert short.status_code == 400
    assert f'value="{token}"' in short.text, "what was entered stays"
    done = await anna.submit(page, entries(f" http://x/invitation#{token} "), to="/invitation")
    assert (done.status_code, done.headers["Location"]) == (303, "/login?recovered=1&next=/")
    assert (await anna.get("/account")).status_code == 303, "nobody is signed in by it"
    await anna.sign_in("anna", "chosen by anna")
    again = await anna.submit(await anna.get("/invitation"), entries(token, "another one"), to="/invitation")
    assert again.status_code == 401


async def test_an_import_says_who_cannot_sign_in_yet_and_invites_them_all(served: Served) -> None:
    headings = ["username", "name", "password"]
    rows = [headings, ["anna", "Anna", ""], ["bob", "Bob", "bob password"], ["cy", "Cy", ""]]
    root, administrator = await served.administrator(), await served.sign_in_browser()
    previewed = await root.import_sheet("/api/iam/users", rows, preview="true")
    assert previewed.json()["data"]["cannotSignIn"] == 2
    assert len((await root.import_sheet("/api/iam/users", rows)).json()["data"]["cannotSignIn"]) == 2
    again = expect_success(await root.import_sheet("/api/iam/users", rows[:2]))
    assert "cannotSignIn" not in again, "nobody is new"
    page = await administrator.get("/admin/people/import")
    file = ("rows.xlsx", sheet_of([rows[0], ["dora", "Dora", ""], ["eve", "Eve", ""]]))
    place, files = "/admin/people/import", {"file": file}
    done = await administrator.submit(page, {"mode": "insert"}, to=place, files=files)
    assert "2 new users have no password and cannot sign in yet." in done.text
    shown = await administrator.follow(await administrator.submit(done, {}, to="/admin/people/invitations"))
    tokens = [*dict.fromkeys(LINK.findall(unescape(shown.text)))]
    assert len(tokens) == 2
    for name, token in zip(("dora", "eve"), tokens, strict=True):
        await served.api().succeed("POST", ACCEPT, acceptance(token, f"chosen by {name}"))
        await sign_in(served, name, f"chosen by {name}")


# --- an import that invites

NEW = [
    ["username", "name", "phone", "password"],
    ["anna", "Anna", PHONE, ""],
    ["bob", "Bob", "", "bob password"],
    ["cy", "Cy", "", ""],
]
INVITING = {"invite": "true", "send": "true"}
USERS = "/api/iam/users"


async def bring(api: Api, rows: Sequence[Sequence[str]], path: str = USERS, **options: str) -> httpx.Response:
    """Import a sheet with these rows and options, and return the answer."""
    file = ("rows.xlsx", sheet_of(rows), SHEET)
    return await api.call("POST", f"{path}/import", files={"file": file}, data={"mode": "upsert", **options})


async def test_an_import_invites_its_new_users_without_a_password(served: Served, api: Api) -> None:
    with with_gateway(served):
        done = expect_success(await bring(api, NEW, **INVITING))
    sent, shown = done["invitations"]
    assert [sent["id"], shown["id"]] == done["cannotSignIn"]
    assert (sent["username"], sent["url"], sent["sent"]) == ("anna", None, True)
    assert (shown["username"], shown["sent"]) == ("cy", False)
    for name, text in (("anna", outbox(served)[-1]["text"]), ("cy", shown["url"])):
        await served.api().succeed("POST", ACCEPT, acceptance(token_in(text), f"chosen by {name}"))
        await sign_in(served, name, f"chosen by {name}")
    assert "invitations" not in expect_success(await bring(api, NEW[:2], **INVITING)), "nobody is new"


async def test_an_import_invites_no_user_unasked_or_in_a_preview(served: Served, api: Api) -> None:
    assert expect_success(await bring(api, NEW, **INVITING, preview="true"))["cannotSignIn"] == 2
    for row, options in zip(NEW[1:], ({}, {"send": "true"}, {"invite": "false"}), strict=True):
        assert "invitations" not in expect_success(await bring(api, [NEW[0], row], **options))
    refused = expect_refusal(await bring(api, NEW, invite="yes", send="1"), 400, "A0401")
    assert [error["path"] for error in refused["errors"]] == ["invite", "send"]
    roles = [["code", "name"], ["clerk", "Clerk"]]
    assert expect_success(await bring(api, roles, "/api/iam/roles", **INVITING))["created"] == 1
    assert not served.records()[Table.INVITATION]


async def test_an_import_that_may_not_invite_is_refused_before_it_is_read(served: Served) -> None:
    async def refused(api: Api, code: str) -> None:
        with watch_costs(served) as work:
            expect_refusal(await bring(api, NEW, **INVITING), 403, code)
        assert "hash" not in work
        assert "BatchRequested" not in work

    await refused(await holder_of(served, Permission.USER_CREATE, username="creator"), "A0403")
    [entry] = await refusals(await served.administrator())
    assert details_of(entry) == {"permission": "iam.user.update", "times": 1}
    helper = await holder_of(served, Permission.USER_CREATE, Permission.USER_UPDATE, username="helper")
    tokens = []
    for powers in ([], [TokenPower.CREDENTIALS]):
        chosen = [Permission.USER_CREATE, Permission.USER_UPDATE, *powers]
        new = {"name": f"robot {len(powers)}", "permissions": chosen, "expiresInDays": 1}
        tokens.append((await helper.succeed("POST", "/api/auth/tokens", new, status=201))["token"])
    served.clock.wait(1_000)
    await refused(helper, "A1010")
    weak, able = served.api(), served.api()
    weak.token, able.token = tokens
    await refused(weak, "A0403")
    assert len(expect_success(await bring(able, NEW, **INVITING))["invitations"]) == 2


async def test_an_import_that_goes_on_after_its_request_is_refused_with_invitations(api: Api) -> None:
    rows = [NEW[0], *([f"u{each}", "U", "", "x password"] for each in range(MOST_HASHED_IN_A_REQUEST + 1))]
    refused = expect_refusal(await bring(api, rows, **INVITING), 400, "A0401")
    assert [error["path"] for error in refused["errors"]] == ["invite"]
    assert (await api.succeed("GET", USERS))["total"] == 1


@pytest.mark.parametrize("is_refused", [False, True])
async def test_an_import_outlives_failed_invitations(
    served: Served, monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    root, decide = await served.administrator(), served.service.turns.decide

    async def fail_second(event: Event, *given: Any, **named: Any) -> Any:
        if isinstance(event, BatchRequested) and isinstance(event.events[0], InvitationMade):
            if not is_refused:
                raise TurnFailed
            event = replace(event, events=(replace(event.events[0], user_id="gone"),))
        return await decide(event, *given, **named)

    monkeypatch.setattr(served.service.turns, "decide", fail_second)
    done = expect_success(await bring(root, NEW, **INVITING))
    assert (done["created"], len(done["cannotSignIn"]), "invitations" in done) == (3, 2, False)
