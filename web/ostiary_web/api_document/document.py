"""The whole document, put together for the routes that an application has."""

from collections.abc import Iterable
from typing import Final

from werkzeug.routing import Rule

from ostiary_web.api_document import administration, monitoring, own_account, token_service
from ostiary_web.api_document.pages import described_path, document_paths, health_paths, page_paths
from ostiary_web.api_document.parts import Json, shared_schemas
from ostiary_web.browser import FORM_HEADER

__all__ = ["api_document"]

_ABOUT: Final = """\
Ordinary operations answer in the envelope `{code, msg, data}`: `code` is the number 0 for a success and a
text such as `A0401` for a failure, which also has `errors` (every bad field) and a `traceId` that the log
knows. The token service answers in the form of RFC 6749, but for 429 and 500.

Times are ISO-8601 in UTC. `Accept-Language` chooses between English and Chinese.

A program sends `Authorization: Bearer` with the access token of `POST /api/auth/login`. A browser may rely
on its cookies, and proves every change with its form token.
"""

_TAGS: Final = {
    "OAuth 2.0": "What third parties call, and what the consent page calls for them.",
    "Own account": "Signing in, and what people do with their own account.",
    "Clients": "The third parties: registered, changed, disabled, their secrets and sessions.",
    "Users": "The accounts of the backend.",
    "Roles": "What people may do.",
    "Online users": "Which sessions run, and the end of one of them.",
    "Audit": "What happened, and why a session ended.",
    "Health": "Whether the process answers and takes changes; for supervisors and load balancers.",
    "This document": "There only where the setting `API_DOCS_ENABLED` allows it.",
    "Pages": "What is sent to people's browsers; no interface, and listed so that nothing is left out.",
}
"""In the order in which they are shown."""

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


def api_document(rules: Iterable[Rule], version: str) -> Json:
    """OpenAPI 3.1 for an application with these routes; pages for people come last."""
    interface = {
        **token_service.paths(),
        **own_account.paths(),
        **administration.paths(),
        **monitoring.paths(),
        **document_paths(),
        **health_paths(),
    }
    pages = [
        rule
        for rule in rules
        if not rule.rule.startswith("/api/") and described_path(rule.rule) not in interface
    ]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ostiary",
            "version": version,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": description} for name, description in _TAGS.items()],
        "paths": {**interface, **page_paths(pages)},
        "components": {
            "schemas": {
                **shared_schemas(),
                **token_service.schemas(),
                **own_account.schemas(),
                **administration.schemas(),
                **monitoring.schemas(),
            },
            "securitySchemes": _SECURITY,
        },
    }
