"""Users with a hash of another system: when it becomes ours."""

import trio

from ostiary_core.model.records import Table
from tests.support.callers import Api, expect_success
from tests.support.served import Served
from tests.support.stores import CHEAP
from tests.web.resources.test_convention import USERS
from tests.web.resources.test_export_import import export_list

PASSWORD = "correct horse battery"
BCRYPT = "$2b$05$srNaFv5MXcNQ/zbdOTksGebnCjFM.6.ZRQA0qptkSoeaT5uqtCeuW"


def on_file(served: Served, username: str) -> str:
    [user] = [each for each in served.store.records(Table.USER) if each.username == username]
    return str(user.password_hash)


async def test_the_hash_of_a_user_who_signs_in_becomes_ours(served: Served, api: Api) -> None:
    sheet = [["username", "name", "passwordHash"], ["anna", "Anna", BCRYPT]]
    expect_success(await api.import_sheet(USERS.path, sheet, mode="insert"))
    assert on_file(served, "anna") == BCRYPT, "kept as it came until the password is known"
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(served.api().sign_in, "anna", PASSWORD)
    ours = on_file(served, "anna")
    assert not CHEAP.check_needs_rehash(ours)
    await served.api().sign_in("anna", PASSWORD)
    assert on_file(served, "anna") == ours
    shown = (await api.get(USERS.path, params={"pageSize": "200"})).text
    for text in (shown, str(await export_list(api, USERS)), repr(served.audit())):
        assert "passwordHash" not in text
        assert BCRYPT[-20:] not in text
