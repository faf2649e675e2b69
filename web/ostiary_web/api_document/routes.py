"""Serve `/api/docs` and `/api/docs-json`, if the setting allows them ("Common conventions").

The page is Swagger UI, shipped with the package: it asks no other host for anything, and its policy lets it
run no script and no style but the files here.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import msgspec
from quart import Quart, Response, current_app

from ostiary_core.model.why import Why
from ostiary_net.observability.metrics import RUNNING_VERSION
from ostiary_web.api_document.document import api_document
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, GatedRoutes
from ostiary_web.server.settings import Settings

docs = GatedRoutes("docs", __name__)

FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "swagger-ui.css": "text/css; charset=utf-8",
        "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
        "start.js": "text/javascript; charset=utf-8",
        "LICENSE": "text/plain; charset=utf-8",
        "NOTICE": "text/plain; charset=utf-8",
        "swagger-ui-bundle.js.LICENSE.txt": "text/plain; charset=utf-8",
    }
)
"""Files that are served, with their types."""

_DOCUMENT: Final = "ostiary.api_document"

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@docs.get("/api/docs", gate=OPEN_TO_ALL)
async def show_docs(context: RequestContext) -> Response:
    """Show the page."""
    return _answer(_asset("page.html"), "text/html; charset=utf-8")


@docs.get("/api/docs/<name>", gate=OPEN_TO_ALL)
async def show_file(context: RequestContext, name: str) -> Response:
    """Serve a file of the page."""
    media_type = FILES.get(name)
    return context.refuse(Why.NOT_FOUND) if media_type is None else _answer(_asset(name), media_type)


@docs.get("/api/docs-json", gate=OPEN_TO_ALL)
async def show_document(context: RequestContext) -> Response:
    """Serve the document."""
    return _answer(current_app.extensions[_DOCUMENT], "application/json; charset=utf-8")


def build_document(app: Quart, settings: Settings) -> None:
    """Build the document once for all requests: it takes half a second, in which no other is answered."""
    document = api_document(app, RUNNING_VERSION, settings.languages, settings.public_path)
    app.extensions[_DOCUMENT] = msgspec.json.encode(document)


@cache
def _asset(name: str) -> bytes:
    return files("ostiary_web.api_document").joinpath("assets", name).read_bytes()


def _answer(content: bytes, media_type: str) -> Response:
    response = Response(content, content_type=media_type)
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Content-Security-Policy"] = _POLICY
    return response
