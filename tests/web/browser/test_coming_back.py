"""A browser goes back and reloads, shows a password, and copies with a clipboard and without."""

import re
from base64 import b32decode
from time import time

import pytest

from ostiary_core.model.instant import Instant
from ostiary_core.model.one_time_password import one_time_password, step_at
from tests.support.browser import PASSWORD, Visit, Visitor, add_person, register_client

PLACE = "/account/second-factor"


def begin(visit: Visit, name: str) -> Visitor:
    """Add a user, and open the page that shows this user a new second factor."""
    add_person(visit("admin"), name, name, "chosen for you")
    visitor = visit()
    visitor.sign_in(name, "chosen for you")
    visitor.fill(old_password="chosen for you", new_password=PASSWORD)
    visitor.press("Change password")
    visitor.open(PLACE)
    visitor.fill(password=PASSWORD)
    visitor.press("Set up a second factor")
    return visitor


def test_no_way_back_from_a_second_factor_asks_to_send_a_form_again(visit: Visit) -> None:
    visitor = begin(visit, "goes-back")
    page = visitor.page
    assert visitor.path == f"{PLACE}/set-up"
    secret = page.get_attribute("#secret", "data-copy") or ""
    now = step_at(Instant(round(time() * 1000)))
    near = {one_time_password(b32decode(secret), now + step) for step in (-1, 0, 1, 2)}
    visitor.fill(code=next(text for number in range(9) if (text := f"{number:06}") not in near))
    visitor.press("Confirm")
    assert page.locator("[role=alert]").count() == 1
    assert visitor.path == f"{PLACE}/set-up", "and not where its form is sent"
    visitor.fill(code=one_time_password(b32decode(secret), step_at(Instant(round(time() * 1000)))))
    visitor.press("Confirm")
    page.wait_for_url("**/account")
    for _ in range(3):
        answer = page.go_back()
        assert not page.url.startswith("chrome-error:")
        assert answer is None or answer.ok
        assert answer is None or answer.request.method == "GET"


def test_a_password_is_shown_while_its_user_wants_to_see_it(visit: Visit) -> None:
    visitor = visit()
    visitor.open("/login")
    visitor.fill(password="seen")
    visitor.press("Show")
    assert visitor.page.get_attribute("#password", "type") == "text"
    visitor.press("Hide")
    assert visitor.page.get_attribute("#password", "type") == "password"
    plain = visit(java_script_enabled=False)
    plain.open("/login")
    assert plain.page.locator("main button").count() == 1


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_copying_works_with_a_clipboard_and_without(visit: Visit, has_clipboard: bool) -> None:
    """A page that another machine serves over plain HTTP has no clipboard."""
    visitor = begin(visit, f"copies-{has_clipboard}".lower())
    page = visitor.page
    if has_clipboard:
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    else:
        page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.evaluate("addEventListener('copy', e => { given = e.clipboardData.getData('text/plain') })")
    page.locator("[data-copies=secret]").click()
    page.locator("[data-copies=secret]").get_by_text("Copied").wait_for()
    given = page.evaluate("navigator.clipboard.readText()" if has_clipboard else "given")
    assert given == page.get_attribute("#secret", "data-copy")


def test_what_is_shown_once_is_neither_made_nor_shown_again_by_a_reload(visit: Visit) -> None:
    visitor = visit("admin")
    secret = register_client(visitor, "shown-once")
    assert secret
    for come_back in (visitor.page.reload, visitor.page.go_back, visitor.page.go_forward):
        answer = come_back()
        assert answer is None or (answer.ok, answer.request.method) == (True, "GET")
        assert secret not in visitor.page.content()
    visitor.open("/account/tokens")
    visitor.fill(name="reloaded")
    visitor.page.check("input[value='audit.read']")
    visitor.press("Create a token")
    token = visitor.page.inner_text("#token-text")
    visitor.page.reload()
    assert token not in visitor.page.content()
    assert visitor.page.locator("tbody tr").count() == 1


def test_an_invitation_is_copied_alone_and_survives_another_language(visit: Visit) -> None:
    administrator = visit("admin")
    add_person(administrator, "invited", "Invited", "chosen for you")
    administrator.press("Invite")
    administrator.press("Invite")
    link = administrator.page.inner_text("#link-1")
    assert administrator.page.locator("[data-copies]:visible").count() == 1
    invited = visit()
    invited.page.goto(link)
    assert not invited.page.is_visible("#invitation")
    invited.fill(new_password="short")
    invited.page.evaluate("document.querySelector('main form').noValidate = true")
    invited.press("Set the password")
    assert invited.page.locator("[role=alert]").count() == 1
    invited.page.get_by_text("\N{CJK UNIFIED IDEOGRAPH-4E2D}\N{CJK UNIFIED IDEOGRAPH-6587}").click()
    invited.page.wait_for_url("**/invitation#*")
    invited.fill(new_password=PASSWORD)
    invited.page.locator("main button[type=submit]").click()
    invited.page.wait_for_url(re.compile("/login"))
    invited.sign_in("invited")
    assert invited.page.get_by_text("Invited").count()
