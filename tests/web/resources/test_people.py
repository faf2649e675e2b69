"""Users and roles have more than other records: passwords, reach, and a last administrator who must stay."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from ostiary_core.events import Operator, RoleRegistered, UserRequested
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_web.application.resources.users import make_role_change
from tests.rows import row
from tests.support.callers import Api, expect_refusal, expect_success, fields_of
from tests.support.people import holder_of
from tests.support.served import Served

USERS = "/api/iam/users"
ROLES = "/api/iam/roles"
NEW = {"username": "anna", "name": "Anna", "password": "a good password"}


async def id_of(api: Api) -> str:
    return str((await api.succeed("GET", "/api/auth/me"))["id"])


# --- users


async def test_a_password_is_in_no_log_answer_or_record(served: Served, api: Api) -> None:
    with capture_logs() as logs:
        made = await api.call("POST", USERS, NEW)
        user_id = made.json()["data"]["id"]
        reset = await api.call("PUT", f"{USERS}/{user_id}/password", {"password": "another good one"})
        await api.call("PUT", f"{USERS}/{user_id}", {"password": "a third good one"})
    written = repr((logs, made.text, reset.text, served.records(), served.audit()))
    for secret in ("a good password", "another good one", "a third good one", "$argon2"):
        assert secret not in written


async def test_one_administrator_of_a_batch_stays_and_the_caller_goes_last(served: Served, api: Api) -> None:
    """One user must keep every permission. Each part of a batch that takes it is refused (READINGS 51)."""
    own = await id_of(api)
    second = (await api.succeed("POST", USERS, {**NEW, "roleIds": ["super_admin"]}, status=201))["id"]
    failure = await api.fail(422, "B1001", "POST", f"{USERS}/batch-delete", {"ids": [own, second]})
    assert sorted(fields_of(failure)) == ["ids.0", "ids.1"]
    ids = {"ids": [own, await served.user("ben"), await served.user("carl")]}
    assert await api.succeed("POST", f"{USERS}/batch-delete", ids) == {"deleted": 3}
    await api.fail(401, "A1001", "GET", USERS)


_OF_ANOTHER: tuple[tuple[str, str, Any], ...] = (
    ("PUT", "", {"name": "Another"}),
    ("PUT", "", {"roleIds": ["role-of-above", "role-of-holder", "role-of-small"]}),
    ("PUT", "", {"roleIds": ["role-of-above"]}),
    ("PUT", "/enabled", {"enabled": False}),
    ("PUT", "/password", {"password": "now it is mine"}),
    ("POST", "/force-logout", None),
    ("DELETE", "/grants/app", None),
    ("DELETE", "", None),
    ("POST", "batch-delete", None),
    ("POST", "import", [["username", "name"], ["above", "Another"]]),
    ("POST", "import", [["username", "roleIds"], ["above", "role-of-above"]]),
)
"""Every action on an account."""


@pytest.mark.parametrize("method, path, body", _OF_ANOTHER, ids=[f"{one[1]} {one[2]}" for one in _OF_ANOTHER])
async def test_a_deputy_reaches_no_account_above(served: Served, method: str, path: str, body: Any) -> None:
    """READINGS 40. An administrator who holds the same permissions may do all of it."""
    people = (Permission.USER_CREATE, Permission.USER_UPDATE, Permission.USER_DELETE)
    deputy = await holder_of(served, *people)
    equal = await holder_of(served, *people, Permission.AUDIT_READ, username="equal")
    above = await holder_of(served, Permission.AUDIT_READ, username="above")
    await holder_of(served, username="small")
    admin = await served.administrator()
    await served.tokens(await served.client(), "above", "the holder's")
    user_id = await id_of(above)
    await admin.succeed("PUT", f"{USERS}/{user_id}", {"roleIds": ["role-of-above", "role-of-holder"]})

    async def ask(api: Api) -> httpx.Response:
        if path == "batch-delete":
            return await api.call(method, f"{USERS}/{path}", {"ids": [user_id]})
        if path == "import":
            return await api.import_sheet(USERS, body)
        return await api.call(method, f"{USERS}/{user_id}{path}", body)

    before = served.records()
    expect_refusal(await ask(deputy), 403, "A0403")
    assert served.records() == before
    await above.succeed("GET", "/api/auth/me")
    expect_success(await ask(equal))


# --- roles


@row("General envelope and status codes", "422")
async def test_the_built_in_role_cannot_be_changed(served: Served, api: Api) -> None:
    before = served.records()
    await api.fail(422, "B1002", "PUT", f"{ROLES}/super_admin", {"name": "x"})
    await api.fail(422, "B1002", "DELETE", f"{ROLES}/super_admin")
    await api.fail(422, "B1002", "POST", f"{ROLES}/batch-delete", {"ids": ["super_admin"]})
    assert served.records() == before
    shown = await api.succeed("GET", f"{ROLES}/super_admin")
    assert shown["permissions"] == [permission.value for permission in Permission]


@row("General envelope and status codes", "409")
async def test_a_role_that_a_user_holds_cannot_be_deleted(served: Served, api: Api) -> None:
    await holder_of(served, Permission.ROLE_LIST)
    await api.fail(409, "A0409", "DELETE", f"{ROLES}/role-of-holder")
    failure = await api.fail(409, "A0409", "POST", f"{ROLES}/batch-delete", {"ids": ["role-of-holder"]})
    assert failure["errors"] == [{"path": "ids.0", "msg": "The record is still referenced."}]
    [holder] = (await api.succeed("GET", USERS, params={"username": "holder"}))["items"]
    await api.succeed("PUT", f"{USERS}/{holder['id']}", {"roleIds": []})
    await api.succeed("DELETE", f"{ROLES}/role-of-holder")


async def test_roles_that_another_gave_meanwhile_are_not_taken_away(served: Served) -> None:
    for code in ("clerk", "reader"):
        fields: dict[str, Any] = {"code": code, "name": code, "permissions": []}
        await served.decide(RoleRegistered(caller=Operator(), fields=fields))
    known = await served.decide(UserRequested(caller=Operator(), user_id=await served.user()))
    context: Any = SimpleNamespace(caller=Operator())
    changes = [make_role_change(context, known.user, [code], []) for code in ("clerk", "reader")]
    given, refused = [await served.decide(change) for change in changes if change is not None]
    assert given.user.role_ids == ("clerk",)
    assert refused.faults == (FieldFault("roleIds", Why.CHANGED_MEANWHILE),)
