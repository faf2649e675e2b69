"""Put the whole document together for the routes of an application."""

from collections.abc import Mapping
from typing import Final

from quart import Quart

from ostiary_core.model.why import Why
from ostiary_core.texts import Languages
from ostiary_web.api_document import administration, own_account, token_service
from ostiary_web.api_document.operations import DescribedOperation, describe, described_path
from ostiary_web.api_document.schemas import Json, Schemas
from ostiary_web.http.browser import FORM_HEADER

_ABOUT: Final = """\
Ordinary operations answer in the envelope `{code, msg, data}`: `code` is the number 0 for a success and a
text such as `A0401` for a failure, which also has `errors` (every bad field, at most 100) and a `traceId`
that the log knows. The token service answers in the form of RFC 6749, but for 429 and 500.

Times are ISO-8601 in UTC. `Accept-Language` chooses among the languages of the schema `Locale`.

A program sends `Authorization: Bearer` with the access token of `POST /api/auth/login`. A browser may rely
on its cookies, and proves every change with its form token.
"""

_HEALTH: Final[Mapping[str, DescribedOperation]] = {
    "GET /healthz": DescribedOperation("showHealth"),
    "GET /readyz": DescribedOperation("showReadiness", refusals=(Why.NOT_READY,)),
}
_SECTIONS: Final[Mapping[str, tuple[str, Mapping[str, DescribedOperation]]]] = {
    "OAuth 2.0": ("What third parties call, and the consent page for them.", token_service.OPERATIONS),
    "Own account": ("Signing in, and what people do with their own account.", own_account.OPERATIONS),
    "Clients": ("The third parties, their secrets and their sessions.", administration.CLIENTS),
    "Users": ("The accounts of the backend.", administration.USERS),
    "Roles": ("What people may do.", administration.ROLES),
    "Online users": ("Which sessions run, and the end of one of them.", administration.ONLINE_USERS),
    "Overview": ("What happened, counted, and how the server is.", administration.OVERVIEW),
    "Audit": ("What happened, and why a session ended.", administration.AUDIT),
    "Health": ("Whether the process answers and takes changes; for load balancers.", _HEALTH),
}
"""Text of each heading, and its operations by method and path."""

_SECURITY: Final[Json] = {
    "login": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `accessToken` of a login session. A browser's cookie `ostiary_access` (over "
        "https `__Host-ostiary_access`, under a path `__Secure-ostiary_access`; on another port than the "
        f"usual one with that behind it, as `_8443`) does as well, with the header `{FORM_HEADER}` where "
        "something is changed.",
    },
    "personalToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "A personal access token of `POST /api/auth/tokens`, which has the permission.",
    },
    "client": {
        "type": "http",
        "scheme": "basic",
        "description": "A client's identifier and secret, not form-decoded (RFC 6749 §2.3.1).",
    },
    "accessToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "A third party's access token; it opens nothing but user-info.",
    },
}


def api_document(app: Quart, version: str, languages: Languages, public_path: str = "") -> Json:
    """Return OpenAPI 3.1 for the routes of an application that speaks `languages` under `public_path`."""
    schemas = Schemas()
    schemas.components["Locale"] = {"type": "string", "enum": list(languages.tags)}
    paths: dict[str, dict[str, Json]] = {}
    routes = {
        f"{method} {described_path(rule.rule)}": app.view_functions[rule.endpoint]
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    }
    for tag, (_, operations) in _SECTIONS.items():
        for address, operation in operations.items():
            method, path = address.split()
            described = describe(operation, tag, method, path, routes[address], schemas)
            paths.setdefault(path, {})[method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ostiary",
            "version": version,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": public_path or "/"}],
        "tags": [{"name": tag, "description": about} for tag, (about, _) in _SECTIONS.items()],
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.components.items())), "securitySchemes": _SECURITY},
    }
