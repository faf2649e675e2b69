"""What an answer keeps for the next page: sealed, in a cookie, for ten minutes.

A form that is taken is answered by a redirect, so that no way back sends it again. What that page shows once,
or is filled in with, is kept by the browser, which cannot read it, and by no store of the server
(docs/decisions/0082-kept-for-the-next-page.md). It is for one page and one user.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec
from quart import Response

from ostiary_core.model.instant import Instant, later
from ostiary_web.http.browser import FORM_FIELD, KEPT, TYPED, read_kept_cookie
from ostiary_web.http.sealing import seal, unseal
from ostiary_web.pages.context import KEPT_SECONDS, PageContext

_LONGEST_COOKIE: Final = 3_800
"""Longest cookie that every browser keeps, with its name and attributes."""
_LONGEST_CONTENT: Final = 65_536
_ACTION: Final = "form_action"
"""Name under which it is kept where a form goes; also the field of a button that switches the language."""
_NOT_TYPED: Final = frozenset(
    {
        *(FORM_FIELD, "next", "decision", "proof", "code", "recovery_code", "secret", "recovery_codes"),
        *("ticket", "kept"),
    }
)
"""Fields that are never filled in again; nor is any password. `decision` is a button, `kept` a sheet."""


class _Kept(msgspec.Struct, array_like=True):
    until: int
    path: str
    user: str
    fields: list[tuple[str, str]]


def redirect_keeping(page: PageContext, address: str, fields: Mapping[str, str]) -> Response:
    """Redirect to `address`, whose page can read these fields unless they are too long for a cookie."""
    return redirect_if_short(page, address, fields) or page.redirect(address)


def redirect_if_short(page: PageContext, address: str, fields: Mapping[str, str]) -> Response | None:
    """Redirect to `address`, whose page can read these fields; None if they are too long for a cookie."""
    sealed = _seal(page, address, list(fields.items()), page.user_mark)
    if sealed is None or len(sealed) > _LONGEST_COOKIE:
        return None
    page.kept[KEPT] = sealed
    return page.redirect(address)


def read_kept(page: PageContext, path: str) -> Mapping[str, str]:
    """Return the fields that were kept for this user and the page at `path`; none if there are none."""
    return dict(_unseal(page, KEPT, path))


def take_kept(page: PageContext, path: str) -> Mapping[str, str]:
    """Return the fields that were kept for this user and the page at `path`, and forget them: shown once."""
    fields = read_kept(page, path)
    if fields:
        forget_kept(page)
    return fields


def forget_kept(page: PageContext) -> None:
    """Have the browser forget what it keeps."""
    if read_kept_cookie(KEPT):
        page.kept[KEPT] = ""


# --- what was typed into a form


def keep_typed(page: PageContext, address: str, action: str, user: str) -> None:
    """Keep what was typed into the form that goes to `action`, for the page at `address`.

    It keeps no secrets, and nothing that is too long for a cookie.
    """
    fields = [
        (name, value)
        for name, value in page.form.items(multi=True)
        if name not in _NOT_TYPED and "password" not in name and name != _ACTION
    ]
    sealed = _seal(page, address, [(_ACTION, action), *fields], user)
    if fields and sealed is not None and len(sealed) + len(address) <= _LONGEST_COOKIE:
        page.kept[TYPED] = sealed


def take_typed(page: PageContext, path: str) -> None:
    """Have the page at `path` filled in with what its user typed before, once."""
    fields = _unseal(page, TYPED, path)
    if fields:
        page.kept[TYPED] = ""
        page.typed = {name: [value for each, value in fields if each == name] for name, _ in fields}


def _seal(page: PageContext, address: str, fields: Sequence[tuple[str, str]], user: str) -> str | None:
    until = later(page.request.service.clock.now(), KEPT_SECONDS)
    kept = _Kept(until, urlsplit(address).path, user, list(fields))
    return seal(page.sealing_key, page.request.draw_entropy(), kept, _LONGEST_CONTENT)


def _unseal(page: PageContext, cookie: str, path: str) -> Sequence[tuple[str, str]]:
    kept = unseal(page.sealing_key, read_kept_cookie(cookie), _Kept, _LONGEST_CONTENT)
    now = page.request.service.clock.now()
    if kept is None or (kept.path, kept.user) != (path, page.user_mark) or now >= Instant(kept.until):
        return ()
    return kept.fields
