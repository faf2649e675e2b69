"""A new telephone number asks for the current password, as a lost one is recovered with it (READINGS 41)."""

from typing import Any

from tests.support.callers import Api, Browser, forms_in
from tests.support.people import (
    ANNAS_PHONE,
    NEW_PHONE,
    PASSWORD,
    code_sent_to,
    new_number,
    outbox,
    with_phone,
)
from tests.support.served import Served

# --- the password


async def test_a_new_number_needs_the_current_password_and_a_wrong_one_spends_no_code(
    served: Served, anna: Api
) -> None:
    code = await code_sent_to(served, NEW_PHONE, "change-phone", anna)
    await anna.fail(422, "A1005", "PUT", "/api/auth/phone", new_number(code, "wrong"))
    assert (await anna.succeed("GET", "/api/auth/me"))["phone"] == ANNAS_PHONE
    assert await anna.succeed("PUT", "/api/auth/phone", new_number(code)) is None
    assert (await anna.succeed("GET", "/api/auth/me"))["phone"] == NEW_PHONE


async def at_the_code(served: Served) -> tuple[Browser, Any, str]:
    """A browser on the form that asks for the code, and the code."""
    browser = await served.sign_in_browser("anna", PASSWORD)
    page = await browser.submit(
        await browser.get("/account/phone"), {"phone": NEW_PHONE}, to="/account/phone"
    )
    return browser, page, outbox(served)[-1]["code"]


async def test_the_page_asks_for_the_current_password_with_the_code(served: Served) -> None:
    await with_phone(served)
    browser, page, code = await at_the_code(served)
    (form,) = [form for form in forms_in(page) if form.action == "/account/phone/code"]
    assert {"phone", "code", "password"} <= set(form.fields)
    assert 'autocomplete="current-password"' in page.text
    to = "/account/phone/code"
    wrong = await browser.submit(page, {"code": code, "password": "wrong"}, to=to)
    assert wrong.status_code == 422
    assert "The current password is wrong." in wrong.text
    done = await browser.submit(wrong, {"code": code, "password": PASSWORD}, to=to)
    assert (await browser.follow(done)).status_code == 200
    assert NEW_PHONE in (await browser.get("/account")).text


async def test_five_wrong_passwords_sign_out_and_the_page_says_why(served: Served) -> None:
    await with_phone(served)
    browser, page, code = await at_the_code(served)
    for _ in range(4):
        await browser.submit(page, {"code": code, "password": "wrong"}, to="/account/phone/code")
    last = await browser.submit(page, {"code": code, "password": "wrong"}, to="/account/phone/code")
    assert "you have been signed out" in last.text
    assert [form.action for form in forms_in(last) if "username" in form.fields] == ["/login"]
