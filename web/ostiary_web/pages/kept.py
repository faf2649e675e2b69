"""What a form's answer keeps for the page it redirects to: sealed, in a cookie, for ten minutes.

A form that is taken is answered by a redirect, so that no way back sends it again. What that page shows once,
or is filled in with, is kept by the browser, which cannot read it, and by no store of the server
(docs/decisions/0082-kept-for-the-next-page.md). It is for one page and one user.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec
from quart import Response

from ostiary_core.model.instant import Instant, later
from ostiary_core.model.one_time_password import derive_from_key
from ostiary_core.model.secret import draw_bytes
from ostiary_web.http.browser import read_kept_cookie
from ostiary_web.http.sealing import seal, unseal
from ostiary_web.pages.context import KEPT_SECONDS, PageContext

_LONGEST_COOKIE: Final = 3_800
"""Longest cookie that every browser keeps, with its name and attributes."""
_LONGEST_CONTENT: Final = 65_536


class _Kept(msgspec.Struct, array_like=True):
    until: int
    path: str
    user: str
    fields: list[tuple[str, str]]


def redirect_keeping(page: PageContext, address: str, fields: Mapping[str, str]) -> Response:
    """Redirect to `address`, whose page can read these fields."""
    keep_fields(page, address, list(fields.items()), user_mark(page))
    return page.redirect(address)


def keep_fields(page: PageContext, address: str, fields: Sequence[tuple[str, str]], user: str) -> bool:
    """Keep fields for the page at `address` and the user of a mark; return whether they are not too long."""
    until = later(page.request.service.clock.now(), KEPT_SECONDS)
    content = msgspec.json.encode(_Kept(until, urlsplit(address).path, user, list(fields)))
    nonce = draw_bytes(page.request.draw_entropy(), "kept for the next page")[:24]
    sealed = seal(_key(page), nonce, zlib.compress(content))
    is_short = len(sealed) <= _LONGEST_COOKIE and len(content) <= _LONGEST_CONTENT
    page.kept = sealed if is_short else ""
    return is_short


def read_kept(page: PageContext, path: str) -> list[tuple[str, str]]:
    """Return the fields that were kept for this user and the page at `path`; none if there are none."""
    content = unseal(_key(page), read_kept_cookie())
    if content is None:
        return []
    # Ours, as it is signed; the bound is for what a later release may have sealed.
    kept = msgspec.json.decode(zlib.decompressobj().decompress(content, _LONGEST_CONTENT), type=_Kept)
    now = page.request.service.clock.now()
    is_for_this = (kept.path, kept.user) == (path, user_mark(page)) and now < Instant(kept.until)
    return kept.fields if is_for_this else []


def forget_kept(page: PageContext) -> None:
    """Have the browser forget what it keeps."""
    if read_kept_cookie():
        page.kept = ""


def user_mark(page: PageContext) -> str:
    """Return what stands for the user who is signed in, and only this server can make; empty without one."""
    if page.user is None:
        return ""
    return derive_from_key(_key(page), "mark", page.user.user_id.encode())[:12].hex()


def _key(page: PageContext) -> bytes:
    key = page.request.services.settings.second_factor_key
    assert key is not None, "the start makes one where none is set"
    return key
