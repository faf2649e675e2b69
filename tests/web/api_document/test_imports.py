"""What an import answers is what the document says: a sheet is nothing that a schema can make up."""

from typing import Any

import httpx
import pytest

from tests.web.envelopes import refused, succeeded
from tests.web.resources.sheets import SHEET, sheet_of
from tests.web.resources.test_convention import CLIENTS, Kind, every_resource
from tests.web.served import Api, Served


async def imported(api: Api, path: str, rows: list[list[Any]], mode: str) -> httpx.Response:
    """The answer to a sheet, which `Api` holds to the document."""
    return await api.call(
        "POST", path, files={"file": ("rows.xlsx", sheet_of(rows), SHEET)}, data={"mode": mode}
    )


def sheet_about(kind: Kind, *names: str, called: str = "Somebody") -> list[list[Any]]:
    """A row for each, with what a record cannot do without."""
    more = {"grantTypes": "client_credentials"} if kind is CLIENTS else {}
    return [[kind.key, "name", *more], *([name, called, *more.values()] for name in names)]


@every_resource
@pytest.mark.parametrize("mode", ["insert", "upsert"])
async def test_an_import_answers_what_is_described(served: Served, kind: Kind, mode: str) -> None:
    api, path = await served.administrator(), f"{kind.path}/import"
    made = succeeded(await imported(api, path, sheet_about(kind, "one", "two"), mode))
    assert made.pop("secrets", []) != [] or kind is not CLIENTS
    assert made == {"created": 2, "updated": 0, "unchanged": 0}
    again = sheet_about(kind, "one", "three", called="Another")
    again.append(sheet_about(kind, "two")[1])
    if mode == "insert":
        refused(await imported(api, path, again, mode), 409, "A0409")
    else:
        done = succeeded(await imported(api, path, again, mode))
        assert (done["created"], done["updated"], done["unchanged"]) == (1, 1, 1)


@every_resource
async def test_a_refused_sheet_is_answered_as_described(served: Served, kind: Kind) -> None:
    api, path = await served.administrator(), f"{kind.path}/import"
    refused(await imported(api, path, [["nothing"], ["x"]], "insert"), 400, "A0401")
    refused(await imported(api, path, sheet_about(kind, "one"), "replace"), 400, "A0401")
