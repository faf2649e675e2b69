"""Text that other users chose is text on every page: it makes no element, no attribute and no address.

All names contain markup: those of people, roles and clients, the User-Agent of a sign-in and of a token
request, the words of a search, and the fields of a form that is shown again.
"""

import itertools
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import pytest

from ostiary_web.app import factory
from ostiary_web.application.resources.import_rows import MOST_HASHED_IN_A_REQUEST
from ostiary_web.server.brand_color import _rgb, contrast, least_contrast, read_colors
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from tests.support.callers import Browser, Markup, exchange_of, expect_success, form_token_in, sso
from tests.support.files import SHEET, png, sheet_of
from tests.support.served import Served, fill_in, in_memory, serving
from tests.web.test_gate import Route, routes

MANY: Final = MOST_HASHED_IN_A_REQUEST + 1
MARK: Final = "mark7341"
HOSTILE: Final = f"{MARK}'\"><x-{MARK} on{MARK}=1 style=x></title></textarea></pre><!--{{{{7*7}}}}%s&lt;"
SHOWN_AFTER_A_FORM: Final = {
    "/login/second-factor",
    "/login/recovery-codes.txt",
    "/account/second-factor/set-up",
    "/account/second-factor/recovery-codes",
    "/account/second-factor/recovery-codes.txt",
    "/admin/people/invitations",
}
"""Pages that show the outcome of a form, and redirect a browser that has sent none."""
ALLOWED_SCHEMES: Final = ("/", "#", "https://app.example/")


def hold_elements(page: httpx.Response) -> None:
    """Fail if a browser would make an element, an attribute, an address or a comment of a name."""
    assert page.text.rstrip().endswith("</html>"), "nothing swallowed the rest of the page"
    made = Markup(page.text)
    assert made.comments == []
    for tag, attributes in made.elements:
        assert tag != f"x-{MARK}"
        assert tag != "script" or any(name == "src" for name, _ in attributes)
        for name, value in attributes:
            assert MARK not in name
            assert not name.startswith("on")
            assert name != "style"
            if name in ("href", "src", "action", "formaction"):
                assert value.startswith(ALLOWED_SCHEMES), (tag, name, value)
                assert not value.startswith("//")


def harmless(page: httpx.Response, *, shows: bool) -> None:
    assert page.headers["content-type"] == "text/html; charset=utf-8", page.text[:200]
    hold_elements(page)
    without_digests = re.sub("-[0-9a-f]{16}", "", page.text)
    assert "49" not in without_digests.partition(MARK)[2][:200], "nothing is evaluated"
    assert (MARK in page.text) is shows, page.url


@pytest.fixture
async def named(tmp_path: Path) -> AsyncIterator[tuple[Served, Browser, dict[str, str]]]:
    """Yield a server with markup in every name, an administrator's browser, and identifiers of records."""
    async with serving(tmp_path, RATE_LIMIT_SCALE="100", GUESS_LIMIT_SCALE="100") as served:
        api = await served.administrator()
        client = await served.client("app", name=HOSTILE)
        await served.client("asks", name=HOSTILE)
        role = {"code": "clerk", "name": HOSTILE, "permissions": []}
        await api.succeed("POST", "/api/iam/roles", role, status=201)
        user = {"username": "anna", "name": HOSTILE, "password": "anna's password", "roleIds": ["clerk"]}
        user_id = (await api.succeed("POST", "/api/iam/users", user, status=201))["id"]
        me = (await api.succeed("GET", "/api/auth/me"))["id"]
        await api.succeed("PUT", f"/api/iam/users/{me}", {"name": HOSTILE})
        code = await served.code(api)
        agent = served.api(**{"User-Agent": HOSTILE})
        assert (await agent.service("token", client, **exchange_of(code))).status_code == 200
        browser = served.browser(**{"User-Agent": HOSTILE})
        await browser.sign_in()
        [grant] = await api.succeed("GET", "/api/auth/grants")
        new = {"name": HOSTILE[:60], "permissions": ["audit.read"], "expiresInDays": 30}
        token = await api.succeed("POST", "/api/auth/tokens", new, status=201)
        rows = [[f"u{each}", HOSTILE, "long enough"] for each in range(MANY)]
        sheet = [["username", "name", "password"], *rows]
        run = expect_success(await api.import_sheet("/api/iam/users", sheet, "insert"), 202)
        places = {"user": user_id, "owner": me, "client": "app", "role": "clerk", "run": run["id"]}
        yield served, browser, {**places, "session": grant["sessions"][0]["id"], "token": token["id"]}


def addresses(route: Route, at: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of a page about each record that it may be about."""
    path = route.path
    if path == "/sso":
        yield sso("asks")
    elif path.startswith("/admin/selected/"):
        of = {"users": "user", "clients": "client", "roles": "role"}[path.split("/")[3]]
        yield f"{path}?selected={at[of]}"
    elif path == "/admin/online/end":
        yield f"{path}?selected={at['session']}"
    else:
        parts = {
            **dict.fromkeys(("clients", "client_id"), at["client"]),
            "roles": at["role"],
            "run_id": at["run"],
        }
        parts["people"] = at["owner" if "/applications/" in path else "user"]
        parts["session_id"] = at["token" if "/tokens/" in path else "session"]
        yield fill_in(path, **parts)


async def test_no_page_makes_an_element_of_a_name(named: tuple[Served, Browser, dict[str, str]]) -> None:
    _, browser, at = named
    silent, redirected = set(), set()
    for route in routes():
        if not route.is_page or route.method != "GET" or route.path in ("/login", "/recover"):
            continue
        for address in addresses(route, at):
            page = await browser.get(address)
            if page.status_code == 303:
                redirected.add(route.path)
                continue
            assert page.status_code == 200, (address, page.status_code)
            if "attachment" in page.headers.get("content-disposition", ""):
                continue
            harmless(page, shows=MARK in page.text)
            if MARK not in page.text:
                silent.add(route.path)
    assert silent == {"/password", "/invitation"}, "pages that show nobody's name"
    assert redirected == SHOWN_AFTER_A_FORM


async def test_no_page_makes_an_element_of_what_an_address_says(
    named: tuple[Served, Browser, dict[str, str]],
) -> None:
    _, browser, _ = named
    stranger = named[0].browser()
    for path, parameter in (
        *(("/admin/clients", name) for name in ("q", "sort", "page")),
        *(("/admin/audit", "clientId"), ("/admin/audit", "atFrom"), ("/admin/online", "clientId")),
        ("/", HOSTILE),
    ):
        harmless(await browser.get(path, params={parameter: HOSTILE}), shows=True)
    for path, parameter in (("/login", "next"), ("/login", "recovered"), ("/recover", "code"), ("/x", "y")):
        page = await stranger.get(path, params={parameter: f"/{HOSTILE}"})
        hold_elements(page)
        assert f"<x-{MARK}" not in page.text


async def test_no_form_shown_again_makes_an_element(named: tuple[Served, Browser, dict[str, str]]) -> None:
    served, browser, at = named
    for path, values in (
        ("/admin/clients/new", {"clientId": HOSTILE, "redirectUris": HOSTILE, "accessTokenTtl": HOSTILE}),
        ("/admin/clients/app/edit", {"name": "", "redirectUris": HOSTILE}),
        ("/admin/people/new", {"username": HOSTILE, "phone": HOSTILE, "locale": HOSTILE}),
        (f"/admin/people/{at['user']}/edit", {"phone": HOSTILE}),
        ("/admin/roles/new", {"code": HOSTILE}),
        ("/account/phone", {"phone": HOSTILE}),
        ("/account/phone/code", {"phone": HOSTILE, "code": HOSTILE, "password": HOSTILE}),
    ):
        token = form_token_in(await browser.get(path.removesuffix("/code")))
        again = await browser.post(path, data={"form_token": token, **values}, headers={"Origin": "null"})
        assert again.status_code in (400, 422), path
        harmless(again, shows=True)
    for kind, key in (("people", "username"), ("clients", "clientId"), ("roles", "code")):
        for row in (["fine", HOSTILE], [HOSTILE, HOSTILE], ["a", "b", HOSTILE]):
            place = f"/admin/{kind}/import"
            file = {"file": (HOSTILE, sheet_of([[key, "name", HOSTILE][: len(row)], row]), SHEET)}
            values = {"mode": "insert", "preview": "true"}
            harmless(await browser.submit(await browser.get(place), values, to=place, files=file), shows=True)
    stranger = served.browser()
    typed = {"/login": {"username": HOSTILE, "password": "x"}, "/recover": {"phone": HOSTILE}}
    for path, values in typed.items():
        harmless(await stranger.submit(await stranger.get(path), values, to=path), shows=True)


async def test_what_the_operator_calls_a_brand_brings_no_markup_to_any_page(tmp_path: Path) -> None:
    links = "privacy=https://example.com/?a=1&b=\"'<, help=https://example.com/help"
    name, drawing = "<b>Bank & Söhne</b>", tmp_path / "logo.svg"
    drawing.write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    branded = partial(serving, tmp_path, open_store=in_memory(), BRAND_NAME=name, BRAND_LINKS=links)
    async with branded(BRAND_LOGO=str(drawing), BRAND_COLOR="#0A5BD3") as served:
        await served.client()
        browser = served.browser()
        style = logo = ""
        pages = [await browser.get(path) for path in ("/", "/login", "/recover", "/nowhere")]
        await browser.sign_in()
        pages += [await browser.get(path) for path in (sso(), "/password", "/account", "/admin/clients")]
        for page in pages:
            assert "<b>Bank" not in page.text
            assert page.text.count("&lt;b&gt;Bank &amp; Söhne&lt;/b&gt;") >= 2, "the title and the head"
            assert '<a href="https://example.com/?a=1&amp;b=&#34;&#39;&lt;">Privacy</a>' in page.text
            assert '<a href="https://example.com/help">Help</a>' in page.text
            _, style, logo = re.findall('"(/brand/(?:logo|color)-[0-9a-f]{16}[.](?:svg|css))"', page.text)
            assert f'src="{logo}" alt="&lt;b&gt;Bank' in page.text
            assert (" style=" in page.text, "<style" in page.text) == (False, False)
        for address, kind in ((logo, "image/svg+xml"), (style, "text/css")):
            found = (await browser.get(address)).headers
            assert found["content-type"].startswith(kind)
            assert found["x-content-type-options"] == "nosniff"
            assert "immutable" in found["cache-control"]
            assert re.match("default-src 'none';.*; sandbox;", found["content-security-policy"])
        assert "--door: #0a5bd3;" in (await browser.get(style)).text.splitlines()[0]
        chinese = await served.browser(**{"Accept-Language": "zh-CN"}).get("/login")
        assert all(f">{each}</a>" in chinese.text for each in ("隐私", "帮助"))
    drawing.write_bytes(png())
    async with branded(BRAND_LOGO=str(drawing)) as served:
        browser = served.browser()
        page = await browser.get("/login")
        assert (await browser.get(logo)).status_code == 404, "another picture has another address"
        (other,) = set(re.findall('"(/brand/logo-[0-9a-f]{16}[.]png)"', page.text))
        assert (await browser.get(other)).content == png()
    faults = {b"<!DOCTYPE svg [<!ENTITY a 'a'>]><svg/>": "declares entities", b"<svg": "not such a picture"}
    faults |= {b"<html/>": "not such a picture", png()[:40]: "a broken one", b"<" * 262_145: "too large"}
    for content, fault in faults.items():
        drawing.write_bytes(content)
        with pytest.raises(SettingError, match=f"BRAND_LOGO: .*{fault}.*; allowed: .* at most 256 KiB"):
            Settings.from_environment({"BRAND_LOGO": str(drawing)})


def test_no_colour_is_drawn_where_it_cannot_be_read() -> None:
    """An accepted colour has contrast on each ground; with 60 % white, any colour has it on dark pages."""
    css = (Path(factory.__file__).parents[1] / "static/ostiary.css").read_text()
    grounds = {"light": ("#f5f3ee", "#fffefc", "#ffffff"), "dark": ("#131719", "#1b2123", "#0e1d1c")}
    for pages, usual in (("light", "#1f5f5b"), ("dark", "#7fc8c0")):
        for name, value in zip(("ground", "sheet", "on-door", "door"), (*grounds[pages], usual), strict=True):
            assert f"--{name}: {value};" in css
        assert least_contrast(usual, pages) >= 4.5
    for rgb in itertools.product(range(0, 256, 51), repeat=3):
        color = "#{:02x}{:02x}{:02x}".format(*rgb)
        lightened = "#{:02x}{:02x}{:02x}".format(*(round(part * 0.4 + 255 * 0.6) for part in rgb))
        assert least_contrast(lightened, "dark") >= 4.5
        for pages, sent in (("light", color), ("dark", f"#000000,{color}")):
            if least_contrast(color, pages) >= 4.5:
                read_colors(sent)
                assert min(contrast(_rgb(color), _rgb(each)) for each in grounds[pages]) >= 4.5
                continue
            with pytest.raises(ValueError, match=rf"has a contrast of [1-4][.].*:1 on {pages} pages"):
                read_colors(sent)
