"""What administrators do ends everything it must, at once and for good, and nothing else; through the
endpoints themselves ("Session and tokens", the rows of user-level endings and of clients)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.rows import row
from tests.web.account.people import everything_open, with_phone
from tests.web.envelopes import refused, succeeded
from tests.web.resources.sheets import sheet_of
from tests.web.served import Api, Served, exchange_of

USERS = "/api/iam/users"
CLIENTS = "/api/oauth/clients"
TABLE = "Session and tokens"

Ending = Callable[[Api, str], Awaitable[Any]]


async def reset(admin: Api, user_id: str) -> None:
    body = {"password": "drawn by another"}
    assert succeeded(await admin.call("PUT", f"{USERS}/{user_id}/password", body)) is None


async def disable(admin: Api, user_id: str) -> None:
    shown = succeeded(await admin.call("PUT", f"{USERS}/{user_id}/enabled", {"enabled": False}))
    assert shown["enabled"] is False


async def delete(admin: Api, user_id: str) -> None:
    assert succeeded(await admin.call("DELETE", f"{USERS}/{user_id}")) is None


async def delete_in_a_batch(admin: Api, user_id: str) -> None:
    assert succeeded(await admin.call("POST", f"{USERS}/batch-delete", {"ids": [user_id]})) == {"deleted": 1}


async def force_out(admin: Api, user_id: str) -> None:
    assert succeeded(await admin.call("POST", f"{USERS}/{user_id}/force-logout")) is None


async def change_phone(admin: Api, user_id: str) -> None:
    succeeded(await admin.call("PUT", f"{USERS}/{user_id}", {"phone": "+8613900000000"}))


async def change_phone_by_a_sheet(admin: Api, user_id: str) -> None:
    file = sheet_of([["username", "phone"], ["anna", None]])
    done = await admin.call(
        "POST", f"{USERS}/import", files={"file": ("rows.xlsx", file)}, data={"mode": "upsert"}
    )
    assert succeeded(done) == {"created": 0, "updated": 1, "unchanged": 0}


def ending(deed: Ending, name: str, proves: str) -> Any:
    return pytest.param(deed, id=name, marks=row(TABLE, proves))


USER_ENDINGS = pytest.mark.parametrize(
    "deed",
    [
        ending(reset, "reset", "password reset by administrator"),
        ending(disable, "disabled", "user disabled"),
        ending(delete, "deleted", "user deleted"),
        ending(delete_in_a_batch, "deleted in a batch", "user deleted"),
        ending(force_out, "forced out", "user force-logged-out by an administrator"),
        ending(change_phone, "telephone", "user changes telephone number"),
        ending(change_phone_by_a_sheet, "telephone by a sheet", "user changes telephone number"),
    ],
)


# --- users


@USER_ENDINGS
async def test_everything_of_the_user_is_dead_at_once_and_nothing_else(served: Served, deed: Ending) -> None:
    anna_id = await with_phone(served, "anna")
    await with_phone(served, "bert", None)
    client, other_client = await served.client(), await served.client("other")
    anna, elsewhere = await everything_open(served, client), await everything_open(served, other_client)
    bert = await everything_open(served, client, "bert")
    machine = (await anna.here.service("token", client, grant_type="client_credentials")).json()

    await deed(await served.administrator(), anna_id)

    for opened in (anna, elsewhere):
        assert await opened.living() == set()
        await opened.assert_dead()
    await bert.assert_all_alive()
    answer = await bert.here.service("introspect", client, token=machine["access_token"])
    assert answer.json()["active"]


async def test_a_reset_password_must_be_changed_at_the_next_sign_in(served: Served) -> None:
    anna_id = await with_phone(served, "anna")
    admin = await served.administrator()
    await reset(admin, anna_id)
    old = {"username": "anna", "password": "anna password"}
    refused(await served.api().post("/api/auth/login", json=old), 401, "A1002")
    api = served.api()
    served.clock.wait(2)
    assert (await api.sign_in("anna", "drawn by another"))["mustChangePassword"] is True
    refused(await api.call("GET", "/api/auth/grants"), 403, "A1004")
    body = {"oldPassword": "drawn by another", "newPassword": "chosen by anna"}
    succeeded(await api.call("PUT", "/api/auth/password", body))
    succeeded(await api.call("GET", "/api/auth/grants"))


async def test_what_was_refused_ended_nothing(served: Served) -> None:
    anna_id = await with_phone(served, "anna")
    anna = await everything_open(served, await served.client())
    admin = await served.administrator()
    before = served.records()
    path = f"{USERS}/{anna_id}"
    refused(await admin.call("PUT", f"{path}/password", {"password": "short"}), 400, "A0401")
    refused(await admin.call("PUT", f"{path}/enabled", {"enabled": "no"}), 400, "A0401")
    refused(await admin.call("PUT", path, {"phone": "+8613900000000", "name": ""}), 400, "A0401")
    refused(await admin.call("POST", f"{USERS}/batch-delete", {"ids": [anna_id, "x"]}), 404, "A0404")
    assert served.records() == before
    await anna.assert_all_alive()


# --- clients


async def disable_client(admin: Api, client_id: str) -> None:
    shown = succeeded(await admin.call("PUT", f"{CLIENTS}/{client_id}/enabled", {"enabled": False}))
    assert shown["enabled"] is False


async def delete_client(admin: Api, client_id: str) -> None:
    assert succeeded(await admin.call("DELETE", f"{CLIENTS}/{client_id}")) is None


CLIENT_ENDINGS = pytest.mark.parametrize(
    "deed",
    [
        ending(disable_client, "disabled", "client disabled"),
        ending(delete_client, "deleted", "client deleted"),
    ],
)


@CLIENT_ENDINGS
async def test_all_sessions_of_the_client_end_and_it_cannot_authenticate(
    served: Served, deed: Ending
) -> None:
    await with_phone(served, "anna")
    client, other_client = await served.client(), await served.client("other")
    anna = await everything_open(served, client)
    elsewhere = await everything_open(served, other_client)
    admin = await served.administrator()
    await deed(admin, client.client_id)

    before = served.records()
    api = served.api()
    for operation, form in (
        ("introspect", {"token": anna.fresh["access_token"]}),
        ("revoke", {"token": anna.fresh["access_token"]}),
        ("token", {"grant_type": "refresh_token", "refresh_token": anna.fresh["refresh_token"]}),
        ("token", exchange_of(anna.code)),
        ("token", {"grant_type": "client_credentials"}),
    ):
        answer = await api.service(operation, client, **form)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    for pair in (anna.rotated, anna.fresh):
        refused(await api.call("GET", "/api/oauth2/userinfo", token=pair["access_token"]), 401, "A1001")
    assert served.records() == before
    # The user's own login sessions, and what they have open elsewhere, are none of the client's.
    succeeded(await anna.here.call("GET", "/api/auth/me"))
    await elsewhere.assert_all_alive()
