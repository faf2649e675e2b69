"""Every page is without a serious fault by axe and no wider than the window, and asks no other host."""

from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support.browser import ROOMS, Household, Visit, Visitor, add_person, fill_client
from tests.web.browser.test_signing_in import request_for

LOOKS: Final = {"dark": (360, "color(srgb 0.880784 0.628235 0.723922)"), "light": (1280, "rgb(179, 18, 79)")}
"""The width of the window for each scheme, and how the browser names the colour of `conftest` in it.

The dark scheme mixes the colour with 60 % white."""


def show(visitor: Visitor, scheme: str) -> None:
    """Show the page in a scheme, at the width of this scheme."""
    visitor.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    visitor.page.set_viewport_size({"width": LOOKS[scheme][0], "height": 800})


def test_no_page_has_a_serious_fault(visit: Visit, household: Household) -> None:
    """A narrow dark page is checked by all rules of axe, a wide light page by the rule for contrast."""
    visitor = visit(reduced_motion="reduce")  # or colours would be looked at while they change
    found: dict[str, list[str]] = {}
    for username, paths in ROOMS.items():
        visitor.context.clear_cookies()
        if username:
            visitor.sign_in(username)
        for path in paths:
            show(visitor, "dark")
            visitor.open(request_for(household) if path == "/sso" else path)
            faults = find_serious(visitor)
            faults += ["wider than the window"] if is_too_wide(visitor) else []
            low = visitor.page.evaluate(
                "[...document.querySelectorAll('summary')].some(e => (h => h > 0 && h < 24)(e.offsetHeight))"
            )
            faults += ["a summary of less than 24 px"] if low else []
            show(visitor, "light")
            faults += name_serious(visitor.page.evaluate("axe.run({runOnly: ['color-contrast']})"))
            faults += ["wider than a wide window"] if is_too_wide(visitor) else []
            if faults:
                found[path] = faults
    assert found == {}
    assert visitor.hosts == {urlsplit(household.server).netloc}
    assert visitor.page.locator("img.logo").evaluate("logo => logo.naturalWidth") == 90
    for scheme, (_, color) in LOOKS.items():
        show(visitor, scheme)
        drawn = visitor.page.locator("footer a").first.evaluate("link => getComputedStyle(link).color")
        assert drawn == color
    assert [each for each in visitor.complaints if "Content Security Policy" in each] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_the_longest_names_make_no_page_wider_than_the_window(visit: Visit, width: int) -> None:
    visitor = visit("admin", viewport={"width": width, "height": 800}, java_script_enabled=False)
    name, client_id = f"{width}".ljust(100, "W"), f"w{width}".ljust(64, "w")
    address = "https://app.example/" + "w" * 300
    fill_client(visitor, client_id, address)
    visitor.fill(name=name)
    visitor.press("Register")
    wide = ["the secret"] if is_too_wide(visitor) else []
    add_person(visitor, client_id, name, "long enough")
    person, client = visitor.path, f"/admin/clients/{client_id}"
    query = {"response_type": "code", "client_id": client_id, "redirect_uri": address}
    query |= {"code_challenge": "w" * 43, "code_challenge_method": "S256"}
    for path in (
        *("/admin/clients", client, f"{client}/edit", f"{client}/delete", f"/admin/clients?q={'w' * 200}"),
        *("/admin/people", person, f"{person}/disable", "/admin/audit", f"/sso?{urlencode(query)}"),
    ):
        visitor.open(path)
        assert "ww" in visitor.text.lower() or path == "/admin/audit" or "?q=" in path, path
        wide += [path] if is_too_wide(visitor) else []
    assert wide == []


def is_too_wide(visitor: Visitor) -> bool:
    """Say whether a page must be scrolled sideways while the menus at its head are open."""
    unfold = "menus => { for (const each of menus) each.open = true; }"
    visitor.page.locator(".menu, .app-menu").evaluate_all(unfold)
    return bool(visitor.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def find_serious(visitor: Visitor) -> list[str]:
    """Return the serious faults that axe finds by all of its rules."""
    rules = {"label-content-name-mismatch": {"enabled": True}}
    return name_serious(Axe().run(visitor.page, options={"rules": rules}).response)


def name_serious(report: dict[str, Any]) -> list[str]:
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:120]}"
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
