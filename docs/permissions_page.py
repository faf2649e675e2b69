"""Which permission opens which endpoint, read from the routes: docs/permissions.md."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from ostiary_core.model.permissions import Permission
from ostiary_web.app.factory import create_app
from ostiary_web.application.resources.roles import describe_permission
from ostiary_web.http.gate import SUPER_ADMINISTRATOR, Gate, gate_of, require_permission
from ostiary_web.server.settings import Settings
from ostiary_web.texts import LANGUAGES


@dataclass(frozen=True, order=True)
class Endpoint:
    """A method and a path of the interface, its variable parts in angle brackets."""

    path: str
    method: str
    gate: Gate | None = field(compare=False)


@cache
def endpoints() -> tuple[Endpoint, ...]:
    """Everything under /api that there is."""
    app = create_app(Settings.from_environment({}))
    return tuple(
        sorted(
            (
                Endpoint(_path(rule.rule), method, gate_of(app.view_functions[rule.endpoint]))
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
        words = "<br>".join(describe_permission(permission, language) for language in LANGUAGES)
        opened = "<br>".join(_opened_by(require_permission(permission)))
        yield f"| `{permission.value}` | {words} | {opened} |"
    yield ""
    yield "These are for super administrators alone, whatever permissions somebody else holds."
    yield ""
    yield from (f"- {endpoint}" for endpoint in _opened_by(SUPER_ADMINISTRATOR))
    yield ""
    yield "These ask for no permission: they are anybody's own account, or have credentials of their own."
    yield ""
    asks_for_less = {each.gate for each in endpoints() if each.gate is None or each.gate.permission is None}
    yield from (f"- {endpoint}" for endpoint in _opened_by(*asks_for_less - {SUPER_ADMINISTRATOR}))


def _opened_by(*gates: Gate | None) -> list[str]:
    return [f"`{each.method} {each.path}`" for each in endpoints() if each.gate in gates]
