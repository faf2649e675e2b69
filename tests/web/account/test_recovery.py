"""Codes by text message, the telephone they prove and the password they recover (READINGS 28)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from ostiary_core.model.records import Table
from ostiary_core.model.secret import Secret
from ostiary_net.runtime.text_messages import TextMessage, TextMessages
from ostiary_web.server.backing import put_behind
from tests.web.account.people import (
    ANNAS_PHONE,
    NEW_PHONE,
    code_sent_to,
    new_number,
    outbox,
    signed_in,
    with_phone,
)
from tests.web.envelopes import refused, succeeded
from tests.web.served import Api, Served, serving

NOBODYS_PHONE = "+8613899999999"


def reset(code: str, phone: str = ANNAS_PHONE, new: str = "another password") -> dict[str, str]:
    return {"phone": phone, "code": code, "newPassword": new}


async def asked_for_reset(served: Served, phone: str = ANNAS_PHONE, **headers: str) -> dict[str, Any]:
    """The message that a request for a recovery code sends."""
    await code_sent_to(served, phone, "reset-password", headers=headers)
    return outbox(served)[-1]


def is_not(code: str) -> str:
    """A wrong code."""
    return f"{(int(code) + 1) % 1_000_000:06d}"


# --- the message


async def test_a_code_of_six_digits_is_sent_to_the_telephone(served: Served) -> None:
    await with_phone(served)
    message = await asked_for_reset(served)
    assert set(message) == {"phone", "purpose", "code", "text", "at"}
    assert len(message["code"]) == 6
    assert message["code"].isdecimal()
    assert message["code"] in message["text"]
    assert message["at"] == "2027-01-15T08:00:00.123Z"


@pytest.mark.parametrize(
    "locale, asked_in, text",
    [
        ("zh-CN", "en-US", "用于重置密码"),
        ("en-US", "zh-CN", "reset your password"),
        (None, "zh-CN", "用于重置密码"),
        (None, "en-US", "reset your password"),
    ],
)
async def test_the_message_is_in_the_users_language_else_in_the_requests(
    served: Served, locale: str | None, asked_in: str, text: str
) -> None:
    await with_phone(served, locale=locale)
    message = await asked_for_reset(served, **{"Accept-Language": asked_in})
    assert text in message["text"]


@pytest.mark.parametrize(
    "zone, header, until",
    [
        (None, None, "16:10 (Asia/Shanghai)"),
        ("America/Lima", None, "03:10 (America/Lima)"),
        ("America/Lima", "Asia/Kolkata", "13:40 (Asia/Kolkata)"),
        ("America/Lima", "Mars/Base", "03:10 (America/Lima)"),
        (None, "../etc/passwd", "16:10 (Asia/Shanghai)"),
    ],
)
async def test_the_time_in_a_message_is_in_the_requests_zone_else_the_users_else_chinas(
    served: Served, zone: str | None, header: str | None, until: str
) -> None:
    await with_phone(served, locale="en-US", timezone=zone)
    headers = {} if header is None else {"X-Timezone": header}
    message = await asked_for_reset(served, **headers)
    assert until in message["text"]


async def test_a_code_for_a_new_number_speaks_to_the_user_who_asked(served: Served) -> None:
    await with_phone(served, locale="zh-CN", timezone="Asia/Tokyo")
    anna = await signed_in(served)
    await code_sent_to(served, NEW_PHONE, "change-phone", anna, headers={"Accept-Language": "en"})
    assert "绑定" in outbox(served)[-1]["text"]
    assert "17:10（Asia/Tokyo）" in outbox(served)[-1]["text"]


# --- asking for one


class Standstill:
    """A gateway far away that nothing gets to."""

    is_local = False

    async def deliver(self, message: TextMessage) -> None:
        await trio.sleep_forever()


@contextmanager
def sending_through(served: Served, messages: TextMessages) -> Iterator[None]:
    quart = served.application.quart
    put_behind(quart, replace(served.backing, text_messages=messages))
    try:
        yield
    finally:
        put_behind(quart, served.backing)


async def test_behind_a_gateway_the_answer_leaves_before_anything_is_known_of_the_number(
    served: Served,
) -> None:
    await with_phone(served)
    messages = TextMessages(Standstill())
    with sending_through(served, messages):
        before = served.records()
        for phone in (ANNAS_PHONE, NOBODYS_PHONE):
            body = {"phone": phone, "purpose": "reset-password"}
            with trio.fail_after(10):
                succeeded(await served.api().call("POST", "/api/auth/sms-code", body))
        assert served.records() == before
        assert messages.count_unfinished() == 2
        async with trio.open_nursery() as nursery:
            nursery.start_soon(messages.run)
            await wait_all_tasks_blocked()
            assert messages.count_unfinished() == 1
            nursery.cancel_scope.cancel()
    assert len(served.records()[Table.TEXT_CODE]) == len(before[Table.TEXT_CODE]) + 1


async def test_a_number_is_sent_one_code_a_minute_and_the_answer_does_not_tell(served: Served) -> None:
    await with_phone(served)
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    body = {"phone": ANNAS_PHONE, "purpose": "reset-password"}
    served.clock.wait(59)
    succeeded(await served.api().call("POST", "/api/auth/sms-code", body))
    assert len(outbox(served)) == 1
    served.clock.wait(1)
    assert await code_sent_to(served, ANNAS_PHONE, "reset-password") != code


async def test_a_number_is_sent_ten_codes_a_day_counted_from_the_first(served: Served) -> None:
    await with_phone(served)
    body = {"phone": ANNAS_PHONE, "purpose": "reset-password"}

    async def sent_after(seconds: float) -> int:
        served.clock.wait(seconds)
        succeeded(await served.api().call("POST", "/api/auth/sms-code", body))
        return len(outbox(served))

    assert [await sent_after(60) for _ in range(12)] == [*range(1, 11), 10, 10]
    assert await sent_after(24 * 60 * 60 - 11 * 60 - 1) == 10
    assert await sent_after(1) == 11


async def test_a_code_to_change_to_a_number_is_for_who_is_signed_in(served: Served) -> None:
    body = {"phone": NEW_PHONE, "purpose": "change-phone"}
    refused(await served.api().call("POST", "/api/auth/sms-code", body), 401, "A1001")
    refused(await served.api().call("POST", "/api/auth/sms-code", body, token="x" * 43), 401, "A1001")
    await with_phone(served, mustChangePassword=True)
    refused(await (await signed_in(served)).call("POST", "/api/auth/sms-code", body), 403, "A1004")
    assert outbox(served) == []


async def test_no_code_is_sent_to_change_to_a_number_that_somebody_has(served: Served, anna: Api) -> None:
    await with_phone(served, "bert", NEW_PHONE)
    body = {"phone": NEW_PHONE, "purpose": "change-phone"}
    assert succeeded(await anna.call("POST", "/api/auth/sms-code", body)) is None
    assert outbox(served) == []


@pytest.mark.parametrize(
    "path, body",
    [
        ("/api/auth/sms-code", {"phone": NOBODYS_PHONE, "purpose": "reset-password"}),
        ("/api/auth/reset-password", reset("000000", NOBODYS_PHONE)),
    ],
    ids=["asking", "trying"],
)
async def test_one_address_asks_and_tries_twenty_times_a_minute(
    served: Served, path: str, body: dict[str, str]
) -> None:
    api = served.api()
    for _ in range(20):
        assert (await api.call("POST", path, body)).status_code in (200, 422)
    over = await api.call("POST", path, body)
    assert (over.status_code, over.json()["code"]) == (429, "A0429")
    assert 1 <= int(over.headers["retry-after"]) <= 60
    assert (await served.api("198.51.100.9").call("POST", path, body)).status_code in (200, 422)
    served.clock.wait(60)
    assert (await api.call("POST", path, body)).status_code in (200, 422)


# --- recovering the password


async def test_a_code_recovers_the_password_once(served: Served) -> None:
    await with_phone(served)
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    api = served.api()
    assert succeeded(await api.call("POST", "/api/auth/reset-password", reset(code))) is None
    await api.sign_in("anna", "another password")
    refused(await api.call("POST", "/api/auth/reset-password", reset(code)), 422, "A1006")


async def test_recovery_also_lifts_a_forced_password_change(served: Served) -> None:
    await with_phone(served, mustChangePassword=True)
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    succeeded(await served.api().call("POST", "/api/auth/reset-password", reset(code)))
    login = await served.api().sign_in("anna", "another password")
    assert login["mustChangePassword"] is False


async def test_a_code_lasts_ten_minutes(served: Served) -> None:
    await with_phone(served)
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    served.clock.wait(600)
    refused(await served.api().call("POST", "/api/auth/reset-password", reset(code)), 422, "A1006")
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    served.clock.wait(599.999)
    succeeded(await served.api().call("POST", "/api/auth/reset-password", reset(code)))


async def test_a_wrong_code_leaves_a_trace_whether_or_not_the_number_is_known(served: Served) -> None:
    """So each of them is written to disk, and the time does not tell them apart."""
    anna = await with_phone(served)
    code = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    for body in (reset(is_not(code)), reset(code, NOBODYS_PHONE)):
        refused(await served.api().call("POST", "/api/auth/reset-password", body), 422, "A1006")
    admin = await served.administrator()
    entries = succeeded(await admin.call("GET", "/api/audit/events", params={"kind": "text-code-wrong"}))
    assert [entry["userId"] for entry in entries["items"]] == [None, anna]
    assert code not in str(entries)
    assert NOBODYS_PHONE not in str(entries)


async def test_a_code_is_good_for_its_purpose_alone(served: Served, anna: Api) -> None:
    for_change = await code_sent_to(served, NEW_PHONE, "change-phone", anna)
    for_reset = await code_sent_to(served, ANNAS_PHONE, "reset-password")
    refused(await anna.call("POST", "/api/auth/reset-password", reset(for_change, NEW_PHONE)), 422, "A1006")
    refused(await anna.call("PUT", "/api/auth/phone", new_number(for_reset, phone=ANNAS_PHONE)), 422, "A1006")


# --- changing the telephone


async def test_a_new_number_is_proved_by_its_code_and_frees_the_old_one(served: Served, anna: Api) -> None:
    code = await code_sent_to(served, NEW_PHONE, "change-phone", anna)
    assert succeeded(await anna.call("PUT", "/api/auth/phone", new_number(code))) is None
    assert succeeded(await anna.call("GET", "/api/auth/me"))["phone"] == NEW_PHONE

    await with_phone(served, "bert", None)
    bert = await signed_in(served, "bert")
    code = await code_sent_to(served, ANNAS_PHONE, "change-phone", bert)
    body = new_number(code, "bert password", phone=ANNAS_PHONE)
    succeeded(await bert.call("PUT", "/api/auth/phone", body))


async def test_two_who_were_sent_codes_for_one_number_do_not_both_get_it(served: Served) -> None:
    """The number has one code at a time, and whoever comes second finds it spent."""
    await with_phone(served)
    await with_phone(served, "bert", None)
    anna, bert = await signed_in(served), await signed_in(served, "bert")
    await code_sent_to(served, NEW_PHONE, "change-phone", anna)
    served.clock.wait(60)
    code = await code_sent_to(served, NEW_PHONE, "change-phone", bert)
    succeeded(await anna.call("PUT", "/api/auth/phone", new_number(code)))
    refused(await bert.call("PUT", "/api/auth/phone", new_number(code, "bert password")), 422, "A1006")


# --- what is never told


async def test_no_code_number_or_password_is_in_the_log_or_the_store(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with serving(tmp_path) as served:
            await with_phone(served)
            anna = await signed_in(served)
            sent = [
                await code_sent_to(served, ANNAS_PHONE, "reset-password"),
                await code_sent_to(served, NEW_PHONE, "change-phone", anna),
            ]
            await anna.call("POST", "/api/auth/reset-password", reset(is_not(sent[0])))
            await anna.call("PUT", "/api/auth/phone", new_number(sent[1]))
            await anna.call("POST", "/api/auth/reset-password", reset(sent[0], NEW_PHONE))
            shown = f"{logs} {served.records()}"
    assert "another password" not in shown
    for code in sent:
        assert f"'{code}'" not in shown
        assert Secret(code).digest.hex() not in shown
    assert NEW_PHONE not in str(logs)
