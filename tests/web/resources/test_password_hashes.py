"""Users with a hash of another system: when it becomes ours, and with what it may come."""

from typing import Any

from ostiary_core.model.records import Table
from tests.support.callers import Api, expect_refusal, expect_success, fields_of
from tests.support.served import Served
from tests.support.stores import CHEAP
from tests.web.resources.test_convention import USERS
from tests.web.resources.test_export_import import export_list

PASSWORD = "correct horse battery"
BCRYPT = "$2b$05$srNaFv5MXcNQ/zbdOTksGebnCjFM.6.ZRQA0qptkSoeaT5uqtCeuW"


def sheet_with(hashes: dict[str, str], **more: Any) -> list[list[Any]]:
    people = [[name, name, made, *more.values()] for name, made in hashes.items()]
    return [["username", "name", "passwordHash", *more], *people]


def on_file(served: Served, username: str) -> str:
    [user] = [each for each in served.store.records(Table.USER) if each.username == username]
    return str(user.password_hash)


async def test_the_hash_of_a_user_who_signs_in_becomes_ours(served: Served, api: Api) -> None:
    expect_success(await api.import_sheet(USERS.path, sheet_with({"anna": BCRYPT}), mode="insert"))
    assert on_file(served, "anna") == BCRYPT, "kept as it came until the password is known"
    await served.api().sign_in("anna", PASSWORD)
    ours = on_file(served, "anna")
    assert not CHEAP.check_needs_rehash(ours)
    await served.api().sign_in("anna", PASSWORD)
    assert on_file(served, "anna") == ours
    shown = (await api.get(USERS.path, params={"pageSize": "200"})).text
    for text in (shown, str(await export_list(api, USERS)), repr(served.audit())):
        assert "passwordHash" not in text
        assert BCRYPT[-20:] not in text


async def test_a_hash_is_for_new_users_and_stands_alone(served: Served, api: Api) -> None:
    for password in ("anna's password", "short"):
        both = sheet_with({"anna": BCRYPT}, password=password)
        failure = expect_refusal(await api.import_sheet(USERS.path, both, mode="insert"), 400, "A0401")
        assert fields_of(failure) == ["rows.2.passwordHash"]
    asked = sheet_with({"anna": BCRYPT}, mustChangePassword="yes")
    expect_success(await api.import_sheet(USERS.path, asked, mode="insert"))
    assert (await served.api().sign_in("anna", PASSWORD))["mustChangePassword"] is True
    for made in (BCRYPT, "{noop}password"):
        done = expect_success(await api.import_sheet(USERS.path, sheet_with({"anna": made})))
        assert (done["updated"], done["hashesLeft"]) == (0, 1), "it is left (READINGS 50)"
    changed = [["username", "name", "passwordHash"], ["anna", "Anna", BCRYPT]]
    done = expect_success(await api.import_sheet(USERS.path, changed))
    assert (done["updated"], done["hashesLeft"]) == (1, 1)
    new = {**USERS.new("ben"), "passwordHash": BCRYPT}
    assert fields_of(await api.fail(400, "A0401", "POST", USERS.path, new)) == ["passwordHash"]
