"""A second factor in a real browser: set up by a QR code and a first code, asked for at sign-in, removed."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.shared.authenticator import STEP_MS, code_at
from tests.support.browser import PASSWORD, Visitor
from tests.web.browser.test_every_page import find_serious

Visit = Callable[..., Visitor]

ANOTHER = "another password"
_PICTURES = os.environ.get("OSTIARY_PICTURES")
"""A folder for pictures of pages that only a form leads to; none are made without."""


def look_at(visitor: Visitor, name: str) -> None:
    """Nothing serious from axe, and no wider than the window."""
    assert find_serious(visitor) == []
    assert not visitor.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    if _PICTURES:
        visitor.page.screenshot(path=Path(_PICTURES) / f"{name}.png", full_page=True)


def authenticator_code(secret: str) -> str:
    return code_at(secret, int(time.time() * 1_000) // STEP_MS)


@pytest.mark.parametrize("width, locale", [(360, "zh-CN"), (1280, "en-US"), (360, "en-US"), (1280, "zh-CN")])
def test_a_second_factor_is_set_up_asked_for_and_removed(visit: Visit, width: int, locale: str) -> None:
    # A new user, as nobody signs in as before who has one.
    name = f"frank-{width}-{locale}".lower()
    administrator = visit(java_script_enabled=False)
    administrator.sign_in("admin")
    administrator.open("/admin/people/new")
    administrator.fill(username=name, name="Frank", password=PASSWORD)
    administrator.press("Save")

    visitor = visit(
        viewport={"width": width, "height": 800},
        locale=locale,
        color_scheme="dark" if width == 360 else "light",
    )
    visitor.sign_in(name)
    if visitor.path == "/password":
        visitor.fill(
            old_password=PASSWORD, new_password="another password", new_password_again="another password"
        )
        visitor.page.locator("main button[type=submit]").click()
    visitor.open("/account/second-factor")
    look_at(visitor, f"begin-{width}-{locale}")
    visitor.fill(password=ANOTHER)
    visitor.page.locator("main button[type=submit]").click()
    assert visitor.page.locator(".qr-code svg").is_visible()
    assert visitor.page.locator(".recovery-codes li").count() == 10
    recovery = visitor.page.locator(".recovery-codes li").first.inner_text()
    secret = visitor.page.inner_text(".secret").replace(" ", "").strip()
    visitor.fill(code="000000")
    visitor.page.locator("main button[type=submit]").click()
    assert visitor.page.inner_text(".secret").replace(" ", "").strip() == secret
    look_at(visitor, f"set-up-{width}-{locale}")
    visitor.fill(code=authenticator_code(secret))
    visitor.page.locator("main button[type=submit]").click()
    assert visitor.path == "/account"

    visitor.context.clear_cookies()
    visitor.open("/login?next=/account/second-factor")
    visitor.sign_in(name, ANOTHER)
    assert visitor.page.locator("#code").is_visible()
    look_at(visitor, f"code-{width}-{locale}")
    visitor.fill(code=recovery)
    visitor.page.locator("main button[type=submit]").click()
    assert visitor.path == "/account/second-factor"
    look_at(visitor, f"change-{width}-{locale}")
    visitor.fill(remove_password=ANOTHER)
    second = code_at(secret, int(time.time() * 1_000) // STEP_MS + 1)
    visitor.fill(remove_code=second)
    visitor.page.locator("form[action$='/remove'] button").click()
    assert visitor.path == "/account"
    assert [each for each in visitor.complaints if "Content Security Policy" in each] == []
