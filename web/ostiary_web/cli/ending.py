"""Run `ostiary end-everything`: end every session, so that everybody signs in anew."""

import click

from ostiary_web.application.resources.online import force_out_everybody
from ostiary_web.cli.context import OPERATOR, CommandContext, run
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.rollback_check import forget_mark


@click.command("end-everything")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_printer
def end_everything_command(printer: Printer, yes: bool) -> None:
    """End every session and void every code, as after a restore, or when the database was copied.

    The server may run. All sessions of every client end at once, `console` included; the audit trail names
    the operator. Passwords, secrets and remembered consents stay.
    """
    if not yes:
        click.confirm(printer.text("command.end_everything"), abort=True, err=True)
    printer.record({"ended": run(end_everything)}, {"ended": "command.restore.ended"})


async def end_everything(context: CommandContext) -> int:
    """End all of every client; return how many clients there are."""
    ended = await force_out_everybody(context, OPERATOR, OPERATOR)
    forget_mark(context.settings)
    return ended
