"""Run `ostiary user import FILE`: register all users of a file, or say what it would do."""

import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from ostiary_core.model.reply import Refused
from ostiary_core.model.user import USER
from ostiary_core.model.why import Why
from ostiary_web.application.resources.changes import format_changes
from ostiary_web.application.resources.import_preview import encode_preview, preview_rows
from ostiary_web.application.resources.import_rows import (
    MOST_HASHED_IN_A_REQUEST,
    REPLACES,
    Imported,
    count_hashes,
    import_rows,
)
from ostiary_web.application.resources.sheet_rows import (
    MOST_FAULTS_SHOWN,
    SheetRows,
    describe_place,
    translate_headings,
)
from ostiary_web.application.resources.users import RESOURCE
from ostiary_web.cli.context import make_refusal, run
from ostiary_web.cli.import_files import read_import_file
from ostiary_web.cli.printing import REFUSED, Labels, Printer, with_printer
from ostiary_web.http.context import RequestRefused
from ostiary_web.streams import print_text, tell

_IMPORTED: Final[Labels] = {
    "created": "command.import.created",
    "updated": "command.import.updated",
    "unchanged": "command.import.unchanged",
    "hashesLeft": "command.import.hashes_left",
}
_WOULD: Final = {
    "created": "command.import.would.created",
    "updated": "command.import.would.updated",
    "unchanged": "command.import.would.unchanged",
}
"""Texts of a preview, by what a row would do."""

_NAME: Final = USER.settable[0].name
"""Field that names a user."""


@click.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(list(REPLACES)),
    default="insert",
    show_default=True,
    help="Whether a row with the name of an existing user is refused, or changes that user.",
)
@click.option("--dry-run", is_flag=True, help="Only say what each row would do, and what is refused.")
@with_printer
def import_users(printer: Printer, file: Path, mode: str, dry_run: bool) -> None:
    """Register all users in FILE, or none: a sheet (.xlsx), CSV, or one JSON object a line (.jsonl).

    The columns are those of the interface's import template, by their headings or the names of the fields.
    A passwordHash is another system's hash of a password (argon2id, bcrypt, scrypt, pbkdf2_sha256 of
    Django, or one of passlib or Werkzeug), and the user signs in with that password as before. At most
    2000 rows are imported at a time.
    """
    rows = read_import_file(file, RESOURCE.list_view)
    try:
        if rows.faults:
            raise make_refusal(*rows.faults)
        if dry_run:
            _preview(printer, rows, replace=REPLACES[mode])
            return
        done = _import(printer, rows, replace=REPLACES[mode])
    except RequestRefused as refusal:
        _print_refusal(printer, rows, refusal.reply, mode)
        sys.exit(REFUSED)
    printer.record(msgspec.to_builtins(done), _IMPORTED)


def _print_refusal(printer: Printer, rows: SheetRows, reply: Refused, mode: str) -> None:
    """Print a refusal in the words of the file, and say how users that exist are changed."""
    place = partial(
        describe_place, headings=rows.headings, list_view=RESOURCE.list_view, language=printer.language
    )
    reply = Refused(reply.why, translate_headings(reply.faults, RESOURCE.list_view, printer.language))
    printer.print_refusal(reply, place, most=MOST_FAULTS_SHOWN)
    is_of_names = any(
        fault.rule is Why.ALREADY_TAKEN and fault.path.endswith(f".{_NAME}") for fault in reply.faults
    )
    if is_of_names and not (REPLACES[mode] or printer.for_scripts):
        tell(printer.text("command.import.upsert"))


def _preview(printer: Printer, rows: SheetRows, *, replace: bool) -> None:
    found = run(lambda context: preview_rows(context, RESOURCE, rows, replace=replace))
    encoded: dict[str, Any] = msgspec.to_builtins(encode_preview(found, RESOURCE, rows))
    if printer.for_scripts:
        printer.document(encoded)
        return
    for row in encoded.pop("rows"):
        print_text(printer.text(_WOULD[row["outcome"]], row=row["row"], name=row["name"]))
        for fact in found[row["row"]]:
            for line in format_changes(fact.kind, fact.changes, printer.language):
                print_text(f"    {line}")
    print_text(printer.text("command.import.would", **encoded))


def _import(printer: Printer, rows: SheetRows, *, replace: bool) -> Imported:
    """Import rows, with a progress bar for the hashing of passwords."""
    with click.progressbar(
        length=len(rows.by_number),
        label=printer.text("command.import.preparing"),
        file=sys.stderr,
        hidden=count_hashes(RESOURCE, rows) <= MOST_HASHED_IN_A_REQUEST or printer.for_scripts,
    ) as bar:
        return run(
            lambda context: import_rows(
                context, RESOURCE, rows.by_number, replace=replace, on_prepared=partial(bar.update, 1)
            )
        )
