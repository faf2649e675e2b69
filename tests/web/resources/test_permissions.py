"""Permissions and endpoints: every route with every permission, and exactly the declared one opens it."""

import re
from pathlib import Path
from typing import Any

from ostiary_core.model.permissions import Permission
from ostiary_web.resources import clients, roles, users
from ostiary_web.resources.permissions import DESCRIPTIONS
from tests.rows import row
from tests.web.envelopes import refused, succeeded
from tests.web.holders import holder_of
from tests.web.permissions_page import Endpoint, endpoints
from tests.web.resources.sheets import sheet_of
from tests.web.served import in_memory, serving

_GUARDED = [endpoint for endpoint in endpoints() if endpoint.permission is not None]

_KEYS = {"clients": "clientId", "users": "username", "roles": "code"}

_TABLE = {
    (f"{method} {declared.path}{rest}", getattr(declared.permissions, action))
    for declared in (clients.DECLARED, users.DECLARED, roles.DECLARED)
    for method, rest, action in (
        ("GET", "", "list"),
        ("GET", "/options", "list"),
        ("GET", "/export", "list"),
        ("GET", "/<record_id>", "list"),
        ("GET", "/import-template", "create"),
        ("POST", "", "create"),
        ("POST", "/import", "create"),
        ("PUT", "/<record_id>", "update"),
        ("DELETE", "/<record_id>", "delete"),
        ("POST", "/batch-delete", "delete"),
    )
} | {
    ("PUT /api/oauth/clients/<record_id>/enabled", Permission.CLIENT_UPDATE),
    ("POST /api/oauth/clients/<client_id>/secret", Permission.CLIENT_UPDATE),
    ("DELETE /api/oauth/clients/<client_id>/old-secret", Permission.CLIENT_UPDATE),
    ("GET /api/oauth/clients/<client_id>/sessions", Permission.CLIENT_LIST),
    ("PUT /api/iam/users/<record_id>/enabled", Permission.USER_UPDATE),
    ("PUT /api/iam/users/<user_id>/password", Permission.USER_UPDATE),
    ("POST /api/iam/users/<user_id>/force-logout", Permission.USER_UPDATE),
    ("GET /api/iam/permissions", Permission.ROLE_LIST),
    ("GET /api/monitor/online-users", Permission.ONLINE_LIST),
    ("DELETE /api/monitor/online-users/<session_id>", Permission.ONLINE_KILL),
    ("GET /api/audit/events", Permission.AUDIT_READ),
    ("GET /api/audit/sessions/<session_id>/explain", Permission.AUDIT_READ),
}
"""What the interface's pages promise, written down a second time."""


def request_for(endpoint: Endpoint) -> dict[str, Any]:
    """What gets as far as the rules, and is refused there for another reason or changes nothing."""
    last = endpoint.path.rpartition("/")[2]
    match endpoint.method, last:
        case "POST", "import":
            [key] = [name for kind, name in _KEYS.items() if kind in endpoint.path]
            file = sheet_of([[key], ["no identifier"]])
            return {"files": {"file": ("rows.xlsx", file)}, "data": {"mode": "insert"}}
        case "POST", "batch-delete":
            return {"json": {"ids": ["nobody"]}}
        case "PUT", "enabled":
            return {"json": {"enabled": True}}
        case "PUT", "password":
            return {"json": {"password": "long enough"}}
        case ("POST", "clients" | "users" | "roles") | ("PUT", _):
            return {"json": {}}
        case _:
            return {}


def test_every_endpoint_has_the_permission_that_is_written_down() -> None:
    assert {(f"{each.method} {each.path}", each.permission) for each in _GUARDED} == _TABLE


def test_every_permission_opens_something_and_is_described() -> None:
    assert {each.permission for each in _GUARDED} == set(Permission) == set(DESCRIPTIONS)
    assert all(words.en and words.zh for words in DESCRIPTIONS.values())


@row("General envelope and status codes", "403")
async def test_exactly_the_declared_permission_opens_an_endpoint(tmp_path: Path) -> None:
    """The route and the rules behind it must agree: whoever passes one alone is not let in."""
    async with serving(tmp_path, open_store=in_memory(), RATE_LIMIT_SCALE="1000") as served:
        holders = {
            permission: await holder_of(served, permission, username=permission.value.replace(".", "-"))
            for permission in Permission
        }
        opened = 0
        for endpoint in _GUARDED:
            path = re.sub("<[^>]+>", "nobody", endpoint.path)
            for permission, api in holders.items():
                response = await api.call(endpoint.method, path, **request_for(endpoint))
                if permission is endpoint.permission:
                    assert response.status_code in (200, 400, 404), (endpoint, response.text)
                    opened += 1
                else:
                    refused(response, 403, "A0403")
        assert opened == len(_GUARDED)


async def test_all_permissions_but_one_do_not_make_up_for_it(tmp_path: Path) -> None:
    async with serving(tmp_path, open_store=in_memory(), RATE_LIMIT_SCALE="1000") as served:
        for missing in Permission:
            rest = [permission for permission in Permission if permission is not missing]
            api = await holder_of(served, *rest, username=f"not-{missing.value.replace('.', '-')}")
            for endpoint in (each for each in _GUARDED if each.permission is missing):
                path = re.sub("<[^>]+>", "nobody", endpoint.path)
                refused(await api.call(endpoint.method, path, **request_for(endpoint)), 403, "A0403")


async def test_who_must_change_the_password_first_opens_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, open_store=in_memory(), RATE_LIMIT_SCALE="1000") as served:
        api = await served.administrator()
        body = {"username": "new", "name": "New", "password": "first password", "roleIds": ["super_admin"]}
        succeeded(await api.call("POST", "/api/iam/users", body), 201)
        new = served.api()
        await new.sign_in("new", "first password")
        before = served.records()
        for endpoint in _GUARDED:
            path = re.sub("<[^>]+>", "nobody", endpoint.path)
            refused(await new.call(endpoint.method, path, **request_for(endpoint)), 403, "A1004")
        assert served.records() == before


async def test_a_cookie_alone_changes_nothing(tmp_path: Path) -> None:
    """Another site can make a browser send cookies, and not the form token (READINGS 25)."""
    async with serving(tmp_path, open_store=in_memory(), RATE_LIMIT_SCALE="1000") as served:
        token = (await served.api().sign_in())["accessToken"]
        before = served.records()
        for endpoint in (each for each in _GUARDED if each.method != "GET"):
            path = re.sub("<[^>]+>", "nobody", endpoint.path)
            response = await served.api().request(
                endpoint.method, path, headers={"Cookie": f"ostiary_access={token}"}, **request_for(endpoint)
            )
            refused(response, 403, "A0403")
        assert served.records() == before
