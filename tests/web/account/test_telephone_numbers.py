"""Every way in brings a telephone number into one form, and any spelling of it finds its user."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.callers import Api, expect_refusal
from tests.support.people import NEW_PHONE, PHONE, code_for, new_number, outbox, sign_in, with_phone
from tests.support.processes import Machine
from tests.support.served import Serve, Served

SPELLINGS = ("+8613800000001", "8613800000001", "13800000001", "008613800000001", "+86 138 0000-0001")


def account(username: str, phone: str) -> dict[str, Any]:
    return {"username": username, "name": "N", "password": "a good password", "phone": phone}


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_each_way_in_takes_a_number_in_its_one_form(served: Served, spelling: str) -> None:
    """A number is taken for a second account by no call, no import, no form and no code."""
    admin, browser = await served.administrator(), await served.sign_in_browser()
    await with_phone(served, "bert", None)
    bert = await sign_in(served, "bert")
    made = await admin.succeed("POST", "/api/iam/users", account("anna", spelling), status=201)
    assert made["phone"] == PHONE
    place = f"/api/iam/users/{made['id']}"
    assert (await admin.succeed("PUT", place, {"phone": spelling}))["updatedAt"] == made["updatedAt"]
    for other in SPELLINGS:
        await admin.fail(409, "A0409", "POST", "/api/iam/users", account("carl", other))
        row = {"username": "carl", "name": "N", "phone": other}
        answer = await admin.import_sheet("/api/iam/users", [[*row], [*row.values()]], "insert")
        expect_refusal(answer, 409, "A0409")
        form = await browser.get("/admin/people/new")
        assert (await browser.submit(form, account("carl", other), to="/admin/people/new")).status_code == 409
        await bert.succeed("POST", "/api/auth/sms-code", {"phone": other, "purpose": "change-phone"})
    assert outbox(served) == [], "a code for a number that is taken"


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_password_is_recovered_by_any_spelling(served: Served, spelling: str) -> None:
    await with_phone(served)
    await served.api().succeed("POST", "/api/auth/sms-code", {"phone": spelling, "purpose": "reset-password"})
    [message] = outbox(served)
    assert message["phone"] == PHONE
    reset = {"phone": SPELLINGS[2], "code": message["code"], "newPassword": "another password"}
    await served.api().succeed("POST", "/api/auth/reset-password", reset)
    await sign_in(served, "anna", "another password")


async def test_a_number_of_nowhere_stays_as_it_is_written(api: Api) -> None:
    """An organisation with its own gateway may have internal numbers."""
    made = await api.succeed("POST", "/api/iam/users", account("anna", "80012"), status=201)
    assert made["phone"] == "80012"


async def test_the_region_without_a_country_code_is_a_setting(serve: Serve) -> None:
    async with serve(PHONE_REGION="DE") as served:
        admin = await served.administrator()
        made = await admin.succeed("POST", "/api/iam/users", account("anna", "030 1234567"), status=201)
        assert made["phone"] == "+49301234567"


def test_the_command_line_takes_a_number_in_its_one_form(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.run("migrate")
    made = machine.run("user", "create", "anna", "--phone", "138 0000 0001", "--draw-password", "--json").json
    assert made["phone"] == PHONE


# --- a new number needs the current password, as it can recover a lost one (READINGS 41)


async def test_a_wrong_password_sets_no_new_number_and_spends_no_code(served: Served, anna: Api) -> None:
    code = await code_for(served, NEW_PHONE, "change-phone", anna)
    await anna.fail(422, "A1005", "PUT", "/api/auth/phone", new_number(code, "wrong"))
    assert (await anna.succeed("GET", "/api/auth/me"))["phone"] == PHONE
    assert await anna.succeed("PUT", "/api/auth/phone", new_number(code)) is None
    assert (await anna.succeed("GET", "/api/auth/me"))["phone"] == NEW_PHONE
