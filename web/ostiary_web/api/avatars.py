"""Serve `/api/auth/avatar` and `/files/*`: pictures of accounts.

Other systems show these pictures, so they are served to whoever has the address, without what cameras write
into them (`pictures/metadata.py`). Nothing in them is ever run: the type is the one their first bytes prove,
and the answer forbids a browser to see anything else.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Final

import trio
from quart import Response, request

from ostiary_core.events import AvatarChosen
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.why import Why
from ostiary_web.api.answer_data import AnswerData
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, SIGNED_IN, GatedRoutes
from ostiary_web.pictures.formats import MEDIA_TYPES, picture_in
from ostiary_web.pictures.metadata import strip_metadata
from ostiary_web.pictures.orphaned_files import FILES_PREFIX

avatars = GatedRoutes("avatars", __name__)

_PATH: Final = "/api/auth/avatar"
_LONGEST_PICTURE: Final = 2 * 1024 * 1024
_FORM_AROUND: Final = 64 * 1024
UPLOAD_LIMITS: Final[Mapping[str, int]] = {
    _PATH: _LONGEST_PICTURE + _FORM_AROUND,
    "/account/picture": 8 * _LONGEST_PICTURE + _FORM_AROUND,
}
"""Largest uploads in bytes, by path: a page takes a whole photograph, to say that it is too large."""
_FIELD: Final = "file"


# --- choosing


class Picture(AnswerData):
    """The picture's new address."""

    avatar_url: str


@avatars.put(_PATH, gate=SIGNED_IN)
async def put_avatar(context: RequestContext) -> Picture:
    """Store the picture in multipart `file`: PNG, JPEG or WebP, at most 2 MiB; answer its address."""
    if request.mimetype != "multipart/form-data":
        context.refuse(Why.NOT_MULTIPART)
    return Picture(avatar_url=await store_picture(context))


@avatars.delete(_PATH, gate=SIGNED_IN)
async def delete_avatar(context: RequestContext) -> None:
    """Remove the caller's picture."""
    await remove_picture(context)


# --- what the pages do too


async def store_picture(context: RequestContext) -> str:
    """Store the picture in the request for the caller's account; return its address.

    Raises `RequestRefused`.
    """
    content = await _read_file()
    if content is None:
        context.refuse(Why.FIELDS_INVALID, (FieldFault(_FIELD, FieldRule.REQUIRED),))
    if len(content) > _LONGEST_PICTURE:
        context.refuse(Why.BODY_TOO_LARGE, (FieldFault(_FIELD, FieldRule.PICTURE_TOO_LARGE),))
    picture = picture_in(content)
    stripped = None if picture is None else strip_metadata(content, picture.type)
    if picture is None or stripped is None:
        context.refuse(Why.FIELDS_INVALID, (FieldFault(_FIELD, FieldRule.PICTURE),))
    # Once begun it is finished, or a client that goes away leaves a file that no account refers to.
    with trio.CancelScope(shield=True):
        name = await context.services.files.keep(stripped, picture.type.value)
        try:
            await context.decide(AvatarChosen(caller=context.caller, avatar_url=FILES_PREFIX + name))
        except BaseException:
            await context.services.files.remove(name)
            raise
    return FILES_PREFIX + name


async def remove_picture(context: RequestContext) -> None:
    """Leave the caller's account without a picture; raise `RequestRefused`."""
    await context.decide(AvatarChosen(caller=context.caller, avatar_url=None))


async def _read_file() -> bytes | None:
    """Return the one file that was sent, cut off where it is known to be too large."""
    sent = (await request.files).getlist(_FIELD)
    if len(sent) != 1:
        return None
    with closing(sent[0]) as file:
        content: bytes = file.read(_LONGEST_PICTURE + 1)
        return content


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
