"""What is no interface described: health, this document, and the pages for people."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ostiary_core.model.why import Why
from ostiary_web.api_document.operations import FORM, DescribedOperation, Reply, describe_parameters
from ostiary_web.api_document.schemas import Json, Schemas
from ostiary_web.api_document.token_service import AUTHORIZATION_QUERY

TAG: Final = "Pages"

HEALTH: Final[Mapping[str, DescribedOperation]] = {
    "GET /healthz": DescribedOperation("showHealth", "The process answers"),
    "GET /readyz": DescribedOperation(
        "showReadiness",
        "The store takes changes, and its schema is the one of this release",
        refusals=(Why.NOT_READY,),
    ),
}
THIS_DOCUMENT: Final[Mapping[str, DescribedOperation]] = {
    "GET /api/docs": DescribedOperation(
        "showDocs",
        "This document, to be read and tried",
        replies={200: Reply("The page.", str, ("text/html",))},
    ),
    "GET /api/docs/{name}": DescribedOperation(
        "showDocsFile",
        "What the page is made of: a style sheet, a script or a licence",
        replies={200: Reply("The file.", str, ("text/css", "text/javascript", "text/plain"))},
    ),
    "GET /api/docs-json": DescribedOperation(
        "showDocument", "This document", replies={200: Reply("OpenAPI 3.1.", dict[str, Any])}
    ),
}


def describe_page(method: str, path: str, schemas: Schemas) -> Json:
    """What is sent to a browser at this address."""
    name = re.sub(r"\W+", " ", f"{method.lower()} page {path}").title().replace(" ", "")
    asked = AUTHORIZATION_QUERY if (method, path) == ("GET", "/sso") else ()
    described: Json = {
        "operationId": name[0].lower() + name[1:],
        "summary": f"The page {path}" if method == "GET" else f"What the page {path} sends",
        "tags": [TAG],
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
