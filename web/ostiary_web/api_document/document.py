"""The whole document, put together for the routes that an application has."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from quart import Quart

from ostiary_web.api_document import administration, own_account, pages, token_service
from ostiary_web.api_document.operations import Operation, describe, described_path
from ostiary_web.api_document.schemas import Json, Schemas
from ostiary_web.browser import FORM_HEADER
from ostiary_web.http.gate import permission_of

__all__ = ["api_document"]

_ABOUT: Final = """\
Ordinary operations answer in the envelope `{code, msg, data}`: `code` is the number 0 for a success and a
text such as `A0401` for a failure, which also has `errors` (every bad field) and a `traceId` that the log
knows. The token service answers in the form of RFC 6749, but for 429 and 500.

Times are ISO-8601 in UTC. `Accept-Language` chooses between English and Chinese.

A program sends `Authorization: Bearer` with the access token of `POST /api/auth/login`. A browser may rely
on its cookies, and proves every change with its form token.
"""


class _Section(NamedTuple):
    """Operations under one heading, by method and path."""

    tag: str
    about: str
    operations: Mapping[str, Operation]


_SECTIONS: Final = (
    _Section(
        "OAuth 2.0",
        "What third parties call, and what the consent page calls for them.",
        token_service.OPERATIONS,
    ),
    _Section(
        "Own account",
        "Signing in, and what people do with their own account.",
        own_account.OPERATIONS,
    ),
    _Section(
        "Clients",
        "The third parties: registered, changed, disabled, their secrets and sessions.",
        administration.CLIENTS,
    ),
    _Section("Users", "The accounts of the backend.", administration.USERS),
    _Section("Roles", "What people may do.", administration.ROLES),
    _Section("Online users", "Which sessions run, and the end of one of them.", administration.ONLINE_USERS),
    _Section("Audit", "What happened, and why a session ended.", administration.AUDIT),
    _Section(
        "Health",
        "Whether the process answers and takes changes; for supervisors and load balancers.",
        pages.HEALTH,
    ),
    _Section(
        "This document",
        "There only where the setting `API_DOCS_ENABLED` allows it.",
        pages.THIS_DOCUMENT,
    ),
)
_PAGES: Final = _Section(
    "Pages", "What is sent to people's browsers; no interface, and listed so that nothing is left out.", {}
)

_SECURITY: Final[Json] = {
    "login": {
        "type": "http",
        "scheme": "bearer",
        "description": "The `accessToken` of a login session. A browser's cookie `ostiary_access` (over "
        f"https `__Host-ostiary_access`) does as well, with the header `{FORM_HEADER}` where "
        "something is changed.",
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


def api_document(app: Quart, version: str) -> Json:
    """OpenAPI 3.1 for the routes of an application; pages for people come last."""
    schemas = Schemas()
    paths: dict[str, dict[str, Json]] = {}
    routes = {
        f"{method} {described_path(rule.rule)}": app.view_functions[rule.endpoint]
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    }
    for section in _SECTIONS:
        for address, operation in section.operations.items():
            method, _, path = address.partition(" ")
            permission = permission_of(routes.pop(address))
            described = describe(operation, section.tag, method, path, permission, schemas)
            paths.setdefault(path, {})[method.lower()] = described
    for address in routes:
        method, _, path = address.partition(" ")
        if not path.startswith("/api/"):
            described = pages.describe_page(method, path, _PAGES.tag, schemas)
            paths.setdefault(path, {})[method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ostiary",
            "version": version,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": section.tag, "description": section.about} for section in (*_SECTIONS, _PAGES)],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "securitySchemes": _SECURITY,
        },
    }
