"""Keep the rows of a sheet in the page that previews it, so that its file is chosen once.

The rows are sealed with the server's key, for one user and one form, for an hour: whoever holds the page can
neither read nor change them, and no server stores them (docs/decisions/0085-the-preview-keeps-the-sheet.md).
"""

from typing import Final, NamedTuple

import msgspec
import trio
from quart import request

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import later
from ostiary_core.model.one_time_password import derive_from_key
from ostiary_core.model.why import Why
from ostiary_web.application.resources.imports import UploadedSheet, read_choices
from ostiary_web.application.resources.sheet_rows import SheetRows
from ostiary_web.http.sealing import seal, unseal
from ostiary_web.pages.context import PageContext

FIELD: Final = "kept"
"""Form field with a sealed sheet."""
_KEPT_SECONDS: Final = 60 * 60
_LONGEST_FIELD: Final = 400_000
"""Most characters of the form field; a form may have 500,000 beside its file."""
_LONGEST_CONTENT: Final = 16 * 1024 * 1024
_LONGEST_NAME: Final = 100


class KeptSheet(NamedTuple):
    """A sheet that a form has the browser keep."""

    name: str
    sealed: str


class _Content(msgspec.Struct, array_like=True):
    until: int
    place: str
    user: str
    name: str
    digest: str
    rows: list[tuple[int, dict[str, object]]]
    headings: dict[str, str]


async def keep_sheet(page: PageContext, place: str, upload: UploadedSheet) -> KeptSheet | None:
    """Return the sheet, sealed for the form at `place`; None if it is too long to be kept."""
    name = upload.name.replace("\\", "/").rpartition("/")[2][:_LONGEST_NAME]
    content = _Content(
        until=later(page.request.service.clock.now(), _KEPT_SECONDS),
        place=place,
        user=page.user_mark,
        name=name,
        digest=upload.digest,
        rows=[(number, dict(fields)) for number, fields in upload.rows.by_number.items()],
        headings=dict(upload.rows.headings),
    )
    entropy = page.request.draw_entropy()
    sealed = await trio.to_thread.run_sync(seal, _key(page), entropy, content, _LONGEST_CONTENT)
    return None if sealed is None or len(sealed) > _LONGEST_FIELD else KeptSheet(name, sealed)


async def read_kept_sheet(page: PageContext, place: str) -> UploadedSheet | None:
    """Return the sheet that the form has, unless it has a file; raise `RequestRefused` if it is too old."""
    sealed = page.form.get(FIELD, "")
    if not sealed or any(file.filename for file in (await request.files).getlist("file")):
        return None
    mode, is_preview, faults = await read_choices()
    content = await trio.to_thread.run_sync(unseal, _key(page), sealed, _Content, _LONGEST_CONTENT)
    now = page.request.service.clock.now()
    if content is None or (content.place, content.user) != (place, page.user_mark) or now >= content.until:
        faults = (FieldFault("file", FieldRule.SHEET_NOT_KEPT), *faults)
    if content is None or faults:
        page.request.refuse(Why.FIELDS_INVALID, faults)
    rows = SheetRows(by_number=dict(content.rows), faults=(), headings=content.headings)
    return UploadedSheet(rows, mode, content.digest, content.name, is_preview)


def _key(page: PageContext) -> bytes:
    # Of its own, so that nothing sealed for another purpose is read as a sheet, nor a sheet as it.
    return derive_from_key(page.sealing_key, "kept sheet")
