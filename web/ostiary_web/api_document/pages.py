"""What is no interface described: health, this document, and the pages for people."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ostiary_core.model.why import Why
from ostiary_web.api_document.operations import ANYBODY, FORM, Operation, Reply, describe_parameters
from ostiary_web.api_document.schemas import Json, Schemas
from ostiary_web.api_document.token_service import AUTHORIZATION_QUERY

__all__ = ["FILE_TYPES", "HEALTH", "THIS_DOCUMENT", "describe_page"]

FILE_TYPES: Final = ("text/css", "text/javascript", "text/plain")
"""Of the files that the page of this document is made of."""

HEALTH: Final[Mapping[str, Operation]] = {
    "GET /healthz": Operation(
        name="showHealth", summary="The process answers", caller=ANYBODY, outcome="It does."
    ),
    "GET /readyz": Operation(
        name="showReadiness",
        summary="The store takes changes, and its schema is the one of this release",
        caller=ANYBODY,
        outcome="It does.",
        refusals=(Why.NOT_READY,),
    ),
}
THIS_DOCUMENT: Final[Mapping[str, Operation]] = {
    "GET /api/docs": Operation(
        name="showDocs",
        summary="This document, to be read and tried",
        caller=ANYBODY,
        replies={200: Reply("The page.", str, ("text/html",))},
    ),
    "GET /api/docs/{name}": Operation(
        name="showDocsFile",
        summary="What the page is made of: a style sheet, a script or a licence",
        caller=ANYBODY,
        replies={200: Reply("The file.", str, FILE_TYPES)},
    ),
    "GET /api/docs-json": Operation(
        name="showDocument",
        summary="This document",
        caller=ANYBODY,
        replies={200: Reply("OpenAPI 3.1.", dict[str, Any])},
    ),
}


def describe_page(method: str, path: str, tag: str, schemas: Schemas) -> Json:
    """What is sent to a browser at this address."""
    name = re.sub(r"\W+", " ", f"{method.lower()} page {path}").title().replace(" ", "")
    asked = AUTHORIZATION_QUERY if (method, path) == ("GET", "/sso") else ()
    described: Json = {
        "operationId": name[0].lower() + name[1:],
        "summary": f"The page {path}" if method == "GET" else f"What the page {path} sends",
        "tags": [tag],
        "security": [],
        "parameters": describe_parameters(path, asked, schemas),
        "responses": {
            "200": {"description": "The page."},
            "303": {"description": "Another page, or back to a client."},
            # A page for a browser, the envelope for a program.
            "default": {"description": "What is wrong, on a page.", "content": {"*/*": {"schema": {}}}},
        },
    }
    if method != "GET":
        described["requestBody"] = {"content": {FORM: {"schema": {"type": "object"}}}}
    return described
