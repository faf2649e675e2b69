"""Serve `/api/auth/avatar` and `/files/*`: pictures of accounts.

Other systems show these pictures, so they are served to all who have the address, without what cameras write
into them (`pictures/metadata.py`). Nothing in them is ever run: the type is the one their first bytes prove,
and the answer forbids a browser to see anything else.
"""

from typing import Final

from quart import Response, request

from ostiary_core.model.why import Why
from ostiary_web.application.answer_data import AnswerData
from ostiary_web.application.avatars import PATH, remove_picture, store_picture
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, SIGNED_IN, GatedRoutes
from ostiary_web.pictures.formats import MEDIA_TYPES
from ostiary_web.pictures.orphaned_files import FILES_PREFIX

avatars = GatedRoutes("avatars", __name__)


# --- choosing


class Picture(AnswerData):
    """The picture's new address."""

    avatar_url: str


@avatars.put(PATH, gate=SIGNED_IN)
async def put_avatar(context: RequestContext) -> Picture:
    """Store the picture in multipart `file`: PNG, JPEG or WebP, at most 2 MiB; answer its address."""
    if request.mimetype != "multipart/form-data":
        context.refuse(Why.NOT_MULTIPART)
    return Picture(avatar_url=await store_picture(context))


@avatars.delete(PATH, gate=SIGNED_IN)
async def delete_avatar(context: RequestContext) -> None:
    """Remove the caller's picture."""
    await remove_picture(context)


# --- showing

_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@avatars.get(f"{FILES_PREFIX}<name>", gate=OPEN_TO_ALL)
async def show_file(context: RequestContext, name: str) -> Response:
    """Serve a picture; its name changes with its content."""
    content = await context.services.files.read(name)
    _, _, ending = name.rpartition(".")
    if content is None or ending not in MEDIA_TYPES:
        context.refuse(Why.NOT_FOUND)
    response = Response(content, content_type=MEDIA_TYPES[ending])
    response.headers.update(_HEADERS)
    await response.add_etag()
    return await response.make_conditional(request)
