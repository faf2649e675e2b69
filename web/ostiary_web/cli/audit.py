"""Run `ostiary audit export`, which writes the audit trail as lines of JSON."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import Listing, ListingStore, Sort
from ostiary_web.application.resources.audit import AUDIT_EVENTS
from ostiary_web.application.resources.queries import Arguments
from ostiary_web.cli.context import CommandContext, run
from ostiary_web.cli.declared_options import read_listing, with_filter_options
from ostiary_web.cli.follow import CannotFollow, Cursor, follow_trail, format_entry
from ostiary_web.cli.named_users import with_identifiers
from ostiary_web.streams import exit_with, print_data

_AT_A_TIME: Final = 500


@click.group("audit")
def audit() -> None:
    """Work with the audit trail as a whole."""


@audit.command("export")
@click.option("--follow", is_flag=True, help="Keep streaming new entries, in the order of their `id`.")
@click.option(
    "--cursor",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the position in this file, and resume there.",
)
@with_filter_options(AUDIT_EVENTS, {"actorId": "actor", "userId": "user", "q": "search"}, left_out=("sort",))
def export(follow: bool, cursor: Path | None, filters: Arguments) -> None:
    """Write the audit trail to standard output, the oldest entry first, one JSON object a line.

    The lines are the items of `GET /api/audit/events`. No entry holds a token, code, secret or password.

    With --follow it ends at SIGTERM, or once nobody reads the lines any more. Restarted with the same
    --cursor it leaves nothing out; some of the last lines may come twice, with the same `id`.

    The other options leave out entries that do not fit all of them. --actor and --user take a user name or
    an identifier, also of accounts that were deleted, and --actor takes `command-line`. A time without a zone
    is in UTC.
    """
    if cursor is not None and not follow:
        raise click.UsageError("--cursor goes with --follow")
    listing = replace(read_listing(AUDIT_EVENTS, filters, _AT_A_TIME), sort=(Sort("at"),))
    try:
        run(partial(_follow, Cursor(cursor), listing) if follow else partial(_export, listing))
    except CannotFollow as reason:
        exit_with(reason)


async def _follow(cursor: Cursor, listing: Listing[AuditEntry], context: CommandContext) -> None:
    await follow_trail(cursor, await with_identifiers(listing, context), context)


async def _export(listing: Listing[AuditEntry], context: CommandContext) -> None:
    """Print the trail piece by piece, holding none of it in memory."""
    listing, last = await with_identifiers(listing, context), None
    while True:
        lines = await context.turns.query(_lines_after(listing, last))
        if lines.texts:
            print_data("\n".join(lines.texts))
        if lines.last is None:
            return
        last = lines.last


class _Lines(NamedTuple):
    texts: list[str]
    last: AuditEntry | None
    """Entry to go on after; None past the end."""


def _lines_after(
    listing: Listing[AuditEntry], last: AuditEntry | None
) -> Callable[[ListingStore, Instant], _Lines]:
    def read(store: ListingStore, now: Instant) -> _Lines:
        entries = store.items_after(listing, last, now)
        shown = AUDIT_EVENTS.add_details(store, entries)
        return _Lines([format_entry(entry) for entry in shown], entries[-1] if entries else None)

    return read
