"""A user with one permission can use all that it opens: each route finds its record, and each link of a page
leads to a page that this user may see."""

import itertools
import re
from dataclasses import dataclass
from html import unescape

import httpx

from ostiary_core.model.permissions import Permission
from tests.support.callers import Api, Browser, expect_success, form_token_in
from tests.support.people import HOLDERS_PASSWORD, browser_of, holder_of
from tests.support.served import Served
from tests.web.test_gate import Route, right_content, submit, with_permission

_ASIDE = ("/language", "/static/", "/logout")
"""Links that every page has."""


def _name_in(path: str, record_id: str) -> tuple[str, str]:
    """Return the address of a route that is about this record, and the record's identifier."""
    selected = f"?selected={record_id}" if path.startswith("/admin/selected/") else ""
    return re.sub("<[^>]+>", record_id, path) + selected, record_id


@dataclass
class Records:
    """Records to do something with, new ones for each request."""

    served: Served
    root: Api
    made: int = 0

    async def make(self, route: Route) -> tuple[str, str]:
        """Make the records that a path names; return the path to them, and the record's identifier."""
        self.made += 1
        name = f"made-{self.made}"
        path = route.path
        if "/clients" in path and "people" not in path and "/users" not in path:
            await self.served.client(name)
            if "old-secret" in path:
                await self.root.call("POST", f"/api/oauth/clients/{name}/secret", {"keepOldForSeconds": 3600})
            return _name_in(path, name)
        if "/roles" in path:
            await self.root.succeed("POST", "/api/iam/roles", {"code": name, "name": "R"}, status=201)
            return _name_in(path, name)
        user_id = await self.served.user(name, "a password")
        if "<client_id>" in path:
            await self.served.tokens(await self.served.client(f"{name}-app"), name, "a password")
            path = path.replace("<client_id>", f"{name}-app")
        if "<session_id>" in path or path == "/admin/online/end":
            await self.served.api().sign_in(name, "a password")
            listed = await self.root.call("GET", "/api/monitor/online-users", params={"userId": user_id})
            [session] = expect_success(listed)["items"]
            path = path.replace("<session_id>", session["id"])
            path = path.replace("online/end", f"online/end?selected={session['id']}")
        return _name_in(path, user_id)


async def holders(served: Served) -> dict[Permission, tuple[Api, Browser]]:
    """Return a user for each permission, with a program and a browser."""
    found = {}
    for permission in Permission:
        name = f"has-{permission.replace('.', '-')}"
        api = await holder_of(served, permission, username=name)
        found[permission] = (api, await served.sign_in_browser(name, HOLDERS_PASSWORD))
    return found


async def test_one_permission_opens_all_of_its_routes_and_the_links_of_its_pages(served: Served) -> None:
    records = Records(served, await served.administrator())
    held = await holders(served)
    for route, permission in with_permission():
        if "<run_id>" in route.path:
            continue  # A run is shown to the user who began it: tests/web/resources/test_import_runs.py.
        api, browser = held[permission]
        address, record_id = await records.make(route)
        sent = right_content(route, address, f"sent-{records.made}", record_id)
        if not route.is_page:
            response = await api.call(route.method, address, **sent)
            # The made user has no second factor, so none is shown.
            is_of_factor = (route.method, route.path) == ("GET", "/api/iam/users/<user_id>/second-factor")
            expected = (404,) if is_of_factor else (200, 201)
            assert response.status_code in expected, (str(route), response.text)
            continue
        response = await submit(browser, route, address, sent, form_token_in(await browser.get("/")))
        if response.status_code == 303:
            response = await browser.follow(response)
        assert response.status_code == 200, (str(route), response.status_code, str(response.url))
        for link in _links_of(response):
            found = await browser.get(link)
            assert found.status_code in (200, 303), f"{route} leads to {link}: {found.status_code}"


def _links_of(page: httpx.Response) -> set[str]:
    """Return the addresses of this server that a page links to."""
    found = {unescape(each).partition("#")[0] for each in re.findall('href="(/[^"]*)"', page.text)}
    return {each for each in found if each and not each.startswith(_ASIDE)}


_LISTS = {
    Permission.CLIENT_LIST: ("/admin/clients", "/admin/clients/app"),
    Permission.USER_LIST: ("/admin/people", "/admin/people/{user}"),
    Permission.ROLE_LIST: ("/admin/roles", "/admin/roles/plain"),
    Permission.ONLINE_LIST: ("/admin", "/admin/online"),
    Permission.AUDIT_READ: ("/admin/audit?sessionId={session}", "/admin/audit/sessions/{session}"),
}
"""Pages that a permission to read opens, and that lead on to routes of other permissions."""


_NEEDED = {"/admin/online/end": {Permission.ONLINE_LIST, Permission.ONLINE_KILL}}
"""Routes that a page offers only to a user with more than the permission of the route."""


def _offers_of(page: httpx.Response) -> set[Route]:
    """Return the routes with a permission to which a page leads beside its navigation."""
    assert page.status_code == 200, page.url
    _, _, content = page.text.partition("<main")
    assert content
    pattern = r'(?:method="(\w+)" )?(href|action)="(/[^"?#]*)'
    found = set()
    for method, kind, path in re.findall(pattern, content):
        asked = "GET" if kind == "href" else method.upper()
        for route, _ in sorted(with_permission(), key=lambda each: each[0].path.count("<")):
            if (not asked or asked == route.method) and re.fullmatch(
                re.sub("<[^>]+>", "[^/]+", route.path), path
            ):
                found.add(route)
                break
    return found


async def test_a_page_offers_what_two_permissions_open_together_and_nothing_else(served: Served) -> None:
    root, admin = await served.administrator(), await served.sign_in_browser()
    at = {"user": await served.user("anna", "anna's password")}
    await served.tokens(await served.client(), "anna", "anna's password")
    await root.succeed("POST", "/api/iam/roles", {"code": "plain", "name": "Plain"}, status=201)
    at["session"] = (await root.succeed("GET", "/api/monitor/online-users"))["items"][0]["id"]
    pages = {looked: [page.format(**at) for page in of] for looked, of in _LISTS.items()}
    every = {page: _offers_of(await admin.get(page)) for of in pages.values() for page in of}
    browser = await browser_of(served, Permission.ROLE_LIST, username="holder")
    [role] = (await root.succeed("GET", "/api/iam/roles", params={"q": "holder"}))["items"]
    for looked, other in itertools.product(_LISTS, Permission):
        held = {looked, other}
        await root.succeed("PUT", f"/api/iam/roles/{role['id']}", {"permissions": sorted(held)})
        for page in pages[looked]:
            expected = {
                route for route in every[page] if _NEEDED.get(route.path, {route.gate.permission}) <= held
            }
            offered = _offers_of(await browser.get(page))
            assert offered == expected, (page, held, sorted(map(str, offered ^ expected)))


async def test_super_administrators_see_findings_about_the_server_and_readers_of_clients_those_about_clients(
    served: Served,
) -> None:
    """Findings about the server show the paths of its files and its settings."""
    await served.client(redirectUris=["http://localhost/callback"])
    for names, sees_server, sees_clients in (
        ([Permission.ONLINE_LIST], False, False),
        ([Permission.ONLINE_LIST, Permission.CLIENT_LIST], False, True),
        (list(Permission), False, True),
        (None, True, True),
    ):
        if names is None:
            api, browser = await served.administrator(), await served.sign_in_browser()
        else:
            username = f"holds-{len(names)}"
            api = await holder_of(served, *names, username=username)
            browser = await served.sign_in_browser(username, HOLDERS_PASSWORD)
        told = (await api.succeed("GET", "/api/monitor/overview"))["state"]["findings"]
        about = {finding["about"] for finding in told}
        shown = (await browser.get("/admin")).text
        assert ("client app" in about, "client app" in shown) == (sees_clients, sees_clients)
        assert ("PUBLIC_URL" in about, "PUBLIC_URL" in shown) == (sees_server, sees_server)
        assert str(served.application.settings.data_dir) not in shown or sees_server


async def test_a_user_who_may_only_register_is_led_to_the_form_and_its_outcome(served: Served) -> None:
    browser = await browser_of(served, Permission.USER_CREATE)
    place = "/admin/people/new"
    assert f'href="{place}"' in (await browser.get("/")).text
    sent = {"username": "anna", "name": "Anna", "password": "anna's password"}
    sent["form_token"] = form_token_in(await browser.get(place))
    done = await browser.follow(await browser.post(place, data=sent))
    assert (done.status_code, "Anna is registered." in done.text) == (200, True)
