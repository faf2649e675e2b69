"""Codes by text message: they prove a telephone number and recover a password (READINGS 28)."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from ostiary_core.model.records import Table
from ostiary_core.model.secret import Secret
from ostiary_core.storage.json_codec import to_text
from ostiary_net.runtime.text_messages import TextMessage, TextMessages
from ostiary_web.server.app_services import attach_services
from tests.support.callers import Api, expect_refusal, expect_success
from tests.support.people import NEW_PHONE, PASSWORD, PHONE, code_for, new_number, outbox, sign_in, with_phone
from tests.support.served import Served, serving

NOBODYS_PHONE = "+8613899999999"


def reset(code: str, phone: str = PHONE, new: str = "another password") -> dict[str, str]:
    return {"phone": phone, "code": code, "newPassword": new}


def is_not(code: str) -> str:
    """Return a code that is wrong."""
    return f"{(int(code) + 1) % 1_000_000:06d}"


# --- the message


CHINESE, ENGLISH = "用于重置密码", "reset your password"


@pytest.mark.parametrize(
    "locale, zone, headers, words",
    [
        ("zh-CN", None, {"Accept-Language": "en-US"}, CHINESE),
        ("en-US", None, {"Accept-Language": "zh-CN"}, ENGLISH),
        (None, None, {"Accept-Language": "zh-CN"}, CHINESE),
        (None, None, {"Accept-Language": "en-US"}, ENGLISH),
        ("en-US", None, {}, "16:10 (Asia/Shanghai)"),
        ("en-US", "America/Lima", {}, "03:10 (America/Lima)"),
        ("en-US", "America/Lima", {"X-Timezone": "Asia/Kolkata"}, "13:40 (Asia/Kolkata)"),
        ("en-US", "America/Lima", {"X-Timezone": "Mars/Base"}, "03:10 (America/Lima)"),
        ("en-US", None, {"X-Timezone": "../etc/passwd"}, "16:10 (Asia/Shanghai)"),
        ("en-US", "America/Lima", {"X-Timezone": "localtime"}, "03:10 (America/Lima)"),
        ("en-US", None, {"X-Timezone": "Factory"}, "16:10 (Asia/Shanghai)"),
    ],
)
async def test_a_message_is_in_the_language_of_the_user_else_the_request_and_the_zone_of_the_request_first(
    served: Served, locale: str | None, zone: str | None, headers: dict[str, str], words: str
) -> None:
    await with_phone(served, locale=locale, timezone=zone)
    await code_for(served, PHONE, "reset-password", headers=headers)
    assert words in outbox(served)[-1]["text"]


async def test_a_code_for_a_new_number_speaks_to_the_user_who_asked(served: Served) -> None:
    await with_phone(served, locale="zh-CN", timezone="Asia/Tokyo")
    anna = await sign_in(served)
    await code_for(served, NEW_PHONE, "change-phone", anna, headers={"Accept-Language": "en"})
    assert "绑定" in outbox(served)[-1]["text"]
    assert "17:10（Asia/Tokyo）" in outbox(served)[-1]["text"]


# --- asking for one


class Standstill:
    """A gateway far away that never answers."""

    is_local = False

    async def deliver(self, message: TextMessage) -> None:
        await trio.sleep_forever()


async def test_behind_a_gateway_the_answer_leaves_before_the_number_is_looked_up(served: Served) -> None:
    await with_phone(served)
    messages, before = TextMessages(Standstill()), served.records()
    attach_services(served.application.quart, replace(served.services, text_messages=messages))
    for phone in (PHONE, NOBODYS_PHONE):
        body = {"phone": phone, "purpose": "reset-password"}
        with trio.fail_after(10):
            await served.api().succeed("POST", "/api/auth/sms-code", body)
    assert served.records() == before
    assert messages.count_unfinished() == 2
    async with trio.open_nursery() as nursery:
        nursery.start_soon(messages.run)
        await wait_all_tasks_blocked()
        assert messages.count_unfinished() == 1
        nursery.cancel_scope.cancel()
    assert len(served.records()[Table.TEXT_CODE]) == len(before[Table.TEXT_CODE]) + 1


async def test_a_code_to_change_to_a_number_is_for_who_is_signed_in(served: Served) -> None:
    body = {"phone": NEW_PHONE, "purpose": "change-phone"}
    await served.api().fail(401, "A1001", "POST", "/api/auth/sms-code", body)
    await served.api().fail(401, "A1001", "POST", "/api/auth/sms-code", body, token="x" * 43)
    await with_phone(served, mustChangePassword=True)
    await (await sign_in(served)).fail(403, "A1004", "POST", "/api/auth/sms-code", body)
    assert outbox(served) == []


# --- how often an account may ask, whatever the numbers (READINGS 43)


async def ask_for_another(api: Api, number: int) -> Any:
    body = {"phone": f"+86139{number:08}", "purpose": "change-phone"}
    return await api.call("POST", "/api/auth/sms-code", body)


async def asked_often(served: Served, api: Api, times: int = 20) -> None:
    """Ask for codes for different numbers, one in a minute, as an address may not ask more often."""
    for number in range(times):
        served.clock.wait(60)
        expect_success(await ask_for_another(api, number))
    assert len(outbox(served)) == times


async def test_many_requests_at_once_send_no_more_codes_than_in_a_row(served: Served, anna: Api) -> None:
    unknown = {"phone": NOBODYS_PHONE, "purpose": "reset-password"}
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            for number in range(40):
                source = served.api(f"198.51.100.{number}")
                source.token = anna.token
                nursery.start_soon(ask_for_another, source, number)
        await served.api().succeed("POST", "/api/auth/sms-code", unknown)
    assert len(outbox(served)) == 20
    assert "text message not sent" not in str(logs)


async def test_the_page_says_so_and_sends_nothing(served: Served) -> None:
    await with_phone(served, locale="zh-CN")
    await asked_often(served, await sign_in(served))
    served.clock.wait(60)
    browser = await served.sign_in_browser("anna", PASSWORD)
    form = await browser.get("/account/phone")
    page = await browser.submit(form, {"phone": NEW_PHONE}, to="/account/phone")
    assert (page.status_code, "该账号" in page.text) == (429, True)
    assert int(page.headers["retry-after"]) > 60
    assert len(outbox(served)) == 20


# --- recovering the password


async def test_a_wrong_code_leaves_a_trace_whether_or_not_the_number_is_known(served: Served) -> None:
    """Both write to the disk, so their times show no difference."""
    anna = await with_phone(served)
    code = await code_for(served, PHONE, "reset-password")
    for body in (reset(is_not(code)), reset(code, NOBODYS_PHONE)):
        await served.api().fail(422, "A1006", "POST", "/api/auth/reset-password", body)
    admin = await served.administrator()
    entries = await admin.succeed("GET", "/api/audit/events", params={"kind": "text-code-wrong"})
    assert [entry["userId"] for entry in entries["items"]] == [None, anna]
    assert code not in str(entries)
    assert NOBODYS_PHONE not in str(entries)


async def test_no_code_number_or_password_is_in_the_log_or_the_store(tmp_path: Path) -> None:
    stored: list[str] = []

    async def send(served: Served, phone: str, purpose: str, api: Api | None = None) -> str:
        code = await code_for(served, phone, purpose, api)
        stored.extend(to_text(record) for records in served.records().values() for record in records)
        return code

    with capture_logs() as logs:
        async with serving(tmp_path) as served:
            await with_phone(served)
            anna = await sign_in(served)
            changing = await send(served, NEW_PHONE, "change-phone", anna)
            await anna.succeed("PUT", "/api/auth/phone", new_number(changing))
            resetting = await send(served, NEW_PHONE, "reset-password")
            wrong = await anna.call("POST", "/api/auth/reset-password", reset(is_not(resetting), NEW_PHONE))
            expect_refusal(wrong, 422, "A1006")
            await anna.succeed("POST", "/api/auth/reset-password", reset(resetting, NEW_PHONE))
            await sign_in(served, password="another password")
            stored.extend(to_text(record) for records in served.records().values() for record in records)
    shown = f"{logs} {stored}"
    assert "another password" not in shown
    for code in (changing, resetting):
        assert not re.search(rf"(?<![0-9a-f]){code}(?![0-9a-f])", shown)
        # A digest of six digits alone is found by trying them.
        assert Secret(code).digest.hex() not in shown
    assert NEW_PHONE not in str(logs)
