"""Preview an import: what each row would do, with nothing stored and no password hashed."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from ostiary_core.model.fact import Fact
from ostiary_web.application.answer_data import AnswerData, Count
from ostiary_web.application.resources.changes import ChangedField, encode_changes
from ostiary_web.application.resources.import_rows import REPLACES, judge_rows
from ostiary_web.application.resources.imports import SheetRefused, UploadedSheet
from ostiary_web.application.resources.resource import RecordContext, Resource
from ostiary_web.application.resources.sheet_rows import SheetRows
from ostiary_web.http.context import RequestRefused

Outcome = Literal["created", "updated", "unchanged"]
Preview = Mapping[int, tuple[Fact, ...]]
"""The facts that each row would make, by its number in the sheet; none if it changes nothing."""


class PreviewedRow(AnswerData):
    """What a row would do."""

    row: Count
    """Number of the row in the sheet."""
    name: str
    """What names its record."""
    outcome: Outcome
    changes: list[ChangedField]


class ImportPreview(AnswerData):
    """What an import would do; nothing of it was done."""

    created: Count
    updated: Count
    unchanged: Count
    rows: list[PreviewedRow]
    cannot_sign_in: Count | UnsetType = UNSET
    """New users without a password, if there are any."""


async def preview_sheet(
    context: RecordContext, resource: Resource[Any, Any], upload: UploadedSheet
) -> Preview:
    """Return what an import of this sheet would do; raise `RequestRefused` with every fault of each row."""
    try:
        return await preview_rows(context, resource, upload.rows, replace=REPLACES[upload.mode])
    except RequestRefused as refusal:
        raise SheetRefused(refusal.reply, upload.rows.headings) from refusal


async def preview_rows(
    context: RecordContext, resource: Resource[Any, Any], rows: SheetRows, *, replace: bool
) -> Preview:
    """Return what an import of these rows would do; raise `RequestRefused` with every fault of each."""
    facts = await judge_rows(context, resource, rows.by_number, replace=replace)
    return dict(zip(rows.by_number, facts, strict=True))


def encode_preview(preview: Preview, resource: Resource[Any, Any], rows: SheetRows) -> ImportPreview:
    """Return a preview as the interface shows it."""
    naming = resource.record_type.settable[0].name
    shown = [
        PreviewedRow(
            row=number,
            name=str(rows.by_number[number][naming]),
            outcome=_outcome_of(facts),
            changes=encode_changes(change for fact in facts for change in fact.changes),
        )
        for number, facts in preview.items()
    ]
    outcomes = [row.outcome for row in shown]
    return ImportPreview(
        created=outcomes.count("created"),
        updated=outcomes.count("updated"),
        unchanged=outcomes.count("unchanged"),
        cannot_sign_in=_count_without_password(resource, rows, outcomes) or UNSET,
        rows=shown,
    )


def _count_without_password(
    resource: Resource[Any, Any], rows: SheetRows, outcomes: Iterable[Outcome]
) -> int:
    """Return how many of the rows would register a user with neither a password nor a hash."""
    if resource.has_password is None:
        return 0
    both = zip(rows.by_number.values(), outcomes, strict=True)
    return sum(
        outcome == "created" and not row.get("password") and not row.get("passwordHash")
        for row, outcome in both
    )


def _outcome_of(facts: tuple[Fact, ...]) -> Outcome:
    """Return what a row does, by the facts that it makes."""
    if not facts:
        return "unchanged"
    return "created" if facts[0].kind.value.endswith("-registered") else "updated"
