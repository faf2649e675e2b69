"""What users do to their own account ends everything they have open, at once, for good, and nothing else.

"Session and tokens", the row of user-level endings, through the endpoints themselves.
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
from tests.web.envelopes import refused, succeeded
from tests.web.served import Served

Ending = Callable[[Served, Open], Awaitable[Any]]


async def change_password(served: Served, anna: Open) -> None:
    body = {"oldPassword": "anna password", "newPassword": "another password"}
    succeeded(await anna.here.call("PUT", "/api/auth/password", body))


async def change_phone(served: Served, anna: Open) -> None:
    code = await code_sent_to(served, NEW_PHONE, "change-phone", anna.here)
    succeeded(await anna.here.call("PUT", "/api/auth/phone", new_number(code)))


async def reset_password(served: Served, anna: Open) -> None:
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    body = {"phone": ANNAS_PHONE, "code": code, "newPassword": "another password"}
    succeeded(await served.api().call("POST", "/api/auth/reset-password", body))


async def enter_wrong_passwords(served: Served, anna: Open) -> None:
    body = {"oldPassword": "wrong", "newPassword": "another password"}
    for _ in range(4):
        refused(await anna.here.call("PUT", "/api/auth/password", body), 422, "A1005")
    refused(await anna.here.call("PUT", "/api/auth/password", body), 401, "A1001")


PASSWORD = pytest.param(
    change_password, True, id="password", marks=row("Session and tokens", "user changes password")
)
PHONE = pytest.param(
    change_phone, True, id="telephone", marks=row("Session and tokens", "user changes telephone number")
)
RESET = pytest.param(
    reset_password,
    False,
    id="reset by text message",
    marks=row("Session and tokens", "password reset by text-message recovery"),
)
WRONG = pytest.param(
    enter_wrong_passwords,
    False,
    id="repeated wrong password",
    marks=row("Session and tokens", "current password entered wrongly repeatedly"),
)
ENDINGS = pytest.mark.parametrize("ending, stays_here", [PASSWORD, PHONE, RESET, WRONG])


@ENDINGS
async def test_everything_of_the_user_is_dead_at_once_and_nothing_else(
    served: Served, ending: Ending, stays_here: bool
) -> None:
    await with_phone(served, "anna")
    await with_phone(served, "bert", None)
    client = await served.client()
    other_client = await served.client("other")
    anna = await everything_open(served, client)
    annas_elsewhere = await everything_open(served, other_client)
    bert = await everything_open(served, client, "bert")
    machine = (await anna.here.service("token", client, grant_type="client_credentials")).json()

    await ending(served, anna)

    await anna.assert_dead()
    await annas_elsewhere.assert_dead()
    assert ("login here" in await anna.living()) is stays_here
    assert await annas_elsewhere.living() == set()
    await bert.assert_all_alive()
    answer = await anna.here.service("introspect", client, token=machine["access_token"])
    assert answer.json()["active"]


async def test_a_refused_change_ends_nothing(served: Served) -> None:
    await with_phone(served, "anna")
    anna = await everything_open(served, await served.client())
    api = anna.here
    body = {"oldPassword": "wrong", "newPassword": "another password"}
    refused(await api.call("PUT", "/api/auth/password", body), 422, "A1005")
    refused(await api.call("PUT", "/api/auth/password", {**body, "newPassword": "short"}), 400, "A0401")
    refused(await api.call("PUT", "/api/auth/phone", new_number("000000")), 422, "A1006")
    await code_sent_to(served, ANNAS_PHONE, "reset-password")
    wrong = {"phone": ANNAS_PHONE, "code": "wrong", "newPassword": "another password"}
    refused(await api.call("POST", "/api/auth/reset-password", wrong), 422, "A1006")
    await anna.assert_all_alive()
