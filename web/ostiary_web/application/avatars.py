"""Store and remove pictures of accounts.

Other systems show these pictures, so they are served to all who have the address, without what cameras write
into them (`pictures/metadata.py`).
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Final

import trio
from quart import request

from ostiary_core.events import AvatarChosen
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestContext
from ostiary_web.pictures.formats import picture_in
from ostiary_web.pictures.metadata import strip_metadata
from ostiary_web.pictures.orphaned_files import FILES_PREFIX

PATH: Final = "/api/auth/avatar"
_LONGEST_PICTURE: Final = 2 * 1024 * 1024
_FORM_AROUND: Final = 64 * 1024
UPLOAD_LIMITS: Final[Mapping[str, int]] = {
    PATH: _LONGEST_PICTURE + _FORM_AROUND,
    "/account/picture": 8 * _LONGEST_PICTURE + _FORM_AROUND,
}
"""Largest uploads in bytes, by path: a page takes a whole photograph, to say that it is too large."""
_FIELD: Final = "file"


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
    """Return the one file that was sent, cut off if it is known to be too large."""
    sent = (await request.files).getlist(_FIELD)
    if len(sent) != 1:
        return None
    with closing(sent[0]) as file:
        content: bytes = file.read(_LONGEST_PICTURE + 1)
        return content
