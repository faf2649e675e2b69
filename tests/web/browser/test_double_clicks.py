"""The second click of a double click on another site's window lands on a button of ours, and does nothing."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Error, Page, expect

from tests.support.browser import ROOMS, Household, Visit, Visitor, register_client
from tests.web.browser.test_signing_in import request_for

FOREIGN = "http://localhost:1"
OPENS = f"<button onclick=\"open('{FOREIGN}/small', '_blank', 'width=300,height=300')\">A prize</button>"
QUESTION = '<button type="submit" class="danger">'
SCRIPT = "**/static/once*.js"
CLOSES = "<script>onmousedown = () => window.close(); opener.location = '{target}'</script>Double click here"
"""The small window leads the window behind it to a page of ours, and closes at the first click."""


def press_where_it_lies(page: Page, button: str) -> None:
    """Press the mouse as the second click of a double click, without moving the pointer."""
    box = page.locator(button).bounding_box()
    assert box is not None
    pressing = page.context.new_cdp_session(page)
    for kind in ("mousePressed", "mouseReleased"):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        pressing.send("Input.dispatchMouseEvent", {"type": kind, "button": "left", "clickCount": 2, **place})


def steal_a_double_click(visitor: Visitor, path: str, button: str) -> None:
    """Lead the visitor's window to a page of ours, and have the second click land on its button."""
    page, target = visitor.page, visitor.household.server + path
    pages = {f"{FOREIGN}/": OPENS, f"{FOREIGN}/small": CLOSES.format(target=target)}
    visitor.context.route(
        f"{FOREIGN}/**", lambda route: route.fulfill(body=pages[route.request.url], content_type="text/html")
    )
    page.goto(f"{FOREIGN}/")
    with page.expect_popup() as opened:
        page.get_by_text("A prize").click()
    page.locator(button).wait_for()
    small = opened.value
    with small.expect_event("close"):
        small.mouse.move(50, 50)
        # It may be gone before the press is answered.
        with suppress(Error):
            small.mouse.down()
    press_where_it_lies(page, button)


@pytest.mark.parametrize("script", [False, True])
def test_a_double_click_elsewhere_is_no_approval(visit: Visit, household: Household, script: bool) -> None:
    """The attack succeeds without our script, and fails with it."""
    administrator = visit("admin")
    callback, client = f"{household.shop}/callback", f"clicked-{script}".lower()
    register_client(administrator, client, callback)
    if not script:
        administrator.context.route(SCRIPT, lambda route: route.abort())
    asked = request_for(household, client_id=client, redirect_uri=callback)
    steal_a_double_click(administrator, asked, "button[value=approve]")
    if not script:
        administrator.page.wait_for_url(f"{household.shop}/**")
        return
    expect(administrator.page.get_by_role("alert")).to_contain_text("press again")
    assert administrator.path == "/sso"


def test_another_site_leads_to_no_question_but_to_what_it_is_about(visit: Visit) -> None:
    """This holds without a script too. Only `/sso` asks its question at once, as clients lead users there."""
    visitor = visit("admin")
    visitor.context.route(SCRIPT, lambda route: route.abort())
    steal_a_double_click(visitor, "/admin/online/end-all", "main h1")
    assert visitor.path == "/admin/online"
    asked = 0
    for path in ROOMS["admin"]:
        address = visitor.household.server + path
        if QUESTION not in visitor.context.request.get(address).text():
            continue
        asked += 1
        for site in ("cross-site", "same-site"):
            led = visitor.context.request.get(address, headers={"Sec-Fetch-Site": site})
            assert led.url != address
            assert QUESTION not in led.text(), path
    assert asked >= 8


def hold_enter(page: Page) -> None:
    """Send the Enter key as if the user pressed it in another window and still holds it."""
    pressing = page.context.new_cdp_session(page)
    held = {"type": "keyDown", "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
    pressing.send("Input.dispatchKeyEvent", {**held, "autoRepeat": True})


BUTTON = "main form[action$='/account/language'] button"
PRESSES: dict[str, Callable[[Page], object]] = {
    "mouse": lambda page: page.locator(BUTTON).click(force=True),
    "touch": lambda page: page.locator(BUTTON).tap(force=True),
    "key": lambda page: page.locator(BUTTON).press("Enter"),
    "screen reader": lambda page: page.locator(BUTTON).evaluate("button => button.click()"),
}


@pytest.mark.parametrize("way", PRESSES)
def test_a_press_counts_when_the_page_was_in_front_for_half_a_second(visit: Visit, way: str) -> None:
    """An earlier press shows an alert, and starts the half second again."""
    visitor = visit("admin", has_touch=True)
    page, press, sent = visitor.page, PRESSES[way], []
    page.clock.install(time=0)
    visitor.open("/account")
    page.clock.pause_at(10_000)
    page.locator(BUTTON).scroll_into_view_if_needed()
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.on("request", lambda request: sent.append(request.method))
    for waited in (0, 300, 499):
        page.clock.run_for(waited)
        press(page)
        expect(page.get_by_role("alert")).to_have_count(1)
        assert sent == []
    page.clock.run_for(500)
    press(page)
    page.get_by_text("Saved.").wait_for()
    assert sent[0] == "POST"


@pytest.mark.parametrize("foreign", ["mouse that lies still", "key that is held"])
def test_a_press_that_began_elsewhere_does_not_count_and_the_next_does(visit: Visit, foreign: str) -> None:
    visitor = visit("admin")
    page = visitor.page
    page.clock.install(time=0)
    visitor.open("/account")
    page.locator(BUTTON).focus()
    page.clock.pause_at(10_000)
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.clock.run_for(600)
    if foreign == "key that is held":
        hold_enter(page)
    else:
        press_where_it_lies(page, BUTTON)
    expect(page.get_by_role("alert")).to_have_count(1)
    assert visitor.path == "/account"
    page.clock.run_for(500)
    press_where_it_lies(page, BUTTON)
    page.get_by_text("Saved.").wait_for()
