"""Styles, scripts and pictures of the pages (`/static/*`), and those of the operator's brand (`/brand/*`).

Pages name each with the digest of its content, and browsers keep it for good: no page of a new release meets
an old script. Another digest, or none, answers what there is now and is not kept for long: pages of two
releases are open at once while instances are replaced.

The logo and the colour have their digest in their names too. An SVG may hold scripts: shown as a picture it
runs none, and opened by itself it is in a sandbox.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from quart import Response, request
from werkzeug.exceptions import NotFound

from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, GatedRoutes
from ostiary_web.server.brand import BRAND_PREFIX

static_files = GatedRoutes("static_files", __name__)

_PREFIX: Final = "/static/"
_NAME: Final = re.compile(r"([a-z]+)(-[0-9a-f]{16})?(\.[a-z]+)", re.ASCII)
_KEPT: Final = "public, max-age=31536000, immutable"
_KEPT_SHORTLY: Final = "public, max-age=300"
_MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

_BRAND_HEADERS: Final = {
    "Cache-Control": _KEPT,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
    ),
}


@dataclass(frozen=True, slots=True)
class _StaticFile:
    content: bytes
    digested_name: str
    media_type: str


@cache
def _load_files() -> Mapping[str, _StaticFile]:
    """Return the files of the package, by their names in it."""
    found = {}
    for file in files("ostiary_web").joinpath("static").iterdir():
        stem, _, ending = file.name.rpartition(".")
        content = file.read_bytes()
        digested_name = f"{stem}-{sha256(content).hexdigest()[:16]}.{ending}"
        found[file.name] = _StaticFile(content, digested_name, _MEDIA_TYPES[ending])
    return found


def static_address(name: str) -> str:
    """Return the address of a file, which changes with its content."""
    return _PREFIX + _load_files()[name].digested_name


@static_files.get(f"{_PREFIX}<name>", gate=OPEN_TO_ALL)
async def show_static_file(context: RequestContext, name: str) -> Response:
    """Serve a file by its present name, by one of another release, or without a digest."""
    read = _NAME.fullmatch(name)
    file = None if read is None else _load_files().get(f"{read[1]}{read[3]}")
    if file is None:
        raise NotFound
    response = Response(file.content, content_type=file.media_type)
    response.headers["Cache-Control"] = _KEPT if name == file.digested_name else _KEPT_SHORTLY
    await response.add_etag()
    return await response.make_conditional(request)


@static_files.get(f"{BRAND_PREFIX}<name>", gate=OPEN_TO_ALL)
async def show_brand_file(context: RequestContext, name: str) -> Response:
    """Send the logo, or the stylesheet of the colour."""
    file = context.services.settings.brand.files.get(name)
    if file is None:
        context.refuse(Why.NOT_FOUND)
    return Response(file.content, content_type=file.media_type, headers=_BRAND_HEADERS)
