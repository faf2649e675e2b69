"""Pages on which a user enters a code from a text message: they load again, and send another code."""

import pytest

from tests.support.callers import Browser, forms_in
from tests.support.people import NEW_PHONE, PASSWORD, PHONE, outbox, with_phone
from tests.support.served import Served

PLACES = [("/recover", PHONE), ("/account/phone", NEW_PHONE)]


async def ask(served: Served, place: str, phone: str) -> tuple[Browser, str]:
    """Ask for a code in a browser; return the browser and the address of the next page."""
    await with_phone(served)
    signs_in = place.startswith("/account")
    browser = await served.sign_in_browser("anna", PASSWORD) if signs_in else served.browser()
    sent = await browser.submit(await browser.get(place), {"phone": phone}, to=place)
    assert sent.status_code == 303
    return browser, sent.headers["location"]


@pytest.mark.parametrize("place, phone", PLACES)
async def test_the_page_of_a_code_can_be_loaded_again(served: Served, place: str, phone: str) -> None:
    browser, address = await ask(served, place, phone)
    assert phone.lstrip("+") not in address
    assert phone.lstrip("+") not in str(dict(browser.cookies))
    for _ in range(2):
        page = await browser.get(address)
        assert page.status_code == 200
        fields = [form.fields for form in forms_in(page) if "code" in form.fields]
        assert [each["phone"] for each in fields] == [phone]
    assert len(outbox(served)) == 1


async def test_the_wait_does_not_show_whether_a_number_is_known(served: Served) -> None:
    known, address = await ask(served, "/recover", PHONE)
    stranger = served.browser()
    await stranger.submit(await stranger.get("/recover"), {"phone": "+8613899999999"}, to="/recover")
    for each in (known, stranger):
        assert "Another one can be sent in 60 s." in (await each.get(address)).text


async def test_a_kept_number_ends_with_ten_minutes_with_its_user_or_by_a_change(served: Served) -> None:
    browser, address = await ask(served, "/account/phone", NEW_PHONE)
    (name,) = [name for name in browser.cookies if "kept" in name]
    sealed = browser.cookies[name]
    other = await served.sign_in_browser()
    other.cookies.set(name, sealed)
    assert NEW_PHONE not in (await other.get(address)).text
    for wrong in (sealed[:-1] + ("A" if sealed[-1] != "A" else "Q"), sealed[:20], "!!", ""):
        browser.cookies.clear()
        await browser.sign_in("anna", PASSWORD)
        page = await browser.get(address, headers={"Cookie": f"{_all(browser)}; {name}={wrong}"})
        assert page.status_code == 200
        assert NEW_PHONE not in page.text
    kept = {"Cookie": f"{_all(browser)}; {name}={sealed}"}
    assert NEW_PHONE in (await browser.get(address, headers=kept)).text
    served.clock.wait(600)
    assert NEW_PHONE not in (await browser.get(address, headers=kept)).text


def _all(browser: Browser) -> str:
    return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
