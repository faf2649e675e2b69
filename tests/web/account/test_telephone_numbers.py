"""A telephone number has one form, however it is written and wherever it comes in, and is found by any."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.callers import expect_refusal, form_token_in
from tests.support.files import sheet_of
from tests.support.people import ANNAS_PHONE, outbox, sign_in, with_phone
from tests.support.processes import Machine
from tests.support.served import Serve, Served

SPELLINGS = ("+8613800000001", "8613800000001", "13800000001", "008613800000001", "+86 138 0000-0001")


def account(username: str, phone: str) -> dict[str, Any]:
    return {"username": username, "name": "N", "password": "a good password", "phone": phone}


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_each_way_in_takes_a_number_in_its_one_form(served: Served, spelling: str) -> None:
    """Registered, changed, imported and written on a page: the second with it is refused each time."""
    admin, browser = await served.administrator(), served.browser()
    await browser.sign_in()
    await with_phone(served, "bert", None)
    bert = await sign_in(served, "bert")
    made = await admin.succeed("POST", "/api/iam/users", account("anna", spelling), status=201)
    assert made["phone"] == ANNAS_PHONE
    place = f"/api/iam/users/{made['id']}"
    assert (await admin.succeed("PUT", place, {"phone": spelling}))["updatedAt"] == made["updatedAt"]
    for other in SPELLINGS:
        await admin.fail(409, "A0409", "POST", "/api/iam/users", account("carl", other))
        row = {"username": "carl", "name": "N", "phone": other}
        sheet = {"file": ("rows.xlsx", sheet_of([[*row], [*row.values()]]))}
        headers = {"Authorization": f"Bearer {admin.token}"}
        mode = {"mode": "insert"}
        answer = await admin.post("/api/iam/users/import", files=sheet, data=mode, headers=headers)
        expect_refusal(answer, 409, "A0409")
        form = {**account("carl", other), "form_token": form_token_in(await browser.get("/admin/people/new"))}
        page = await browser.post("/admin/people/new", data=form, headers={"Origin": "null"})
        assert page.status_code == 409
        body = {"phone": other, "purpose": "change-phone"}
        await bert.succeed("POST", "/api/auth/sms-code", body)
    assert outbox(served) == [], "a code for a number that is taken"


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_password_is_recovered_by_any_spelling(served: Served, spelling: str) -> None:
    await with_phone(served)
    body = {"phone": spelling, "purpose": "reset-password"}
    await served.api().succeed("POST", "/api/auth/sms-code", body)
    [message] = outbox(served)
    assert message["phone"] == ANNAS_PHONE
    reset = {"phone": SPELLINGS[2], "code": message["code"], "newPassword": "another password"}
    await served.api().succeed("POST", "/api/auth/reset-password", reset)
    await sign_in(served, "anna", "another password")


async def test_a_number_of_nowhere_stays_as_it_is_written(served: Served) -> None:
    """An internal one, as gateways of an organisation's own have them."""
    admin = await served.administrator()
    made = await admin.succeed("POST", "/api/iam/users", account("anna", "80012"), status=201)
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
    assert made["phone"] == ANNAS_PHONE


# --- numbers that were stored before
