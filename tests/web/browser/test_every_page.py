"""What must hold of every page: nothing serious from axe, no wider than the window, no other host, no
complaint of the browser, and the headers that keep a page to itself."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.web.browser.household import Household, Visitor
from tests.web.browser.rooms import ROOMS
from tests.web.browser.test_signing_in import request_for

Visit = Callable[..., Visitor]


@pytest.mark.parametrize("width, scheme, locale", [(360, "dark", "zh-CN"), (1280, "light", "en-US")])
def test_no_page_has_a_serious_fault(
    visit: Visit, household: Household, width: int, scheme: str, locale: str
) -> None:
    visitor = visit(viewport={"width": width, "height": 800}, color_scheme=scheme, locale=locale)
    found: dict[str, list[str]] = {}
    signed_in = None
    for room in ROOMS:
        if room.username != signed_in:
            visitor.context.clear_cookies()
            if room.username is not None:
                visitor.sign_in(room.username)
            signed_in = room.username
        visitor.open(request_for(household) if room.path == "/sso" else room.path)
        serious = _serious(visitor)
        wide = visitor.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if serious or wide:
            found[room.path] = [*serious, *(["wider than the window"] if wide else [])]
    assert found == {}
    assert visitor.hosts == {household.server.removeprefix("http://")}
    assert [each for each in visitor.complaints if "Content Security Policy" in each] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_the_longest_names_make_no_page_wider_than_the_window(visit: Visit, width: int) -> None:
    visitor = visit(viewport={"width": width, "height": 800}, java_script_enabled=False)
    visitor.sign_in("admin")
    name, client_id = f"{width}".ljust(100, "W"), f"w{width}".ljust(64, "w")
    address = "https://app.example/" + "w" * 300
    visitor.open("/admin/clients/new")
    visitor.page.fill("#clientId", client_id)
    visitor.page.fill("#name", name)
    visitor.page.fill("#redirectUris", address)
    visitor.page.check("input[value=authorization_code]")
    visitor.page.check("input[name=scopes]")
    visitor.press("Register")
    wide = [] if _fits(visitor) else ["the secret"]
    visitor.open("/admin/people/new")
    visitor.page.fill("#username", client_id)
    visitor.page.fill("#name", name)
    visitor.page.fill("#password", "long enough")
    visitor.press("Save")
    person = visitor.path
    query = {"response_type": "code", "client_id": client_id, "redirect_uri": address}
    query |= {"code_challenge": "w" * 43, "code_challenge_method": "S256"}
    for path in (
        "/admin/clients",
        f"/admin/clients/{client_id}",
        f"/admin/clients/{client_id}/edit",
        f"/admin/clients/{client_id}/delete",
        f"/admin/clients?q={'w' * 200}",
        "/admin/people",
        person,
        f"{person}/disable",
        "/admin/audit",
        f"/sso?{urlencode(query)}",
    ):
        visitor.open(path)
        assert "ww" in visitor.text.lower() or path == "/admin/audit" or "?q=" in path, path
        wide += [] if _fits(visitor) else [path]
    assert wide == []


def test_no_table_breaks_a_short_word(visit: Visit, household: Household) -> None:
    """Nor a heading, a time, an address or an id with a hyphen, also where long names need the room."""
    visitor = visit(java_script_enabled=True)
    visitor.open(request_for(household))
    visitor.sign_in("liwei")
    if visitor.path == "/sso":
        visitor.agree()
    visitor.context.clear_cookies()
    visitor.sign_in("admin")
    visitor.open("/admin/clients/new")
    visitor.page.fill("#clientId", "q" * 64)
    visitor.page.fill("#name", "Q" * 100)
    visitor.page.fill("#redirectUris", "https://app.example/")
    visitor.page.check("input[value=authorization_code]")
    visitor.page.check("input[name=scopes]")
    visitor.press("Register")
    broken: dict[str, list[str]] = {}
    for path in (
        "/admin/clients",
        "/admin/people",
        "/admin/online",
        "/admin/audit",
        "/admin/audit?clientId=demo-shop",
        f"/admin/audit?clientId={'q' * 64}",
        "/account/sessions",
    ):
        visitor.open(path)
        found = visitor.page.evaluate(_BROKEN_WORDS)
        if found or not _fits(visitor):
            broken[path] = found
    assert broken == {}


_BROKEN_WORDS = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll(".table th, .table td:not(.long)")) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, word.index);
        range.setEnd(walker.currentNode, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(box => box.top));
        if (lines.size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""
"""The words of a page's tables that stand on more than one line, those in cells of long names left out."""


def _fits(visitor: Visitor) -> bool:
    main = visitor.page.locator("html")
    fits: bool = main.evaluate("element => element.scrollWidth <= innerWidth")
    return fits


def _serious(visitor: Visitor) -> list[str]:
    report: dict[str, Any] = Axe().run(visitor.page).response
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:120]}"
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
