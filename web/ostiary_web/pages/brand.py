"""Files of the operator's logo and colour: `/brand/*`.

Each has its digest in its name, so browsers keep it for good. An SVG may hold scripts: shown as a picture it
runs none, and opened by itself it is in a sandbox.
"""

from typing import Final

from quart import Response

from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, GatedRoutes
from ostiary_web.server.brand import BRAND_PREFIX

brand_files = GatedRoutes("brand_files", __name__)

_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
    ),
}


@brand_files.get(f"{BRAND_PREFIX}<name>", gate=OPEN_TO_ALL)
async def show_brand_file(context: RequestContext, name: str) -> Response:
    """Send the logo, or the stylesheet of the colour."""
    file = context.services.settings.brand.files.get(name)
    if file is None:
        context.refuse(Why.NOT_FOUND)
    return Response(file.content, content_type=file.media_type, headers=_HEADERS)
