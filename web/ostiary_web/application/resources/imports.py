"""`POST /x/import`: a sheet of records, all of it or nothing.

Rules ("Generic list/record convention"; those of the cells are in `sheet_rows.py`):

- `mode=insert` makes a new record of every row; `upsert` also changes those that are there, found by the
  field that names them. A row that says what stands changes nothing.
- What only an import sets, a hash of another system, is left as it is of records that are there (READINGS
  50).
- Passwords are hashed before the one turn that all rows are, some at a time. More of them than a request has
  time for are imported by a run, which goes on after its request (`server/import_runs.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final, Literal, NamedTuple, TypeVar

import trio
from msgspec import UNSET, UnsetType, structs
from quart import Response, request

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.application.answer_data import AnswerData, Count
from ostiary_web.application.invitations import encode_invitations, invite_all, require_inviting
from ostiary_web.application.resources.import_rows import (
    MOST_HASHED_IN_A_REQUEST,
    REPLACES,
    Imported,
    count_hashes,
    import_rows,
)
from ostiary_web.application.resources.resource import Resource
from ostiary_web.application.resources.sheet_rows import SheetRows, read_rows
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.server.import_runs import Ending, Run, TooManyRuns
from ostiary_web.sheets.reader import MOST_READING_SECONDS

T = TypeVar("T")
V = TypeVar("V")

LONGEST_IMPORT: Final = 8 * 1024 * 1024 + 64 * 1024
"""Largest request in bytes: the file and its envelope."""

_CHOICES: Final = {"": False, "false": False, "true": True}
"""What a field that may be left out says."""

_MULTIPART: Final = "multipart/form-data"
_RETRY_SECONDS: Final = 30
"""Seconds after which a place may be free for another run."""


class ImportRun(AnswerData):
    """An import that continues after its request; until it is done, nothing of it is stored."""

    id: str
    state: Literal["running", "done", "lost"]
    """`lost` once the server that ran it is gone: the import was done in full or not at all."""
    prepared: Count
    """Rows whose passwords are hashed."""
    rows: Count
    imported: Imported | UnsetType = UNSET


class SheetRefused(RequestRefused):
    """The refusal of a sheet, with the sheet's own headings by field."""

    def __init__(self, reply: Refused, headings: Mapping[str, str]) -> None:
        super().__init__(reply)
        self.headings = headings


# --- a request


class UploadedSheet(NamedTuple):
    """A sheet that a request uploaded, read and without faults."""

    rows: SheetRows
    mode: str
    digest: str
    """Digest of the file, to recognize it when it is sent again."""
    name: str
    """Name of the file."""
    is_preview: bool
    """Whether only to say what the import would do (`import_preview.py`)."""
    invites: bool = False
    """Whether to invite the new users without a password."""
    sends_invitations: bool = False


async def read_upload(context: RequestContext, resource: Resource[T, V]) -> UploadedSheet:
    """Read the sheet in the request; raise `RequestRefused` with all its faults."""
    if request.mimetype != _MULTIPART:
        context.refuse(Why.NOT_MULTIPART)
    name, content = await _read_file()
    mode, is_preview, faults = await read_choices()
    invites, sends, more = await _read_invite_options(resource)
    faults = (*faults, *more)
    if content is None:
        faults = (FieldFault("file", FieldRule.REQUIRED), *faults)
    if content is None or faults:
        context.refuse(Why.FIELDS_INVALID, faults)
    if invites:
        await require_inviting(context)
    try:
        sheet = await context.services.read_sheet(content)
    except trio.TooSlowError:
        context.refuse(Why.TOO_MANY_REQUESTS, wait_seconds=MOST_READING_SECONDS)
    rows = await trio.to_thread.run_sync(read_rows, resource.list_view, sheet, context.languages)
    if rows.faults:
        context.log_refusal(Why.FIELDS_INVALID)
        raise SheetRefused(Refused(Why.FIELDS_INVALID, rows.faults), rows.headings)
    digest = await trio.to_thread.run_sync(sha256, content)
    return UploadedSheet(rows, mode, digest.hexdigest(), name, is_preview, invites, sends)


async def import_sheet(
    context: RequestContext, resource: Resource[T, V], upload: UploadedSheet
) -> Imported | ImportRun:
    """Import a sheet, or start a run for it; raise `RequestRefused` with every fault of each row.

    The secrets of new clients and the links of invitations are in the answer, this once.
    """
    rows, replace = upload.rows, REPLACES[upload.mode]
    if count_hashes(resource, rows) > MOST_HASHED_IN_A_REQUEST:
        if upload.invites:
            # The links would have to be kept for whoever asks how far it is.
            context.refuse(Why.FIELDS_INVALID, [FieldFault("invite", FieldRule.INVITE_LATER)])
        return await _start_run(context, resource, rows, replace)
    try:
        imported = await import_rows(context, resource, rows.by_number, replace=replace)
    except RequestRefused as refusal:
        raise SheetRefused(refusal.reply, rows.headings) from refusal
    if upload.invites and imported.cannot_sign_in:
        return await _invite(context, imported, imported.cannot_sign_in, upload.sends_invitations)
    return imported


async def _invite(
    context: RequestContext, imported: Imported, user_ids: Sequence[str], by_text_message: bool
) -> Imported:
    """Return what was imported, with the invitations of the users who cannot sign in yet."""
    try:
        invited = await invite_all(context, user_ids, by_text_message=by_text_message)
    except (RequestRefused, TurnFailed):
        # The users are stored by now: an error would say that nothing was done.
        return imported
    return structs.replace(imported, invitations=encode_invitations(invited))


async def read_run(context: RequestContext, resource: Resource[T, V], run_id: str) -> ImportRun:
    """Return the progress of the caller's import; raise `RequestRefused` with the faults that ended it."""
    run = await context.services.import_runs.read(run_id)
    if run is None or (run.owner, run.kind) != (context.user.user_id, resource.name):
        context.refuse(Why.NOT_FOUND)
    if run.ending is not None and run.ending.why is not None:
        raise SheetRefused(Refused(Why(run.ending.why), run.ending.read_faults()), run.headings)
    return _describe_run(run_id, run, context.services.import_runs.is_lost(run))


def answer_import(context: RequestContext, resource: Resource[T, V], made: Imported | ImportRun) -> Response:
    """Answer what an import did, or where to ask for its progress (RFC 9110 §15.3.3)."""
    if isinstance(made, Imported):
        return context.success(made)
    response = context.success(made, status=202)
    response.headers["Location"] = f"{resource.path}/import/{made.id}"
    return response


async def _start_run(
    context: RequestContext, resource: Resource[T, V], rows: SheetRows, replace: bool
) -> ImportRun:
    async def work(on_prepared: Callable[[], None]) -> Ending:
        try:
            done = await import_rows(
                context, resource, rows.by_number, replace=replace, on_prepared=on_prepared
            )
        except RequestRefused as refusal:
            return Ending.of_refusal(refusal.reply)
        return Ending(
            counts=(done.created, done.updated, done.unchanged, done.hashes_left),
            cannot_sign_in=done.cannot_sign_in or [],
        )

    run = Run(
        owner=context.user.user_id, kind=resource.name, rows=len(rows.by_number), headings=dict(rows.headings)
    )
    try:
        run_id = await context.services.import_runs.start(run, work)
    except TooManyRuns:
        context.refuse(Why.TOO_MANY_REQUESTS, wait_seconds=_RETRY_SECONDS)
    return _describe_run(run_id, run, is_lost=False)


def _describe_run(run_id: str, run: Run, is_lost: bool) -> ImportRun:
    if run.ending is not None and run.ending.counts is not None:
        created, updated, unchanged, hashes_left = run.ending.counts
        imported = Imported(
            created=created,
            updated=updated,
            unchanged=unchanged,
            hashes_left=hashes_left,
            cannot_sign_in=run.ending.cannot_sign_in or UNSET,
        )
        return ImportRun(id=run_id, state="done", prepared=run.rows, rows=run.rows, imported=imported)
    state: Literal["lost", "running"] = "lost" if is_lost else "running"
    return ImportRun(id=run_id, state=state, prepared=run.prepared, rows=run.rows)


async def read_choices() -> tuple[str, bool, tuple[FieldFault, ...]]:
    """Return the `mode` and the `preview` of the request, and what is wrong with them."""
    form = await request.form
    modes, preview = form.getlist("mode"), ",".join(form.getlist("preview"))
    mode = modes[0] if len(modes) == 1 else ""
    faults = (
        *([FieldFault("mode", FieldRule.IMPORT_MODE)] if mode not in REPLACES else []),
        *([FieldFault("preview", FieldRule.BOOLEAN)] if preview not in _CHOICES else []),
    )
    return mode, _CHOICES.get(preview, False), faults


async def _read_invite_options(
    resource: Resource[T, V],
) -> tuple[bool, bool, tuple[FieldFault, ...]]:
    """Return the `invite` and the `send` of the request, and what is wrong with them."""
    if resource.has_password is None:
        return False, False, ()
    form = await request.form
    sent = {name: ",".join(form.getlist(name)) for name in ("invite", "send")}
    faults = (FieldFault(name, FieldRule.BOOLEAN) for name, text in sent.items() if text not in _CHOICES)
    invites, sends = (_CHOICES.get(text, False) for text in sent.values())
    return invites, sends, tuple(faults)


async def _read_file() -> tuple[str, bytes | None]:
    """Return the name and the content of the one file of the request."""
    files = await request.files
    sent = files.getlist("file")
    content = sent[0].read() if len(sent) == 1 else None
    for file in (file for several in files.listvalues() for file in several):
        file.close()
    return (sent[0].filename or "") if sent else "", content
