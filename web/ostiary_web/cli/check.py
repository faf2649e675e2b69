"""Run `ostiary check`: list what an operator should correct before users meet it."""

import os
import sys

import click
import trio

from ostiary_web.app.asgi_app import load_settings_or_exit
from ostiary_web.cli.context import CommandContext, run
from ostiary_web.cli.live import ask_live
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.checks import run_checks
from ostiary_web.server.findings import Finding, Level


@click.command()
@click.option(
    "--live",
    is_flag=True,
    help="Also ask the running server at PUBLIC_URL for a token, and check which address it saw. "
    "A deleted client ostiary-check-… stays in the audit trail.",
)
@with_printer
def check(printer: Printer, live: bool) -> None:
    """Check settings, files, database, clock and clients. Exits with 1 if something is at fault.

    A warning is about something that may be intended. Nothing is changed, except for one write that proves
    that the database can be written.
    """
    settings = load_settings_or_exit(os.environ)

    async def find(context: CommandContext) -> list[Finding]:
        return await trio.to_thread.run_sync(run_checks, settings, context.store, context.clock)

    findings = run(find)
    if live:
        findings += run(ask_live)
    worst = max(list(Level).index(each.level) for each in findings)
    if printer.for_scripts:
        listed = [
            {"level": each.level.value, "about": each.about, "text": printer.text(each.key, **each.values)}
            for each in findings
        ]
        printer.document({"findings": listed, "level": list(Level)[worst].value})
    else:
        printer.rows(
            [(each.level.value, each.about, printer.text(each.key, **each.values)) for each in findings]
        )
    if list(Level)[worst] is Level.FAULT:
        sys.exit(1)
