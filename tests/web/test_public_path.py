"""A server under a path of its own (`PUBLIC_URL=https://id.example/auth`): all addresses that it gives out
begin with that path, and a request without it is answered 404."""

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from ostiary_web.pages.static_files import static_address
from tests.support.callers import ADMIN_PASSWORD, REDIRECT_URI, Browser, Markup, sso
from tests.support.connections import DOORS, Door
from tests.support.served import in_memory, routes, serving
from tests.web.test_every_route import PAGES

PATH = "/auth"
serving_here = partial(serving, PUBLIC_URL=f"https://id.example{PATH}", API_DOCS_ENABLED="true")
HEALTH = ("/healthz", "/readyz", f"{PATH}/healthz", f"{PATH}/readyz")


def addresses_in(page: httpx.Response) -> list[str]:
    """Return every address in a page that leads to another page or file."""
    if not page.headers.get("content-type", "").startswith("text/html"):
        return []
    given = [each for _, attributes in Markup(page.text).elements for each in attributes]
    found = [value for name, value in given if value and name in ("href", "src", "action", "formaction")]
    return [each for each in found if not each.startswith(("#", "data:"))]


def faults_of(answer: httpx.Response) -> list[str]:
    """Return the addresses and cookies in an answer that are not under the path."""
    said = [*addresses_in(answer), *answer.headers.get_list("location")]
    cookies = answer.headers.get_list("set-cookie")
    named = ("__Secure-ostiary_", "ostiary_language=")
    return [
        *(each for each in said if not each.startswith(f"{PATH}/")),
        *(each for each in cookies if not each.startswith(named) or f"Path={PATH}" not in each.split("; ")),
    ]


async def walk(browser: Browser, *beginnings: str) -> set[str]:
    """Follow every link, and return the paths that were answered 200."""
    waiting = [f"{PATH}{each}" for each in beginnings]
    known, shown = set(waiting), set()
    while waiting:
        address = waiting.pop()
        answer = await browser.get(f"https://id.example{address}")
        assert faults_of(answer) == [], address
        if answer.status_code == 200:
            shown.add(urlsplit(address).path.removeprefix(PATH))
        for each in {urlsplit(found).path for found in addresses_in(answer)} - known:
            known.add(each)
            waiting.append(each)
    return shown


async def test_every_page_leads_on_under_the_path(tmp_path: Path) -> None:
    async with serving_here(tmp_path) as served:
        await served.client()
        browser = served.browser()
        shown = await walk(browser, *PAGES, sso())
        assert shown >= {"/", "/login", "/recover", static_address("ostiary.css"), static_address("once.js")}
        page = await browser.get("/login", params={"next": sso()})
        values = {"username": "admin", "password": ADMIN_PASSWORD}
        signed_in = await browser.submit(page, values, to=f"{PATH}/login")
        assert signed_in.headers["location"] == f"{PATH}{sso()}"
        assert faults_of(signed_in) == []
        shown = await walk(browser, *PAGES, sso(), "/api/docs")
        assert shown >= {"/account", "/sso", "/admin/clients/app/edit", "/admin/audit", "/api/docs/start.js"}
        for method, path in routes():
            if method == "POST" and not path.startswith("/api/"):
                assert faults_of(await browser.post(path)) == [], path
        consent = await browser.submit(await browser.get(sso()), {"decision": "approve"}, to=f"{PATH}/sso")
        assert consent.headers["location"].startswith(REDIRECT_URI), "what is not ours stays as it is"
        assert "https://id.example/auth/api/oauth2/token" in (await browser.get("/admin/clients/app")).text
        assert (await browser.get("/api/docs-json")).json()["servers"] == [{"url": PATH}]
        signed_out = await browser.submit(await browser.get("/"), to=f"{PATH}/logout")
        assert (signed_out.status_code, faults_of(signed_out)) == (303, [])
        assert not any("access" in name or "refresh" in name for name in browser.cookies)


@pytest.mark.parametrize("door", DOORS)
async def test_backends_are_answered_there_and_nowhere_else(tmp_path: Path, door: Door) -> None:
    async with serving_here(tmp_path, open_store=in_memory(), door=door) as served:
        client = await served.client()
        issued = await served.tokens(client)
        api = served.api()
        assert await api.is_active(client, issued["access_token"])
        bearer = {"Authorization": f"Bearer {issued['access_token']}"}
        assert (await api.get("/api/oauth2/userinfo", headers=bearer)).json()["data"]["username"] == "admin"
        too_long = await api.post("/api/oauth2/token", data={"x": "x" * 70_000})
        assert too_long.json()["error"] == "invalid_request", "refused in the form of where it was going"
        assert (await api.get(f"https://id.example{PATH}")).status_code == 200
        assert [(await api.get(f"https://id.example{each}")).status_code for each in HEALTH] == [200] * 4
        stranger = served.browser(Accept="*/*")
        stranger.is_held_to_document = False
        with capture_logs() as logs:
            for path in ("/", "/login", "/authx/login", "/%61uth/login", "/auth/auth/login", "/auth//login"):
                elsewhere = await stranger.get("https://id.example/", extensions={"target": path.encode()})
                assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "A0404"), path
            outside = await stranger.post("https://id.example/api/oauth2/token", auth=client.basic)
            assert (outside.status_code, outside.json()["code"]) == (404, "A0404")
        assert [each["log_level"] for each in logs if "public_path" in each] == ["warning"], "said once"
