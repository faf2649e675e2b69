"""Language and time zone: chosen by whoever is signed in, from what there is."""

import pytest

from ostiary_core.model.fact import FactKind
from tests.support.callers import Api, fields_of
from tests.support.served import Served


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("locale", ["zh-CN", "en-US"], ["de-DE", "zh", "ZH-cn", "", None, 1, "x" * 65, "en-US\x00"]),
        (
            "timezone",
            ["Asia/Shanghai", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"],
            [
                "Mars/Base",
                "Asia",
                "../../etc/passwd",
                "/etc/localtime",
                "asia/shanghai",
                "+08:00",
                "",
                8,
                "localtime",
                "Factory",
            ],
        ),
    ],
)
async def test_what_there_is_can_be_chosen_and_nothing_else(
    served: Served, anna: Api, name: str, right: list[str], wrong: list[object]
) -> None:
    path = f"/api/auth/{name}"
    for value in wrong:
        assert fields_of(await anna.fail(400, "A0401", "PUT", path, {name: value})) == [name], value
    assert (await anna.succeed("GET", "/api/auth/me"))[name] is None
    for value in right:
        for _ in range(2):
            assert await anna.succeed("PUT", path, {name: value}) is None
        assert (await anna.succeed("GET", "/api/auth/me"))[name] == value
        shown = await anna.succeed("GET", "/api/oauth2/userinfo")
        assert shown.get(name) == (value if name == "locale" else None), "the zone is nobody else's business"
    told = [entry for entry in served.audit() if entry.kind is FactKind.PREFERENCES_SET]
    assert len(told) == len(right), "who chooses what they have changes nothing"
