"""Which permission opens which endpoint, read from the routes: docs/permissions.md."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ostiary_core.model.permissions import Permission
from ostiary_web.api.resources.roles import DESCRIPTIONS
from ostiary_web.app.factory import create_app
from ostiary_web.http.gate import permission_of
from ostiary_web.server.settings import Settings


@dataclass(frozen=True, order=True)
class Endpoint:
    """A method and a path of the interface, its variable parts in angle brackets."""

    path: str
    method: str
    permission: Permission | None
    """None where a route is not opened by a permission."""


@cache
def endpoints() -> tuple[Endpoint, ...]:
    """Everything under /api that there is."""
    app = create_app(Settings.from_environment({}))
    return tuple(
        sorted(
            (
                Endpoint(_path(rule.rule), method, permission_of(app.view_functions[rule.endpoint]))
                for rule in app.url_map.iter_rules()
                for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
                if str(rule.rule).startswith("/api/")
            ),
            key=lambda endpoint: (endpoint.path, endpoint.method),
        )
    )


def _path(rule: str) -> str:
    """A route's path, its variable parts without what they may be."""
    return re.sub(r"<[^:<>]+:([^<>]+)>", r"<\1>", rule)


def permissions_page() -> str:
    """docs/permissions.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Permissions"
    yield ""
    yield "<!-- Written by `make docs` from the routes. Changes made here are lost. -->"
    yield ""
    yield "Each endpoint of the administration is opened by one permission, which the caller's roles must"
    yield "hold; `tests/web/test_gate.py` calls every endpoint with every permission. The"
    yield "role `super_admin` holds them all. An import with `mode=upsert` also needs the permission to"
    yield "update, for the rows that are there already."
    yield ""
    yield "| Permission | What it allows | Endpoints |"
    yield "|---|---|---|"
    for permission in Permission:
        opened = [f"`{each.method} {each.path}`" for each in endpoints() if each.permission is permission]
        words = DESCRIPTIONS[permission]
        yield f"| `{permission.value}` | {words.en}<br>{words.zh} | {'<br>'.join(opened)} |"
    yield ""
    yield "These ask for no permission: they are anybody's own account, or have credentials of their own."
    yield ""
    yield from (f"- `{each.method} {each.path}`" for each in endpoints() if each.permission is None)
