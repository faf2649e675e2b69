"""Language and time zone: chosen by whoever is signed in, from what there is."""

import pytest

from tests.web.account.people import everything_open, signed_in, with_phone
from tests.web.envelopes import fields_of, refused, succeeded
from tests.web.served import Served


@pytest.mark.parametrize("locale", ["zh-CN", "en-US"])
async def test_a_language_is_chosen_and_shown_to_the_user_and_to_other_systems(
    served: Served, locale: str
) -> None:
    await with_phone(served)
    anna = await signed_in(served)
    assert succeeded(await anna.call("PUT", "/api/auth/locale", {"locale": locale})) is None
    assert succeeded(await anna.call("GET", "/api/auth/me"))["locale"] == locale
    assert succeeded(await anna.call("GET", "/api/oauth2/userinfo"))["locale"] == locale


@pytest.mark.parametrize("locale", ["de-DE", "zh", "ZH-cn", "", None, 1, "x" * 65, "en-US\x00"])
async def test_no_other_language_is(served: Served, locale: object) -> None:
    await with_phone(served)
    anna = await signed_in(served)
    response = await anna.call("PUT", "/api/auth/locale", {"locale": locale})
    assert fields_of(refused(response, 400, "A0401")) == ["locale"]
    assert succeeded(await anna.call("GET", "/api/auth/me"))["locale"] is None


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
async def test_a_zone_is_chosen_by_its_name(served: Served, zone: str) -> None:
    await with_phone(served)
    anna = await signed_in(served)
    assert succeeded(await anna.call("PUT", "/api/auth/timezone", {"timezone": zone})) is None
    assert succeeded(await anna.call("GET", "/api/auth/me"))["timezone"] == zone


@pytest.mark.parametrize(
    "zone", ["Mars/Base", "Asia", "../../etc/passwd", "/etc/localtime", "asia/shanghai", "+08:00", "", 8]
)
async def test_no_other_zone_is(served: Served, zone: object) -> None:
    await with_phone(served)
    anna = await signed_in(served)
    response = await anna.call("PUT", "/api/auth/timezone", {"timezone": zone})
    assert fields_of(refused(response, 400, "A0401")) == ["timezone"]
    assert succeeded(await anna.call("GET", "/api/auth/me"))["timezone"] is None


async def test_preferences_end_nothing(served: Served) -> None:
    await with_phone(served)
    anna = await everything_open(served, await served.client())
    succeeded(await anna.here.call("PUT", "/api/auth/locale", {"locale": "zh-CN"}))
    succeeded(await anna.here.call("PUT", "/api/auth/timezone", {"timezone": "Asia/Tokyo"}))
    await anna.assert_all_alive()


async def test_who_must_change_the_password_can_choose_nothing_first(served: Served) -> None:
    await with_phone(served, mustChangePassword=True)
    anna = await signed_in(served)
    before = served.records()
    for method, path, body in (
        ("PUT", "/api/auth/phone", {"phone": "+8613800000002", "code": "000000", "password": "wrong"}),
        ("PUT", "/api/auth/locale", {"locale": "zh-CN"}),
        ("PUT", "/api/auth/timezone", {"timezone": "UTC"}),
        ("PUT", "/api/auth/avatar", None),
        ("DELETE", "/api/auth/avatar", None),
        ("GET", "/api/auth/grants", None),
        ("DELETE", "/api/auth/grants/app", None),
    ):
        refused(await anna.call(method, path, body), 403, "A1004")
    assert served.records() == before
