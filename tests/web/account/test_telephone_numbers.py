"""A telephone number has one form, however it is written and wherever it comes in, and is found by any."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from ostiary_core import Instant
from ostiary_core.model.decision import Delete, Insert, Update
from ostiary_core.model.identifiers import phone_identifier
from ostiary_core.model.records import Identifier, Table, User, revise
from ostiary_web.server.stored_numbers import rewrite_numbers
from tests.core import asks
from tests.core.story import START
from tests.net.store.stores import KINDS, ContractStore, opened
from tests.web.account.people import ANNAS_PHONE, outbox, signed_in, with_phone
from tests.web.callers import form_token_in
from tests.web.command_line.machine import Machine
from tests.web.conftest import Serve
from tests.web.envelopes import refused, succeeded
from tests.web.resources.sheets import sheet_of
from tests.web.served import Served

SPELLINGS = ("+8613800000001", "8613800000001", "13800000001", "008613800000001", "+86 138 0000-0001")


def account(username: str, phone: str) -> dict[str, Any]:
    return {"username": username, "name": "N", "password": "a good password", "phone": phone}


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_each_way_in_takes_a_number_in_its_one_form(served: Served, spelling: str) -> None:
    """Registered, changed, imported and written on a page: the second with it is refused each time."""
    admin, browser = await served.administrator(), served.browser()
    await browser.sign_in()
    await with_phone(served, "bert", None)
    bert = await signed_in(served, "bert")
    made = succeeded(await admin.call("POST", "/api/iam/users", account("anna", spelling)), 201)
    assert made["phone"] == ANNAS_PHONE
    place = f"/api/iam/users/{made['id']}"
    assert succeeded(await admin.call("PUT", place, {"phone": spelling}))["updatedAt"] == made["updatedAt"]
    for other in SPELLINGS:
        refused(await admin.call("POST", "/api/iam/users", account("carl", other)), 409, "A0409")
        row = {"username": "carl", "name": "N", "phone": other}
        sheet = {"file": ("rows.xlsx", sheet_of([[*row], [*row.values()]]))}
        headers = {"Authorization": f"Bearer {admin.token}"}
        mode = {"mode": "insert"}
        answer = await admin.post("/api/iam/users/import", files=sheet, data=mode, headers=headers)
        refused(answer, 409, "A0409")
        form = {**account("carl", other), "form_token": form_token_in(await browser.get("/admin/people/new"))}
        page = await browser.post("/admin/people/new", data=form, headers={"Origin": "null"})
        assert page.status_code == 409
        body = {"phone": other, "purpose": "change-phone"}
        succeeded(await bert.call("POST", "/api/auth/sms-code", body))
    assert outbox(served) == [], "a code for a number that is taken"


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_password_is_recovered_by_any_spelling(served: Served, spelling: str) -> None:
    await with_phone(served)
    body = {"phone": spelling, "purpose": "reset-password"}
    succeeded(await served.api().call("POST", "/api/auth/sms-code", body))
    [message] = outbox(served)
    assert message["phone"] == ANNAS_PHONE
    reset = {"phone": SPELLINGS[2], "code": message["code"], "newPassword": "another password"}
    succeeded(await served.api().call("POST", "/api/auth/reset-password", reset))
    await signed_in(served, "anna", "another password")


async def test_a_number_of_nowhere_stays_as_it_is_written(served: Served) -> None:
    """An internal one, as gateways of an organisation's own have them."""
    admin = await served.administrator()
    made = succeeded(await admin.call("POST", "/api/iam/users", account("anna", "80012")), 201)
    assert made["phone"] == "80012"


async def test_the_region_without_a_country_code_is_a_setting(serve: Serve) -> None:
    async with serve(PHONE_REGION="DE") as served:
        admin = await served.administrator()
        made = succeeded(await admin.call("POST", "/api/iam/users", account("anna", "030 1234567")), 201)
        assert made["phone"] == "+49301234567"


def test_the_command_line_takes_a_number_in_its_one_form(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.run("migrate")
    made = machine.run("user", "create", "anna", "--phone", "138 0000 0001", "--draw-password", "--json").json
    assert made["phone"] == ANNAS_PHONE


# --- numbers that were stored before


def store_as_written(store: ContractStore, username: str, phone: str) -> None:
    """Give an account a number as it was stored before there was one form."""
    user = next(each for each in users_of(store) if each.username == username)
    assert user.phone is not None
    before, after = (phone_identifier(number, user.user_id) for number in (user.phone, phone))
    store.write([Update(user, revise(user, phone=phone)), Delete(before), Insert(after)])


def users_of(store: ContractStore) -> Iterator[User]:
    return (each for each in store.records(Table.USER) if isinstance(each, User))


@pytest.mark.parametrize("kind", KINDS)
def test_stored_numbers_are_given_their_form_once_and_two_that_are_one_stay(
    kind: Any, tmp_path: Path
) -> None:
    written = {
        "anna": "13800000001",
        "bert": "8613800000001",
        "carl": "80012",
        "dora": "0049 30 1234567",
        "emil": "+8613800000002",
    }
    with opened(kind, tmp_path) as open_store, open_store() as store:
        for number, name in enumerate(written):
            store.turn([asks.user(name, phone=f"+1555010{number}")], START)
        for name, phone in written.items():
            store_as_written(store, name, phone)
        with capture_logs() as logs:
            rewrite_numbers(store, "CN", START)
        found = {each.username: each.phone for each in users_of(store)}
        taken = {
            each.value: each.user_id
            for each in store.records(Table.IDENTIFIER)
            if isinstance(each, Identifier)
        }
        assert {found["anna"], found["bert"]} in (
            {ANNAS_PHONE, "8613800000001"},
            {ANNAS_PHONE, "13800000001"},
        )
        assert [found[name] for name in ("carl", "dora", "emil")] == [
            "80012",
            "+49301234567",
            "+8613800000002",
        ]
        assert all(taken[each.phone] == each.user_id for each in users_of(store) if each.phone)
        assert len(taken) == 2 * len(written)
        [told] = [line for line in logs if line["log_level"] == "warning"]
        assert not any(phone in str(told) for phone in written.values())
        assert all(each.epoch == 0 for each in users_of(store)), "nobody is signed out by it"

        store_as_written(store, "emil", "13800000002")
        rewrite_numbers(store, "CN", Instant(START + 1))
        assert "13800000002" in {each.phone for each in users_of(store)}, "it is done once"
