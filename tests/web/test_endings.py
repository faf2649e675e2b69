"""Endings of all that a user has open: they work at once and for good, and end nothing of other users.

The endpoints are called for each row of user-level endings in "Session and tokens".
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.rows import row
from tests.support.callers import Api, expect_refusal, expect_success
from tests.support.people import NEW_PHONE, PHONE, Open, code_for, new_number, open_all, sign_in, with_phone
from tests.support.served import Served
from tests.web.account.test_personal_tokens import is_accepted, program_with

USERS = "/api/iam/users"
NEW = "another password"
OTHER_PHONE = "+8613800000003"

Ending = Callable[[Served, Api, str, Open], Awaitable[Any]]
"""An act of an administrator or of the user, after which all that the user has open must end."""


def ending(act: Ending, *, proves: str = "", goes_on: bool = False, case: str = "") -> Any:
    """Return a case; `goes_on` says whether the session that acted stays open."""
    marks = [row("Session and tokens", proves)] if proves else []
    return pytest.param(act, goes_on, id=case or proves, marks=marks)


async def change_password(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    await anna.here.succeed("PUT", "/api/auth/password", {"oldPassword": "anna password", "newPassword": NEW})


async def change_phone(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    code = await code_for(served, NEW_PHONE, "change-phone", anna.here)
    await anna.here.succeed("PUT", "/api/auth/phone", new_number(code))


async def recover(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    code = await code_for(served, PHONE, "reset-password")
    body = {"phone": PHONE, "code": code, "newPassword": NEW}
    await served.api().succeed("POST", "/api/auth/reset-password", body)


async def enter_wrong_passwords(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    body = {"oldPassword": "wrong", "newPassword": NEW}
    for _ in range(4):
        await anna.here.fail(422, "A1005", "PUT", "/api/auth/password", body)
    await anna.here.fail(401, "A1001", "PUT", "/api/auth/password", body)


def by_administrator(method: str, path: str, body: object = None) -> Ending:
    async def act(served: Served, admin: Api, user_id: str, anna: Open) -> None:
        content = {"ids": [user_id]} if path.endswith("batch-delete") else body
        await admin.succeed(method, USERS + path.replace("ID", user_id), content)

    return act


async def change_phone_by_a_sheet(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    done = await admin.import_sheet(USERS, [["username", "phone"], ["anna", None]])
    assert expect_success(done) == {"created": 0, "updated": 1, "unchanged": 0, "hashesLeft": 0}


async def sign_out_elsewhere(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    await anna.here.succeed("POST", "/api/auth/logout-elsewhere")


async def force_out_everybody(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    await admin.succeed("POST", "/api/monitor/force-logout-all")


async def enter_recovery(served: Served, code: str) -> Any:
    body = {"phone": PHONE, "code": code, "newPassword": "a third password"}
    return await served.api().call("POST", "/api/auth/reset-password", body)


ENDINGS = [
    ending(change_password, proves="user changes password", goes_on=True),
    ending(change_phone, proves="user changes telephone number", goes_on=True),
    ending(recover, proves="password reset by text-message recovery"),
    ending(enter_wrong_passwords, proves="current password entered wrongly repeatedly"),
    ending(
        by_administrator("PUT", "/ID/password", {"password": NEW}), proves="password reset by administrator"
    ),
    ending(by_administrator("PUT", "/ID/enabled", {"enabled": False}), proves="user disabled"),
    ending(by_administrator("DELETE", "/ID"), proves="user deleted"),
    ending(by_administrator("POST", "/batch-delete"), proves="user deleted", case="deleted in a batch"),
    ending(by_administrator("POST", "/ID/force-logout"), proves="user force-logged-out by an administrator"),
    ending(
        by_administrator("PUT", "/ID", {"phone": "+8613900000000"}),
        proves="user changes telephone number",
        case="telephone by an administrator",
    ),
    ending(change_phone_by_a_sheet, proves="user changes telephone number", case="telephone by a sheet"),
    ending(sign_out_elsewhere, goes_on=True, case="signed out elsewhere"),
    ending(force_out_everybody, proves="user force-logged-out by an administrator", case="all forced out"),
]


@pytest.mark.parametrize("act, goes_on", ENDINGS)
async def test_everything_of_the_user_is_dead_at_once_and_nothing_else(
    served: Served, api: Api, act: Ending, goes_on: bool
) -> None:
    """Sessions, codes by text message and personal tokens end, and no change makes a code good again."""
    role = {"code": "reader", "name": "Reader", "permissions": ["oauth.client.list"]}
    await api.succeed("POST", "/api/iam/roles", role, status=201)
    anna_id = await with_phone(served, "anna", roleIds=["reader"])
    await with_phone(served, "bert", None)
    client, other_client = await served.client(), await served.client("other")
    anna, elsewhere = await open_all(served, client), await open_all(served, other_client)
    bert = await open_all(served, client, "bert")
    machine = (await api.service("token", client, grant_type="client_credentials")).json()
    program = await program_with(served, anna.here)
    assert await is_accepted(program)
    codes = {
        purpose: await code_for(served, phone, purpose, anna.here)
        for phone, purpose in ((PHONE, "reset-password"), (OTHER_PHONE, "change-phone"))
    }
    served.clock.wait(60)

    await act(served, api, anna_id, anna)

    await anna.assert_dead()
    await elsewhere.assert_dead()
    assert await anna.living() == ({"login here"} if goes_on else set())
    assert await elsewhere.living() == set()
    if act is not force_out_everybody:
        await bert.assert_all_alive()
        assert await api.is_active(client, machine["access_token"])
    assert not await is_accepted(program)
    for password in ("anna password", NEW) if goes_on else ():
        moved = new_number(codes["change-phone"], password, OTHER_PHONE)
        await anna.here.call("PUT", "/api/auth/phone", moved)
        assert (await anna.here.succeed("GET", "/api/auth/me"))["phone"] != OTHER_PHONE
    # The account gets back what it lost: it is enabled, and has the number that the code was sent to.
    admin = await served.administrator()
    if (await admin.call("GET", f"{USERS}/{anna_id}")).status_code == 200:
        await admin.succeed("PUT", f"{USERS}/{anna_id}/enabled", {"enabled": True})
        await admin.succeed("PUT", f"{USERS}/{anna_id}", {"phone": PHONE})
    expect_refusal(await enter_recovery(served, codes["reset-password"]), 422, "A1006")


async def test_what_was_refused_or_is_no_such_change_ends_nothing(served: Served, api: Api) -> None:
    anna_id = await with_phone(served, "anna")
    anna = await open_all(served, await served.client())
    path, wrong = f"{USERS}/{anna_id}", {"oldPassword": "wrong", "newPassword": NEW}
    await code_for(served, PHONE, "reset-password")
    recovery = {"phone": PHONE, "code": "wrong", "newPassword": NEW}
    for caller, method, where, body, status, code in (
        (api, "PUT", f"{path}/password", {"password": "short"}, 400, "A0401"),
        (api, "PUT", f"{path}/password", {"password": NEW, "made": "up"}, 400, "A0401"),
        (api, "PUT", f"{path}/enabled", {"enabled": "no"}, 400, "A0401"),
        (api, "PUT", path, {"phone": "+8613900000000", "name": ""}, 400, "A0401"),
        (api, "POST", f"{USERS}/batch-delete", {"ids": [anna_id, "x"]}, 404, "A0404"),
        (anna.here, "PUT", "/api/auth/password", wrong, 422, "A1005"),
        (anna.here, "PUT", "/api/auth/password", {**wrong, "newPassword": "short"}, 400, "A0401"),
        (anna.here, "PUT", "/api/auth/phone", new_number("000000"), 422, "A1006"),
        (anna.here, "POST", "/api/auth/reset-password", recovery, 422, "A1006"),
    ):
        await caller.fail(status, code, method, where, body)
    await api.succeed("PUT", path, {"username": "anne", "name": "Anne", "roleIds": []})
    await anna.here.succeed("PUT", "/api/auth/locale", {"locale": "zh-CN"})
    await anna.here.succeed("PUT", "/api/auth/timezone", {"timezone": "Asia/Tokyo"})
    await anna.assert_all_alive()


# --- codes and tokens end with the account or number that they were drawn for (READINGS 48)


async def test_a_code_opens_no_other_account_that_its_number_was_given_to(served: Served, api: Api) -> None:
    anna_id, bert_id = await with_phone(served, "anna"), await with_phone(served, "bert", None)
    code = await code_for(served, PHONE, "reset-password")
    for user_id, phone in ((anna_id, None), (bert_id, PHONE)):
        await api.succeed("PUT", f"{USERS}/{user_id}", {"phone": phone})
    expect_refusal(await enter_recovery(served, code), 422, "A1006")
    await served.api().sign_in("bert", "bert password")
    served.clock.wait(60)
    code = await code_for(served, PHONE, "reset-password")
    expect_success(await enter_recovery(served, code))
    await served.api().sign_in("bert", "a third password")


async def test_other_accounts_neither_use_nor_void_a_code_for_a_new_number(served: Served) -> None:
    for name in ("anna", "bert"):
        await with_phone(served, name, None)
    anna, bert = await sign_in(served, "anna"), await sign_in(served, "bert")
    code = await code_for(served, NEW_PHONE, "change-phone", anna)
    for entered in (code, *["000000"] * 5):
        await bert.fail(422, "A1006", "PUT", "/api/auth/phone", new_number(entered, "bert password"))
    await anna.succeed("PUT", "/api/auth/phone", new_number(code))
