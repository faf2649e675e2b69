"""`/api/auth/avatar` and `/files/*`: the picture of an account, and where everybody's browser gets it.

Other systems show these pictures, so they are served to whoever has the address, without what cameras write
into them (`picture_metadata`). Nothing in them is ever run: the type is the one their first bytes prove, and
the answer forbids a browser to see anything else.
"""

from contextlib import closing
from typing import Final

import trio
from quart import Blueprint, Response, current_app, request

from ostiary_core.events import AvatarChosen, SignedIn
from ostiary_core.model.decision import Done, FieldFault, FieldRule, Refused, Reply
from ostiary_core.model.why import Why
from ostiary_net.runtime.files import Files
from ostiary_web.answer_data import AnswerData
from ostiary_web.exchange import Exchange, exchange
from ostiary_web.own_account import open_own_call
from ostiary_web.picture_metadata import strip_metadata
from ostiary_web.pictures import MEDIA_TYPES, PictureType, picture_in
from ostiary_web.uploads import FILES_PREFIX

__all__ = ["LONGEST_UPLOAD", "UPLOAD_PATHS", "Picture", "avatars", "remove_picture", "take_picture"]

avatars = Blueprint("avatars", __name__)

_PATH: Final = "/api/auth/avatar"
UPLOAD_PATHS: Final = (_PATH, "/account/picture")
"""Where pictures come in: the interface's path and the page's."""
LONGEST_UPLOAD: Final = 2 * 1024 * 1024 + 64 * 1024
"""Bytes of a whole upload: the picture and the form around it."""

_LONGEST_PICTURE: Final = 2 * 1024 * 1024
_FIELD: Final = "file"


# --- choosing


class Picture(AnswerData):
    """Where the picture is from now on."""

    avatar_url: str


@avatars.put(_PATH)
async def put_avatar() -> Response:
    """Multipart `file`: a PNG, JPEG or WebP picture of at most 2 MiB; where it is from now on."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    if request.mimetype != "multipart/form-data":
        return call.here.refuse(Why.NOT_MULTIPART)
    taken = await take_picture(call.here, call.who)
    if isinstance(taken, Refused):
        return call.here.refused(taken)
    return call.here.success(Picture(avatar_url=taken))


@avatars.delete(_PATH)
async def delete_avatar() -> Response:
    """No picture any more."""
    call = await open_own_call()
    if isinstance(call, Response):
        return call
    reply = await remove_picture(call.here, call.who)
    return call.here.success(None) if reply is None else call.here.refused(reply)


# --- what the pages do too


async def take_picture(here: Exchange, who: SignedIn) -> str | Refused:
    """Keep the picture that the request brings, for the account; its address."""
    content = await _uploaded()
    if content is None:
        return Refused(Why.FIELDS_INVALID, (FieldFault(_FIELD, FieldRule.REQUIRED),))
    if len(content) > _LONGEST_PICTURE:
        return Refused(Why.BODY_TOO_LARGE)
    picture = picture_in(content)
    stripped = None if picture is None else strip_metadata(content, picture.type)
    if picture is None or stripped is None:
        return Refused(Why.FIELDS_INVALID, (FieldFault(_FIELD, FieldRule.PICTURE),))
    reply: Refused | None = Refused(Why.INTERNAL_ERROR)
    address = ""
    # Once begun it is finished, or a client that goes away leaves a file that no account refers to.
    with trio.CancelScope(shield=True):
        address = FILES_PREFIX + await _files().keep(stripped, picture.type.value)
        reply = await _chosen(here, who, address)
    return reply or address


async def remove_picture(here: Exchange, who: SignedIn) -> Refused | None:
    """Leave the account without a picture; None when it is done."""
    return await _chosen(here, who, None)


async def _uploaded() -> bytes | None:
    """The content of the one file that was sent; no more of it than tells that it is too large."""
    sent = (await request.files).getlist(_FIELD)
    if len(sent) != 1:
        return None
    with closing(sent[0]) as file:
        content: bytes = file.read(_LONGEST_PICTURE + 1)
        return content


async def _chosen(here: Exchange, who: SignedIn, avatar_url: str | None) -> Refused | None:
    """Put the address on the account, or take its file away again."""
    reply: Reply | None = None
    try:
        reply = (await here.decide(AvatarChosen(caller=who, avatar_url=avatar_url))).reply
    finally:
        if avatar_url is not None and not isinstance(reply, Done):
            await _files().remove(avatar_url.removeprefix(FILES_PREFIX))
    return reply if isinstance(reply, Refused) else None


# --- showing

_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@avatars.get(f"{FILES_PREFIX}<name>")
async def show_file(name: str) -> Response:
    """A picture by its name. It never changes: another picture has another name."""
    here = exchange()
    content = await _files().read(name)
    _, _, ending = name.rpartition(".")
    if content is None or ending not in MEDIA_TYPES:
        return here.refuse(Why.NOT_FOUND)
    # A picture from before metadata was left out at the upload still has its own on the disk.
    stripped = strip_metadata(content, PictureType(ending))
    if stripped is None:
        return here.refuse(Why.NOT_FOUND)
    response = Response(stripped, content_type=MEDIA_TYPES[ending])
    response.headers.update(_HEADERS)
    await response.add_etag()
    return await response.make_conditional(request)


def _files() -> Files:
    found: Files = current_app.extensions["ostiary.files"]
    return found
