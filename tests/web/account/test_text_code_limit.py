"""How often an account may ask for a code to a new number, whatever the numbers (READINGS 43)."""

from typing import Any

import trio

from tests.web.account.people import (
    ANNAS_PHONE,
    NEW_PHONE,
    PASSWORD,
    code_sent_to,
    outbox,
    signed_in,
    with_phone,
)
from tests.web.envelopes import refused, succeeded
from tests.web.served import Api, Served

DAY_SECONDS = 24 * 60 * 60


async def ask(api: Api, number: int) -> Any:
    body = {"phone": f"+86139{number:08}", "purpose": "change-phone"}
    return await api.call("POST", "/api/auth/sms-code", body)


async def asked_often(served: Served, api: Api, times: int = 20) -> None:
    """So many codes, each for another number, a minute apart, as an address may ask for no more."""
    for number in range(times):
        served.clock.wait(60)
        succeeded(await ask(api, number))
    assert len(outbox(served)) == times


async def test_an_account_asks_for_twenty_codes_a_day_whatever_the_numbers(served: Served, anna: Api) -> None:
    """READINGS 43."""
    await asked_often(served, anna)
    served.clock.wait(60)
    response = await ask(anna, 20)
    refused(response, 429, "A0429")
    assert int(response.headers["retry-after"]) == DAY_SECONDS - 20 * 60
    assert len(outbox(served)) == 20


async def test_numbers_that_somebody_has_count_too_and_another_account_does_not(served: Served) -> None:
    """Else the twenty-first answer would tell which of the numbers are known."""
    await with_phone(served)
    await with_phone(served, "bert", NEW_PHONE)
    anna, bert = await signed_in(served), await signed_in(served, "bert")
    for _ in range(20):
        served.clock.wait(60)
        body = {"phone": NEW_PHONE, "purpose": "change-phone"}
        assert succeeded(await anna.call("POST", "/api/auth/sms-code", body)) is None
    assert outbox(served) == []
    refused(await ask(anna, 0), 429, "A0429")
    succeeded(await ask(bert, 0))


async def test_who_asks_for_many_at_once_is_sent_no_more_than_in_a_row(served: Served, anna: Api) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(40):
            source = served.api(f"198.51.100.{number}")
            source.token = anna.token
            nursery.start_soon(ask, source, number)
    assert len(outbox(served)) == 20


async def test_a_day_after_each_one_more_may_be_asked_for(served: Served, anna: Api) -> None:
    await asked_often(served, anna)
    served.clock.wait(DAY_SECONDS - 19 * 60 - 1)
    refused(await ask(await signed_in(served), 20), 429, "A0429")
    served.clock.wait(1)
    anna = await signed_in(served)
    succeeded(await ask(anna, 21))
    refused(await ask(anna, 22), 429, "A0429")


async def test_neither_a_wrong_field_nor_a_new_password_counts(served: Served, anna: Api) -> None:
    await asked_often(served, anna, 19)
    for _ in range(3):
        served.clock.wait(60)
        body = {"phone": "no number", "purpose": "change-phone"}
        refused(await anna.call("POST", "/api/auth/sms-code", body), 400, "A0401")
    change = {"oldPassword": PASSWORD, "newPassword": "another password"}
    succeeded(await anna.call("PUT", "/api/auth/password", change))
    succeeded(await ask(anna, 20))
    refused(await ask(anna, 21), 429, "A0429")


async def test_a_clock_that_was_set_back_keeps_nobody_from_asking(served: Served) -> None:
    await with_phone(served)
    await asked_often(served, await signed_in(served))
    served.clock.set_back(400 * DAY_SECONDS)
    served.clock.start_again()
    succeeded(await ask(await signed_in(served), 20))


async def test_the_page_says_so_and_sends_nothing(served: Served) -> None:
    await with_phone(served, locale="zh-CN")
    await asked_often(served, await signed_in(served))
    served.clock.wait(60)
    browser = served.browser()
    await browser.sign_in("anna", PASSWORD)
    page = await browser.submit(
        await browser.get("/account/phone"), {"phone": NEW_PHONE}, to="/account/phone"
    )
    assert page.status_code == 429
    assert int(page.headers["retry-after"]) > 60
    assert "该账号" in page.text
    assert len(outbox(served)) == 20


async def test_a_recovery_is_nobodys_asking_and_goes_on(served: Served) -> None:
    """Who has lost a password is not kept out by what was asked for in their session."""
    await with_phone(served)
    await asked_often(served, await signed_in(served))
    served.clock.wait(60)
    assert await code_sent_to(served, ANNAS_PHONE, "reset-password")
