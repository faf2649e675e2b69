"""What ends everything of a user ends it at once, for good, and nothing else.

"Session and tokens", the rows of user-level endings, through the endpoints themselves.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.rows import row
from tests.web.account.people import (
    ANNAS_PHONE,
    NEW_PHONE,
    Open,
    code_sent_to,
    everything_open,
    new_number,
    with_phone,
)
from tests.web.callers import Api
from tests.web.envelopes import refused, succeeded
from tests.web.resources.sheets import sheet_of
from tests.web.served import Served

USERS = "/api/iam/users"
NEW = "another password"

Ending = Callable[[Served, Api, str, Open], Awaitable[Any]]
"""What an administrator does to a user, or what that user does."""


def ending(act: Ending, *, proves: str, goes_on: bool = False, case: str = "") -> Any:
    """`goes_on` is whether the session in which it was done does."""
    return pytest.param(act, goes_on, id=case or proves, marks=row("Session and tokens", proves))


async def change_password(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    body = {"oldPassword": "anna password", "newPassword": NEW}
    succeeded(await anna.here.call("PUT", "/api/auth/password", body))


async def change_phone(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    code = await code_sent_to(served, NEW_PHONE, "change-phone", anna.here)
    succeeded(await anna.here.call("PUT", "/api/auth/phone", new_number(code)))


async def recover(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    body = {"phone": ANNAS_PHONE, "code": code, "newPassword": NEW}
    succeeded(await served.api().call("POST", "/api/auth/reset-password", body))


async def enter_wrong_passwords(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    body = {"oldPassword": "wrong", "newPassword": NEW}
    for _ in range(4):
        refused(await anna.here.call("PUT", "/api/auth/password", body), 422, "A1005")
    refused(await anna.here.call("PUT", "/api/auth/password", body), 401, "A1001")


def by_administrator(method: str, path: str, body: object = None) -> Ending:
    async def act(served: Served, admin: Api, user_id: str, anna: Open) -> None:
        content = {"ids": [user_id]} if path.endswith("batch-delete") else body
        succeeded(await admin.call(method, USERS + path.replace("ID", user_id), content))

    return act


async def change_phone_by_a_sheet(served: Served, admin: Api, user_id: str, anna: Open) -> None:
    file = ("rows.xlsx", sheet_of([["username", "phone"], ["anna", None]]))
    done = await admin.call("POST", f"{USERS}/import", files={"file": file}, data={"mode": "upsert"})
    assert succeeded(done) == {"created": 0, "updated": 1, "unchanged": 0}


@pytest.mark.parametrize(
    "act, goes_on",
    [
        ending(change_password, proves="user changes password", goes_on=True),
        ending(change_phone, proves="user changes telephone number", goes_on=True),
        ending(recover, proves="password reset by text-message recovery"),
        ending(enter_wrong_passwords, proves="current password entered wrongly repeatedly"),
        ending(
            by_administrator("PUT", "/ID/password", {"password": NEW}),
            proves="password reset by administrator",
        ),
        ending(by_administrator("PUT", "/ID/enabled", {"enabled": False}), proves="user disabled"),
        ending(by_administrator("DELETE", "/ID"), proves="user deleted"),
        ending(by_administrator("POST", "/batch-delete"), proves="user deleted", case="deleted in a batch"),
        ending(
            by_administrator("POST", "/ID/force-logout"), proves="user force-logged-out by an administrator"
        ),
        ending(
            by_administrator("PUT", "/ID", {"phone": "+8613900000000"}),
            proves="user changes telephone number",
            case="telephone by an administrator",
        ),
        ending(change_phone_by_a_sheet, proves="user changes telephone number", case="telephone by a sheet"),
    ],
)
async def test_everything_of_the_user_is_dead_at_once_and_nothing_else(
    served: Served, api: Api, act: Ending, goes_on: bool
) -> None:
    anna_id = await with_phone(served, "anna")
    await with_phone(served, "bert", None)
    client, other_client = await served.client(), await served.client("other")
    anna, elsewhere = await everything_open(served, client), await everything_open(served, other_client)
    bert = await everything_open(served, client, "bert")
    machine = (await api.service("token", client, grant_type="client_credentials")).json()

    await act(served, api, anna_id, anna)

    await anna.assert_dead()
    await elsewhere.assert_dead()
    assert await anna.living() == ({"login here"} if goes_on else set())
    assert await elsewhere.living() == set()
    await bert.assert_all_alive()
    assert await api.is_active(client, machine["access_token"])


async def test_what_was_refused_or_is_no_such_change_ends_nothing(served: Served, api: Api) -> None:
    anna_id = await with_phone(served, "anna")
    anna = await everything_open(served, await served.client())
    path, wrong = f"{USERS}/{anna_id}", {"oldPassword": "wrong", "newPassword": NEW}
    await code_sent_to(served, ANNAS_PHONE, "reset-password")
    recovery = {"phone": ANNAS_PHONE, "code": "wrong", "newPassword": NEW}
    for caller, method, where, body, status, code in (
        (api, "PUT", f"{path}/password", {"password": "short"}, 400, "A0401"),
        (api, "PUT", f"{path}/enabled", {"enabled": "no"}, 400, "A0401"),
        (api, "PUT", path, {"phone": "+8613900000000", "name": ""}, 400, "A0401"),
        (api, "POST", f"{USERS}/batch-delete", {"ids": [anna_id, "x"]}, 404, "A0404"),
        (anna.here, "PUT", "/api/auth/password", wrong, 422, "A1005"),
        (anna.here, "PUT", "/api/auth/password", {**wrong, "newPassword": "short"}, 400, "A0401"),
        (anna.here, "PUT", "/api/auth/phone", new_number("000000"), 422, "A1006"),
        (anna.here, "POST", "/api/auth/reset-password", recovery, 422, "A1006"),
    ):
        refused(await caller.call(method, where, body), status, code)
    succeeded(await api.call("PUT", path, {"username": "anne", "name": "Anne", "roleIds": []}))
    succeeded(await anna.here.call("PUT", "/api/auth/locale", {"locale": "zh-CN"}))
    succeeded(await anna.here.call("PUT", "/api/auth/timezone", {"timezone": "Asia/Tokyo"}))
    await anna.assert_all_alive()
