"""Run `ostiary sweep`: finish at once what the server does in the background, little by little."""

import click

from ostiary_core.model.instant import DAY_SECONDS
from ostiary_net.upkeep.summarising import Summarising
from ostiary_net.upkeep.sweeping import Purge, erase_salts
from ostiary_web.cli.context import CommandContext, run
from ostiary_web.cli.printing import Printer, with_printer


@click.command()
@with_printer
def sweep(printer: Printer) -> None:
    """Purge what has expired: salts, codes, sessions that are long dead, and their tokens.

    The server may run. RETENTION_SESSIONS_DAYS and RETENTION_AUDIT_DAYS say how long ended sessions and audit
    entries are kept. It also counts the audit entries that the overview has not counted yet.
    """

    async def work(context: CommandContext) -> dict[str, int]:
        salts = await erase_salts(context.turns, context.store, context.clock)
        purge = Purge(
            context.turns,
            context.store,
            context.clock,
            audit_seconds=context.settings.retention_audit_days * DAY_SECONDS,
        )
        counted = await Summarising(context.store, context.clock).summarise_once()
        return {"salts": salts, **await purge.purge_once(), "counted entries": counted}

    purged = {_to_camel_case(what): number for what, number in run(work).items()}
    printer.record(purged, {what: f"command.sweep.{what}" for what in purged})


def _to_camel_case(what: str) -> str:
    """Return words in camel case.

    >>> _to_camel_case("used codes")
    'usedCodes'
    """
    first, *others = what.split(" ")
    return first + "".join(word.capitalize() for word in others)
