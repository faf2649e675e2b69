"""`ostiary sweep`: at once and to the end what the server does in the background, little by little."""

import click

from ostiary_net.upkeep.sweeping import Purge, sweep_once
from ostiary_web.cli.context import CommandContext, run
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.storage import DAY_SECONDS

_LABELS = {
    "salts": ("salts", "盐值"),
    "codes": ("codes never redeemed", "未兑换的授权码"),
    "usedCodes": ("used codes", "已用的授权码"),
    "endedSessions": ("ended sessions", "已结束的会话"),
    "sessions": ("sessions past their maximum", "已到期的会话"),
    "textCodes": ("codes in text messages", "短信验证码"),
    "tokens": ("tokens", "令牌"),
    "auditEntries": ("audit entries", "审计记录"),
}


@click.command()
@with_printer
def sweep(printer: Printer) -> None:
    """Erase what has lapsed: salts, codes, sessions that are long dead, and their tokens.

    It may run beside a server and is not in its way. RETENTION_SESSIONS_DAYS and RETENTION_AUDIT_DAYS say how
    long what is dead is kept.
    """

    async def work(context: CommandContext) -> dict[str, int]:
        salts = await sweep_once(context.turns, context.store, context.clock)
        clearing = Purge(
            context.turns,
            context.store,
            context.clock,
            audit_seconds=context.settings.retention_audit_days * DAY_SECONDS,
        )
        return {"salts": salts, **await clearing.purge_once()}

    cleared = run(work)
    printer.record({_camel(what): number for what, number in cleared.items()}, _LABELS)


def _camel(what: str) -> str:
    """
    >>> _camel("used codes")
    'usedCodes'
    """
    first, *others = what.split(" ")
    return first + "".join(word.capitalize() for word in others)
