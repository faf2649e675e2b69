"""The trail records the refusals of administrators: the first at once, and the number of repeated ones."""

import re
from typing import Any

from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from tests.support.callers import SOURCE, Api, expect_refusal
from tests.support.people import holder_of, sign_in
from tests.support.served import Served

HOUR = 3600
KIND = {"kind": "administrator-refused", "sort": "at"}


async def refusals(root: Api) -> list[dict[str, Any]]:
    """Return the entries of refusals, the oldest first."""
    items: list[dict[str, Any]] = (await root.succeed("GET", "/api/audit/events", params=KIND))["items"]
    return items


def details_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the permission that an entry names, and how often it was refused."""
    return {change["field"]: change["after"] for change in entry["changes"]}


async def id_of(api: Api) -> str:
    return str((await api.succeed("GET", "/api/auth/me"))["id"])


async def test_a_permission_that_an_administrator_lacks_is_recorded(served: Served) -> None:
    root, clerk = await served.administrator(), await holder_of(served, Permission.USER_LIST)
    browser = await served.sign_in_browser("holder", "the holder's")

    refused = await clerk.call("GET", "/api/audit/events")
    expect_refusal(refused, 403, "A0403")
    assert (await browser.get("/admin/clients")).status_code == 403
    await clerk.fail(403, "A0403", "POST", "/api/monitor/force-logout-all")

    first, second, third = await refusals(root)
    assert (first["actorId"], first["why"], first["ip"]) == (await id_of(clerk), "permission_missing", SOURCE)
    assert first["traceId"] == refused.json()["traceId"]
    assert details_of(first) == {"permission": "audit.read", "times": 1}
    assert details_of(second) == {"permission": "oauth.client.list", "times": 1}
    assert details_of(third) == {"times": 1}


async def test_a_change_that_a_rule_forbids_names_its_record(served: Served) -> None:
    root, clerk = await served.administrator(), await holder_of(served, Permission.USER_UPDATE)
    admin = await id_of(root)

    await clerk.fail(403, "A0403", "POST", f"/api/iam/users/{admin}/force-logout")
    await root.fail(422, "B1001", "PUT", f"/api/iam/users/{admin}/enabled", {"enabled": False})
    await root.fail(409, "A0409", "DELETE", "/api/iam/roles/role-of-holder")

    reached, last, held = await refusals(root)
    assert (reached["actorId"], reached["userId"]) == (await id_of(clerk), admin)
    assert reached["why"] == "permission_missing"
    assert details_of(reached) == {"permission": "iam.user.update", "times": 1}
    assert (last["userId"], last["why"]) == (admin, "last_administrator")
    assert (held["roleId"], held["why"]) == ("role-of-holder", "still_referenced")
    assert held["target"] == "role:role-of-holder"
    page = (await (await served.sign_in_browser()).get("/admin/audit?kind=administrator-refused")).text
    assert "Role role-of-holder" in page
    assert re.search(r"\d{2}:\d{2}:\d{2}</time>", page), "to the second"


async def test_a_refused_batch_is_recorded_for_each_of_its_records(api: Api) -> None:
    ids = {"ids": ["console", "mobile"]}
    assert (await api.call("POST", "/api/oauth/clients/batch-delete", ids)).status_code == 422
    assert [entry["clientId"] for entry in await refusals(api)] == ["console", "mobile"]


async def test_a_refused_import_is_recorded_once_whether_it_was_a_preview_or_has_passwords(
    served: Served,
) -> None:
    root = await served.administrator()
    row = {"username": "bert", "name": "Bert", "password": "bert's password", "roleIds": SUPER_ADMINISTRATOR}
    rows = [[*row], [*row.values()]]
    for preview, name in (("true", "first"), ("", "second")):
        clerk = await holder_of(served, Permission.USER_CREATE, username=name)
        expect_refusal(await clerk.import_sheet("/api/iam/users", rows, "insert", preview), 403, "A0403")
        [refused] = [each for each in await refusals(root) if each["actorId"] == await id_of(clerk)]
        assert details_of(refused) == {"permission": "iam.user.create", "times": 1}


async def test_invalid_forms_and_refusals_of_other_callers_are_not_recorded(served: Served) -> None:
    root = await served.administrator()
    await served.user("anna")
    stranger, anna = served.api(), await sign_in(served, "anna", "anna's password")

    for api, status in ((stranger, 401), (anna, 403)):
        assert (await api.call("GET", "/api/audit/events")).status_code == status
    assert (await root.call("POST", "/api/iam/users", {"username": "a:b"})).status_code == 400
    assert (await root.call("GET", "/api/iam/users/nobody")).status_code == 404
    await root.succeed("POST", f"/api/iam/users/{await id_of(anna)}/force-logout")

    assert await refusals(root) == []


async def test_a_refusal_that_comes_again_is_counted_and_recorded_after_its_hour(served: Served) -> None:
    clerk = await holder_of(served, Permission.USER_LIST)

    async def times() -> list[int]:
        return [details_of(entry)["times"] for entry in await refusals(await served.administrator())]

    for _ in range(50):
        assert (await clerk.call("GET", "/api/audit/events")).status_code == 403
    served.clock.wait(HOUR - 1)
    await served.service.report_repeated_refusals()
    assert await times() == [1]

    served.clock.wait(1)
    await served.service.report_repeated_refusals()
    assert await times() == [1, 49]
    await served.service.report_repeated_refusals()
    await clerk.sign_in("holder", "the holder's")
    for _ in range(2):
        assert (await clerk.call("GET", "/api/audit/events")).status_code == 403
    await served.service.report_repeated_refusals(are_last=True)
    assert await times() == [1, 49, 1, 1]
