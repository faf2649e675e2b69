"""Means of a user who fears for the account: signing out elsewhere, the list of sign-ins, and notices."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from ostiary_core import Decision
from ostiary_core.events import AccountRequested, Event, PasswordChanged
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from tests.support.callers import REDIRECT_URI, Api, Browser, authorization, expect_refusal
from tests.support.people import (
    NEW_PHONE,
    PASSWORD,
    PHONE,
    code_for,
    holder_of,
    new_number,
    open_all,
    outbox,
    sign_in,
    with_phone,
)
from tests.support.served import Served, in_memory, serving
from tests.support.stores import PlainStore


async def test_the_page_signs_out_elsewhere_after_a_question(served: Served) -> None:
    """The page asks before it ends sessions; tests/web/test_endings.py lists all that ends."""
    await with_phone(served)
    anna = await open_all(served, await served.client())
    browser = await served.sign_in_browser("anna", PASSWORD)
    asked = await browser.get("/account/sessions/end-others")
    assert (await browser.submit(asked, to="/account/sessions/end-others")).status_code == 303
    assert (await browser.get("/account/sessions")).status_code == 200
    assert await anna.living() == set()


async def test_a_user_signs_another_browser_out_and_not_this_one(served: Served, anna: Api) -> None:
    there, here = [await served.sign_in_browser("anna", PASSWORD) for _ in range(2)]
    page = await here.get("/account/sessions")
    ends = re.findall('action="(/account/sessions/[0-9a-f]{32}/end)"', page.text)
    assert len(ends) == 2
    for end in ends:
        assert (await here.submit(page, to=end)).headers["location"].startswith("/account/sessions")
    assert (await there.get("/account")).headers["location"].startswith("/login")
    assert (await here.get("/account")).status_code == 200
    await anna.fail(401, "A1001", "GET", "/api/auth/me")


async def test_wrong_passwords_still_count_after_signing_out_elsewhere(served: Served, anna: Api) -> None:
    """Otherwise a thief with one session could guess the password for ever."""
    wrong = {"oldPassword": "not it", "newPassword": "another long one"}
    for _ in range(4):
        await anna.fail(422, "A1005", "PUT", "/api/auth/password", wrong)
        await anna.succeed("POST", "/api/auth/logout-elsewhere")
    await anna.fail(401, "A1001", "PUT", "/api/auth/password", wrong)


async def test_people_read_of_their_own_sign_ins_and_of_failed_ones(served: Served, anna: Api) -> None:
    stranger = served.api("198.51.100.7", **{"User-Agent": "curl/8"})
    for _ in range(51):
        await sign_in(served)
    served.clock.wait(60)
    await stranger.post("/api/auth/login", json={"username": "anna", "password": "guessed"})
    failed, own, *others = await anna.succeed("GET", "/api/auth/sign-ins")
    assert len(others) == 48
    at = {"at": "2027-01-15T08:01:00.123Z", "ip": "198.51.100.7", "userAgent": "curl/8"}
    assert failed == {**at, "succeeded": False}
    assert (own["at"], own["succeeded"]) == ("2027-01-15T08:00:00.123Z", True)
    await served.user("bert", "bert's password")
    await served.tokens(await served.client(), "bert", "bert's password")
    bert = await sign_in(served, "bert", "bert's password")
    assert len(await bert.succeed("GET", "/api/auth/sign-ins")) == 2, "the session of an application is none"
    browser = await served.sign_in_browser("anna", PASSWORD)
    page = await browser.get("/account/sessions")
    assert all(text in page.text for text in ("198.51.100.7", "Failed"))


def notices(served: Served) -> list[tuple[str, str]]:
    return [(each["phone"], each["purpose"]) for each in outbox(served) if each["code"] is None]


async def test_a_changed_password_sends_a_notice_to_the_users_telephone(served: Served, anna: Api) -> None:
    body = {"oldPassword": PASSWORD, "newPassword": "another long one"}
    await anna.succeed("PUT", "/api/auth/password", body)
    assert notices(served) == [(PHONE, "password-changed")]
    root, user_id = await served.administrator(), (await anna.succeed("GET", "/api/auth/me"))["id"]
    await anna.succeed("PUT", "/api/auth/locale", {"locale": "zh-CN"})
    reset, headers = {"password": "chosen by another"}, {"Accept-Language": "en"}
    await root.succeed("PUT", f"/api/iam/users/{user_id}/password", reset, headers=headers)
    assert notices(served) == [(PHONE, "password-changed")] * 2
    assert "您的账号 anna 的密码已被修改" in outbox(served)[-1]["text"]
    await served.user("bert", "bert's password")
    bert = await sign_in(served, "bert", "bert's password")
    await bert.succeed("PUT", "/api/auth/password", {**body, "oldPassword": "bert's password"})
    assert len(notices(served)) == 2, "who has no telephone is told nothing"


async def test_a_changed_number_sends_a_notice_to_the_old_one(served: Served, anna: Api) -> None:
    code = await code_for(served, NEW_PHONE, "change-phone", anna)
    await anna.succeed("PUT", "/api/auth/phone", new_number(code))
    assert notices(served) == [(PHONE, "phone-changed")]
    root, user_id = await served.administrator(), (await anna.succeed("GET", "/api/auth/me"))["id"]
    await root.succeed("PUT", f"/api/iam/users/{user_id}", {"phone": None})
    assert notices(served)[1:] == [(NEW_PHONE, "phone-changed")]
    assert NEW_PHONE not in json.dumps(outbox(served)[-1]["text"])


async def test_a_notice_that_cannot_be_written_fails_no_change(
    served: Served, anna: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(type(served.services.text_messages._delivery), "deliver", fail)
    body = {"oldPassword": PASSWORD, "newPassword": "another long one"}
    await anna.succeed("PUT", "/api/auth/password", body)
    await sign_in(served, "anna", "another long one")


class LeftStore(PlainStore):
    """A store whose caller breaks off while an event of a kind is decided."""

    kind: type[Event] = PasswordChanged
    leave: Callable[[], None]

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        self._leave_at(events)
        return super().turn(events, *more)

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        self._leave_at(events)
        return super().read(events, now)

    def _leave_at(self, events: Sequence[Event]) -> None:
        if any(isinstance(event, self.kind) for event in events):
            self.leave()


async def test_a_caller_who_breaks_off_amid_a_change_does_not_stop_its_notice(tmp_path: Path) -> None:
    store = LeftStore()
    async with serving(tmp_path, open_store=in_memory(store)) as served:
        await with_phone(served)
        anna, change = await sign_in(served), {"oldPassword": PASSWORD, "newPassword": "another long one"}
        with trio.CancelScope() as here:
            store.leave = here.cancel
            await anna.call("PUT", "/api/auth/password", change)
        assert here.cancelled_caught
        await sign_in(served, "anna", "another long one")
        assert notices(served) == [(PHONE, "password-changed")]


async def test_a_refused_administrator_who_breaks_off_is_in_the_trail(tmp_path: Path) -> None:
    store = LeftStore()
    async with serving(tmp_path, open_store=in_memory(store)) as served:
        clerk = await holder_of(served, Permission.USER_LIST)
        store.kind = AccountRequested
        with trio.CancelScope() as here:
            store.leave = here.cancel
            await clerk.call("GET", "/api/iam/roles")
        assert here.cancelled_caught
        store.leave = lambda: None
        root = await served.administrator()
        trail = await root.succeed("GET", "/api/audit/events", params={"kind": "administrator-refused"})
        assert trail["total"] == 1


@pytest.mark.parametrize(
    "changed", [{"client_id": "nobody"}, {"client_id": "console"}, {"redirect_uri": f"{REDIRECT_URI}/other"}]
)
async def test_wrong_parameters_show_no_application_name(served: Served, changed: dict[str, str]) -> None:
    await served.client(name="The App")
    browser = served.browser()
    led = await browser.get("/sso", params={**authorization("app"), **changed}, follow_redirects=True)
    assert led.url.path == "/login"
    assert "to continue to" not in led.text
    for odd in ("/sso?client_id=%ff&redirect_uri=%00", "/sso?" + "client_id=app&" * 300, "/sso"):
        assert (await browser.get(f"/login?next={odd}")).status_code == 200


async def test_the_page_refuses_a_too_large_photograph_in_words(served: Served, browser: Browser) -> None:
    account = await browser.get("/account")
    for length in (2 * 1024 * 1024 + 1, 6 * 1024 * 1024):
        photograph = {"file": ("photo.jpg", b"\xff\xd8\xff" + bytes(length))}
        answer = await browser.submit(account, to="/account/picture", files=photograph)
        assert answer.status_code == 413
        assert all(text in answer.text for text in ("make the picture smaller first", "/account/picture"))


# --- an administrator's own number, password and second factor


async def test_ones_own_proof_changes_on_ones_own_account_alone(served: Served, api: Api) -> None:
    """Otherwise a thief with a session sets another number, and recovers the password with it."""
    own = f"/api/iam/users/{(await api.succeed('GET', '/api/auth/me'))['id']}"
    record = await api.succeed("GET", own)
    before = served.records()
    refused = await api.fail(422, "B1003", "PUT", own, {"phone": NEW_PHONE})
    assert [fault["path"] for fault in refused["errors"]] == ["phone"]
    assert "under My account" in refused["msg"]
    await api.fail(422, "B1003", "PUT", f"{own}/password", {"password": "another password"})
    await api.fail(422, "B1003", "DELETE", f"{own}/second-factor")
    await api.fail(422, "B1003", "POST", f"{own}/unlock")
    row = [["username", "name", "phone"], ["admin", record["name"], NEW_PHONE]]
    expect_refusal(await api.import_sheet("/api/iam/users", row), 422, "B1003")
    assert served.records() == before
    await api.succeed("PUT", own, {**record, "name": "Root"})
    api.headers["Accept-Language"] = "zh-CN"
    assert "我的账号" in (await api.fail(422, "B1003", "POST", f"{own}/unlock"))["msg"]


async def test_the_page_of_oneself_leads_to_ones_own_account(browser: Browser) -> None:
    [own] = set(re.findall(r'"(/admin/people/[0-9a-f]{32})"', (await browser.get("/admin/people")).text))
    page, form = await browser.get(own), await browser.get(f"{own}/edit")
    for action in ("reset-password", "reset-second-factor", "unlock"):
        assert f"{own}/{action}" not in page.text
    assert '<a href="/account">Change your password, telephone number' in page.text
    assert 'name="name"' in form.text
    assert 'name="phone"' not in form.text
    assert (await browser.submit(form, {"name": "Root"}, to=f"{own}/edit")).status_code == 303
    refused = await browser.submit(await browser.get(f"{own}/edit"), {"phone": NEW_PHONE}, to=f"{own}/edit")
    assert (refused.status_code, "This is your own account." in refused.text) == (422, True)
