"""What must hold of every page: nothing serious from axe, no wider than the window, no other host, no
complaint of the browser, and the headers that keep a page to itself."""

import re
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support.browser import NO_ROOMS, ROOMS, Household, Visit, Visitor, add_person
from tests.support.served import VARIABLE, rules
from tests.web.browser.test_signing_in import request_for

COLORS = {"light": "rgb(179, 18, 79)", "dark": "color(srgb 0.880784 0.628235 0.723922)"}
"""The colour of `conftest`, and with 60 % white, as the browser names them."""


def test_every_route_of_a_page_is_looked_at() -> None:
    looked_at = {urlsplit(room.path).path for room in ROOMS}
    gets = [path for method, path in rules() if method == "GET"]
    for path in gets:
        is_page = not path.startswith(("/api/", "/files/", "/static/", "/healthz", "/readyz"))
        if is_page and not path.endswith(("/export", "/import-template")) and not path.startswith(NO_ROOMS):
            here = re.compile(VARIABLE.sub("[^/]+", path))
            assert any(here.fullmatch(each) for each in looked_at - ({*gets} - {path})), path


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
        serious = find_serious(visitor)
        wide = visitor.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        low = visitor.page.evaluate(
            "[...document.querySelectorAll('summary')].some(e => (h => h > 0 && h < 24)(e.offsetHeight))"
        )
        serious += ["a summary of less than 24 px"] if low else []
        if serious or wide:
            found[room.path] = [*serious, *(["wider than the window"] if wide else [])]
    assert found == {}
    assert visitor.hosts == {urlsplit(household.server).netloc}
    assert visitor.page.locator("img.logo").evaluate("logo => logo.naturalWidth") == 90
    drawn = visitor.page.locator("footer a").first.evaluate("link => getComputedStyle(link).color")
    assert drawn == COLORS[scheme]
    assert [each for each in visitor.complaints if "Content Security Policy" in each] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_the_longest_names_make_no_page_wider_than_the_window(visit: Visit, width: int) -> None:
    visitor = visit("admin", viewport={"width": width, "height": 800}, java_script_enabled=False)
    name, client_id = f"{width}".ljust(100, "W"), f"w{width}".ljust(64, "w")
    address = "https://app.example/" + "w" * 300
    visitor.open("/admin/clients/new")
    visitor.fill(clientId=client_id, name=name, redirectUris=address)
    visitor.page.check("input[value=authorization_code]")
    visitor.page.check("input[name=scopes]")
    visitor.press("Register")
    wide = [] if _fits(visitor) else ["the secret"]
    add_person(visitor, client_id, name, "long enough")
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


def _fits(visitor: Visitor) -> bool:
    main = visitor.page.locator("html")
    fits: bool = main.evaluate("element => element.scrollWidth <= innerWidth")
    return fits


def find_serious(visitor: Visitor) -> list[str]:
    rules = {"label-content-name-mismatch": {"enabled": True}}
    report: dict[str, Any] = Axe().run(visitor.page, options={"rules": rules}).response
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:120]}"
        for violation in report["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
