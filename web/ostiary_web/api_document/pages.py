"""The pages for people described, from the routes there are: what is sent to a browser, and no interface."""

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from werkzeug.routing import Rule

from ostiary_core.events import AuthorizationParameters
from ostiary_core.model.why import Why
from ostiary_web.api_document.parts import ANYBODY, FORM, Json, operation, path_parameter, refusals, success

__all__ = ["FILE_TYPES", "described_path", "document_paths", "health_paths", "page_paths"]

_TAG: Final = "Pages"
FILE_TYPES: Final = ("text/css", "text/javascript", "text/plain")
"""Of the files that the page of this document is made of."""
_HTML: Final[Json] = {"text/html": {"schema": {"type": "string"}}}
_ANYTHING: Final[Json] = {"*/*": {"schema": {}}}
"""A page for a browser, the envelope for a program."""
_SSO: Final = [field.name for field in fields(AuthorizationParameters) if field.name != "repeated"]
_PARAMETER: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")


def described_path(rule: str) -> str:
    """A route's path as OpenAPI writes it.

    >>> described_path("/static/<path:filename>")
    '/static/{filename}'
    """
    return _PARAMETER.sub(r"{\1}", rule)


def page_paths(rules: Iterable[Rule]) -> dict[str, dict[str, Json]]:
    """One operation for each method of each page."""
    described: dict[str, dict[str, Json]] = {}
    for rule in rules:
        path = described_path(rule.rule)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            described.setdefault(path, {})[method.lower()] = _page(rule, path, method)
    return described


def _page(rule: Rule, path: str, method: str) -> Json:
    name = re.sub(r"\W+", " ", f"{method.lower()} page {path}").title().replace(" ", "")
    parameters = [path_parameter(each, "A part of the address.") for each in sorted(rule.arguments)]
    if path == "/sso" and method == "GET":
        parameters += [
            {"name": each, "in": "query", "required": False, "schema": {"type": "string"}} for each in _SSO
        ]
    answers: dict[str, Json] = {
        "200": {"description": "The page."},
        "303": {"description": "Another page, or back to a client."},
        "default": {"description": "What is wrong, on a page.", "content": _ANYTHING},
    }
    return operation(
        name[0].lower() + name[1:],
        f"The page {path}" if method == "GET" else f"What the page {path} sends",
        tag=_TAG,
        security=ANYBODY,
        parameters=parameters,
        body=None if method == "GET" else {"content": {FORM: {"schema": {"type": "object"}}}},
        responses=answers,
    )


def health_paths() -> dict[str, dict[str, Json]]:
    """What a supervisor and a load balancer ask, without a secret and as often as they like."""
    nothing: Json = {"type": "null"}
    return {
        "/healthz": {
            "get": operation(
                "showHealth",
                "The process answers",
                tag="Health",
                security=ANYBODY,
                responses=success(nothing, "It does."),
            )
        },
        "/readyz": {
            "get": operation(
                "showReadiness",
                "The store takes changes, and its schema is the one of this release",
                tag="Health",
                security=ANYBODY,
                responses={**success(nothing, "It does."), **refusals(Why.NOT_READY)},
            )
        },
    }


def document_paths() -> dict[str, dict[str, Json]]:
    """This document and the page that shows it."""
    tag = "This document"
    return {
        "/api/docs": {
            "get": operation(
                "showDocs",
                "This document, to be read and tried",
                tag=tag,
                security=ANYBODY,
                responses={"200": {"description": "The page.", "content": _HTML}},
            )
        },
        "/api/docs/{name}": {
            "get": operation(
                "showDocsFile",
                "What the page is made of",
                tag=tag,
                security=ANYBODY,
                parameters=[path_parameter("name", "A style sheet, a script or a licence.")],
                responses={
                    "200": {
                        "description": "The file.",
                        "content": {each: {"schema": {"type": "string"}} for each in FILE_TYPES},
                    },
                    **refusals(Why.NOT_FOUND),
                },
            )
        },
        "/api/docs-json": {
            "get": operation(
                "showDocument",
                "This document",
                tag=tag,
                security=ANYBODY,
                responses={
                    "200": {
                        "description": "OpenAPI 3.1.",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    }
                },
            )
        },
    }
