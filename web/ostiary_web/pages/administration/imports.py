"""Pages that import a sheet of records: all or nothing, with faults named by the sheet's own headings."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from quart import Response

from ostiary_core.http.envelope import field_text
from ostiary_core.model.client import CLIENT
from ostiary_core.model.fact import Fact
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_core.texts import Language
from ostiary_web.application.invitations import has_gateway
from ostiary_web.application.resources.changes import format_changes
from ostiary_web.application.resources.exports import answer_template
from ostiary_web.application.resources.import_preview import Preview, encode_preview, preview_sheet
from ostiary_web.application.resources.import_rows import Imported
from ostiary_web.application.resources.imports import (
    ImportRun,
    SheetRefused,
    UploadedSheet,
    import_sheet,
    read_run,
    read_upload,
)
from ostiary_web.application.resources.resource import Resource
from ostiary_web.application.resources.sheet_rows import (
    MOST_FAULTS_SHOWN,
    describe_place,
    translate_headings,
)
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.kept_sheet import keep_sheet, read_kept_sheet
from ostiary_web.pages.administration.list_return import HOME
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes
from ostiary_web.server.submissions import Submitted

_REFRESH_SECONDS: Final = "2"
_OUTCOMES: Final = {"created": "page.import_created", "updated": "page.import_updated"}
_MOST_ROWS_SHOWN: Final = 200
"""Most rows of a preview on its page; the interface has all."""


def add_import(routes: PageRoutes, resource: Resource[Any, Any], place: str) -> None:
    """Add the routes of the import form and of its result."""
    gate = require_permission(resource.permissions.create)

    @routes.get(f"{place}/import", gate=gate)
    async def show_import(page: PageContext) -> Response:
        return await _form(page, resource, place)

    @routes.get(f"{place}/import-template", gate=gate)
    async def show_template(page: PageContext) -> Response:
        return page.keep(await answer_template(page.request, resource, page.language))

    @routes.post(f"{place}/import", gate=gate)
    async def take_import(page: PageContext) -> Response:
        upload = None
        try:
            upload = await read_kept_sheet(page, place) or await read_upload(page.request, resource)
            if upload.is_preview:
                preview = await preview_sheet(page.request, resource, upload)
                described = _describe(page, resource, upload, preview)
                return await _form(page, resource, place, preview=described, upload=upload)
            made, is_repeated = await _import_once(page.request, resource, upload)
        except RequestRefused as refusal:
            return await _form(page, resource, place, refusal=refusal, upload=upload)
        if isinstance(made, ImportRun):
            return page.redirect(f"{place}/import/{made.id}")
        twice = RequestRefused(Refused(Why.SUBMITTED_TWICE)) if is_repeated else None
        return await _form(page, resource, place, refusal=twice, done=made)

    if resource.has_password is None:
        return

    @routes.get(f"{place}/import/<run_id>", gate=gate)
    async def show_run(page: PageContext, run_id: str) -> Response:
        try:
            run = await read_run(page.request, resource, run_id)
        except SheetRefused as refusal:
            return await _form(page, resource, place, refusal=refusal)
        if isinstance(run.imported, Imported):
            return await _form(page, resource, place, done=run.imported)
        response = await _form(page, resource, place, run=run)
        if run.state == "running":
            # The browser reloads the page by itself, with or without scripts.
            response.headers["Refresh"] = _REFRESH_SECONDS
        return response


async def _import_once(
    context: RequestContext, resource: Resource[Any, Any], upload: UploadedSheet
) -> Submitted[Imported | ImportRun]:
    """Import a form's sheet once, even if a browser sends it twice: it awaits the second answer only."""
    content = {"mode": upload.mode, "file": upload.digest}
    return await context.services.submissions.submit(
        context.caller.access_token.digest,
        f"{resource.path}/import",
        content,
        partial(import_sheet, context, resource, upload),
    )


def _describe(
    page: PageContext, resource: Resource[Any, Any], upload: UploadedSheet, preview: Preview
) -> dict[str, Any]:
    """Return the counts of a preview, and its first rows that change anything, as a person reads them."""
    encoded = encode_preview(preview, resource, upload.rows)
    changing = [row for row in encoded.rows if row.outcome != "unchanged"]
    return {
        "counts": encoded,
        "rows": [
            (row, page.text(_OUTCOMES[row.outcome]), _lines(preview[row.row], page.language))
            for row in changing[:_MOST_ROWS_SHOWN]
        ],
        "more": max(0, len(changing) - _MOST_ROWS_SHOWN),
    }


def _lines(facts: Iterable[Fact], language: Language) -> list[str]:
    return [line for fact in facts for line in format_changes(fact.kind, fact.changes, language)]


async def _form(
    page: PageContext,
    resource: Resource[Any, Any],
    place: str,
    *,
    refusal: RequestRefused | None = None,
    done: Imported | None = None,
    run: ImportRun | None = None,
    preview: Mapping[str, Any] | None = None,
    upload: UploadedSheet | None = None,
) -> Response:
    refused = None if refusal is None else refusal.reply
    headings = refusal.headings if isinstance(refusal, SheetRefused) else {}
    faults = () if refused is None else refused.faults
    kept = None if upload is None else await keep_sheet(page, place, upload)
    said = [
        page.text(
            "sheet.fault",
            place=describe_place(fault.path, headings, resource.list_view, page.language),
            fault=field_text(fault, page.language),
        )
        for fault in translate_headings(faults[:MOST_FAULTS_SHOWN], resource.list_view, page.language)
    ]
    if len(faults) > MOST_FAULTS_SHOWN:
        said.append(page.text("sheet.more", count=len(faults) - MOST_FAULTS_SHOWN))
    return await render(
        page,
        "administration/import.html",
        place=place,
        refused=refused,
        faults=said,
        heading=page.text(
            "page.of", action=page.text("page.import"), name=resource.list_view.title(page.language)
        ),
        back=place if page.may(resource.permissions.list) else HOME,
        template_address=f"{place}/import-template",
        asks_proof=page.asks_proof and resource.record_type is not CLIENT,
        done=done,
        may_invite=page.may(Permission.USER_UPDATE),
        has_gateway=has_gateway(page.request),
        run=run,
        preview=preview,
        mode="insert" if upload is None else upload.mode,
        kept=kept,
        is_too_long_to_keep=upload is not None and kept is None,
    )
