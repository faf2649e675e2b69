"""`POST /x/import`: a sheet of records, all of it or nothing.

Rules ("Generic list/record convention"; those of the cells are in `sheet_rows.py`):

- `mode=insert` makes a new record of every row; `upsert` also changes those that are there, found by the
  field that names them. A row that says what stands changes nothing.
- What only an import sets, a hash of another system, is left as it is of records that are there (READINGS
  50).
- Passwords are hashed before the one turn that all rows are, some at a time. More of them than a request has
  time for are imported by a run, which goes on after its request (`server/import_runs.py`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, Literal, NamedTuple, TypeVar

import trio
from msgspec import UNSET, UnsetType
from quart import Response, request

from ostiary_core.events import AdministrationEvent, BatchRequested
from ostiary_core.model.fields import FieldFault, FieldRule, Fields
from ostiary_core.model.records import User
from ostiary_core.model.reply import BatchDone, BatchRefused, Refused, Reply, SecretIssued
from ostiary_core.model.why import Why
from ostiary_web.application.answer_data import AnswerData, Count
from ostiary_web.application.resources.fields import SheetUse
from ostiary_web.application.resources.records import combine_refusals
from ostiary_web.application.resources.resource import RecordContext, Resource, is_new
from ostiary_web.application.resources.sheet_rows import SheetRows, read_rows
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.server.import_runs import Ending, Run, TooManyRuns
from ostiary_web.sheets.reader import MOST_READING_SECONDS

T = TypeVar("T")
V = TypeVar("V")

LONGEST_IMPORT: Final = 8 * 1024 * 1024 + 64 * 1024
"""Largest request in bytes: the file and its envelope."""

MOST_HASHED_IN_A_REQUEST: Final = 50
"""Most passwords hashed within a request; each takes 25 ms of a core, more on a small machine."""

REPLACES: Final = {"insert": False, "upsert": True}
"""Whether rows may change existing records, by the mode of an import."""

_PREVIEWS: Final = {"": False, "false": False, "true": True}
"""Whether an import is only previewed, by the field `preview`."""

_MULTIPART: Final = "multipart/form-data"
_RETRY_SECONDS: Final = 30
"""Seconds after which a place may be free for another run."""


class ImportedSecret(AnswerData):
    """The secret of a new client, shown this once."""

    client_id: str
    secret: str


class Imported(AnswerData):
    """Counts of records created, updated and unchanged, and of those whose hash in the sheet was ignored."""

    created: Count
    updated: Count
    unchanged: Count
    hashes_left: Count
    cannot_sign_in: list[str] | UnsetType = UNSET
    """New users without a password, by their identifiers, if there are any."""
    secrets: list[ImportedSecret] | UnsetType = UNSET


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
    is_preview: bool
    """Whether only to say what the import would do (`import_preview.py`)."""


async def read_upload(context: RequestContext, resource: Resource[T, V]) -> UploadedSheet:
    """Read the sheet in the request; raise `RequestRefused` with all its faults."""
    if request.mimetype != _MULTIPART:
        context.refuse(Why.NOT_MULTIPART)
    content, mode, preview = await _read_parts()
    faults = [
        *([FieldFault("file", FieldRule.REQUIRED)] if content is None else []),
        *([FieldFault("mode", FieldRule.IMPORT_MODE)] if mode not in REPLACES else []),
        *([FieldFault("preview", FieldRule.BOOLEAN)] if preview not in _PREVIEWS else []),
    ]
    if content is None or faults:
        context.refuse(Why.FIELDS_INVALID, faults)
    try:
        sheet = await context.services.read_sheet(content)
    except trio.TooSlowError:
        context.refuse(Why.TOO_MANY_REQUESTS, wait_seconds=MOST_READING_SECONDS)
    rows = await trio.to_thread.run_sync(read_rows, resource.list_view, sheet, context.languages)
    if rows.faults:
        context.log_refusal(Why.FIELDS_INVALID)
        raise SheetRefused(Refused(Why.FIELDS_INVALID, rows.faults), rows.headings)
    digest = await trio.to_thread.run_sync(sha256, content)
    return UploadedSheet(rows, mode, digest.hexdigest(), _PREVIEWS[preview])


async def import_sheet(
    context: RequestContext, resource: Resource[T, V], upload: UploadedSheet
) -> Imported | ImportRun:
    """Import a sheet, or start a run for it; raise `RequestRefused` with every fault of each row.

    The secrets of new clients are in the answer, this once.
    """
    rows, replace = upload.rows, REPLACES[upload.mode]
    if count_hashes(resource, rows) > MOST_HASHED_IN_A_REQUEST:
        return await _start_run(context, resource, rows, replace)
    try:
        return await import_rows(context, resource, rows.by_number, replace=replace)
    except RequestRefused as refusal:
        raise SheetRefused(refusal.reply, rows.headings) from refusal


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


async def _read_parts() -> tuple[bytes | None, str, str]:
    """Return the one file, the mode and the `preview` of the request."""
    form, files = await request.form, await request.files
    sent, modes = files.getlist("file"), form.getlist("mode")
    content = sent[0].read() if len(sent) == 1 else None
    for file in (file for several in files.listvalues() for file in several):
        file.close()
    return content, modes[0] if len(modes) == 1 else "", ",".join(form.getlist("preview"))


# --- rows, from wherever they come


def count_hashes(resource: Resource[T, V], rows: SheetRows) -> int:
    """Return how many passwords must be hashed before the rows can be imported."""
    has_password = resource.has_password
    return 0 if has_password is None else sum(map(has_password, rows.by_number.values()))


async def import_rows(
    context: RecordContext,
    resource: Resource[T, V],
    rows: Mapping[int, Fields],
    *,
    replace: bool,
    on_prepared: Callable[[], None] = lambda: None,
) -> Imported:
    """Import rows by their numbers, all or none; raise `RequestRefused` with every fault of each.

    `on_prepared` is called for each row that is ready for the turn.
    """
    events = await make_import_events(context, resource, [*rows.values()], replace, on_prepared)
    reply = await context.decide(BatchRequested(events=events))
    refuse_rows(reply, rows)
    assert isinstance(reply, BatchDone)
    items = [resource.item_in_reply(each) for each in reply.replies]
    written = [is_new(item) for item in items if item is not None]
    secrets = [
        ImportedSecret(client_id=each.client.client_id, secret=each.secret.reveal())
        for each in reply.replies
        if isinstance(each, SecretIssued)
    ]
    return Imported(
        created=written.count(True),
        updated=written.count(False),
        unchanged=len(items) - len(written),
        hashes_left=_count_hashes_left(resource, [*rows.values()], items),
        cannot_sign_in=_find_without_password(items) or UNSET,
        secrets=secrets or UNSET,
    )


def refuse_rows(reply: Reply, rows: Iterable[int]) -> None:
    """Raise `RequestRefused` with every fault of each row, by its number, if a batch was refused."""
    if isinstance(reply, BatchRefused):
        raise combine_refusals(reply, [f"rows.{number}" for number in rows])


async def make_import_events(
    context: RecordContext,
    resource: Resource[T, V],
    rows: Sequence[Fields],
    replace: bool,
    on_prepared: Callable[[], None] = lambda: None,
) -> tuple[AdministrationEvent, ...]:
    """Return the event of each row, in order, preparing as many at a time as passwords are hashed."""
    events: dict[int, AdministrationEvent] = {}
    waiting = iter(enumerate(rows))

    async def prepare() -> None:
        for place, row in waiting:
            events[place] = await resource.import_row(context, row, replace)
            on_prepared()
            # A row without a password waits for nothing, and 2,000 of them take 0.2 s of CPU.
            await trio.lowlevel.checkpoint()

    # No more at a time than passwords are hashed: a user who signs in waits for one of these hashes, not all.
    async with trio.open_nursery() as nursery:
        for _ in range(context.passwords.at_a_time):
            nursery.start_soon(prepare)
    return tuple(events[place] for place in range(len(rows)))


def _find_without_password(items: Iterable[object]) -> list[str]:
    """Return the new users who cannot sign in yet."""
    users = (item for item in items if isinstance(item, User) and is_new(item))
    return [user.user_id for user in users if user.password_hash is None]


def _count_hashes_left(resource: Resource[T, V], rows: Sequence[Fields], items: Sequence[T | None]) -> int:
    """Count the existing records for which a row had a value that only an import of new ones sets."""
    names = [field.name for field in resource.fields if field.sheet is SheetUse.IMPORT_ONLY]
    return sum(
        any(row.get(name) for name in names) and (item is None or not is_new(item))
        for row, item in zip(rows, items, strict=True)
    )
