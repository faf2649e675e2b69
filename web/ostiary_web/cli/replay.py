"""Run `ostiary replay FILE`: would another policy have kept or ended these sessions."""

from dataclasses import replace
from typing import Final, TextIO

import click

from ostiary_core.history.backtest import Backtest, Difference, Verdict, backtest
from ostiary_core.history.backtest_run import RECORDED, Rules
from ostiary_core.model.instant import SECOND_MS, iso_time
from ostiary_core.model.policy import Policy
from ostiary_core.model.why import Why
from ostiary_web.cli.audit import BadLine, read_trail
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.streams import escape_controls, print_text, tell

_GRACE: Final = click.IntRange(0, 86_400)
_ACCESS: Final = click.IntRange(1, 86_400)
_REFRESH: Final = click.IntRange(1, 2_592_000)


@click.command("replay")
@click.argument("trail", type=click.File("r", encoding="utf-8"), metavar="AUDIT.jsonl")
@click.option("--grace", type=_GRACE, metavar="SECONDS", help="The grace of a spent refresh token.")
@click.option("--ignore-user-agent", is_flag=True, help="A safe retry may come with any User-Agent.")
@click.option("--access-ttl", type=_ACCESS, metavar="SECONDS", help="The lifetime of access tokens.")
@click.option("--refresh-ttl", type=_REFRESH, metavar="SECONDS", help="The refresh token lifetime.")
@click.option(
    "--recorded-grace", type=_GRACE, metavar="SECONDS", help="The grace of the recorded trail; 30 by default."
)
@with_printer
def replay_trail(
    printer: Printer,
    trail: TextIO,
    grace: int | None,
    ignore_user_agent: bool,
    access_ttl: int | None,
    refresh_ttl: int | None,
    recorded_grace: int | None,
) -> None:
    """Run an exported audit trail through the rules once more, under another policy.

    AUDIT.jsonl is what `ostiary audit export` writes; - reads standard input. No store is read, and
    nothing is changed.
    """
    recorded = RECORDED
    if recorded_grace is not None:
        recorded = replace(recorded, policy=Policy(grace_seconds=recorded_grace))
    alternative = Rules(
        policy=Policy(
            grace_seconds=recorded.policy.grace_seconds if grace is None else grace,
            compare_user_agent=not ignore_user_agent,
        ),
        access_token_seconds=access_ttl or recorded.access_token_seconds,
        refresh_token_seconds=refresh_ttl or recorded.refresh_token_seconds,
    )
    try:
        found = backtest(read_trail(trail), alternative, recorded)
    except BadLine as error:
        raise click.UsageError(f"{trail.name}, {error}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{trail.name} is not text in UTF-8") from None
    if printer.for_scripts:
        printer.document(_encode_result(found))
    else:
        _print_result(printer, found)


def _encode_result(found: Backtest) -> dict[str, object]:
    return {
        "entries": found.entries,
        "sessions": found.sessions,
        "refreshes": found.refreshes,
        "endedBySpentToken": {"recorded": found.ended, "otherwise": found.ended_by_alternative},
        "refreshesBeforeExpiry": {
            "recorded": found.early_refreshes,
            "otherwise": found.early_refreshes_by_alternative,
        },
        "saved": [_encode_difference(one) for one in found.of(Verdict.SAVED)],
        "lost": [_encode_difference(one) for one in found.of(Verdict.LOST)],
        "unlikeTheTrail": list(found.unexplained_session_ids),
    }


def _encode_difference(one: Difference) -> dict[str, object]:
    return {
        "sessionId": one.session_id,
        "clientId": one.client_id,
        "userId": one.user_id,
        "at": iso_time(one.at),
        "recorded": _encode_outcome(one.recorded),
        "otherwise": _encode_outcome(one.alternative),
        "delayMs": one.delay_ms,
    }


def _encode_outcome(why: Why | None) -> str:
    return "tokens-issued" if why is None else why.value


_HEADINGS: Final = (
    "column.sessionId",
    "column.clientId",
    "command.replay.heading.at",
    "command.replay.heading.after",
    "command.replay.heading.recorded",
    "command.replay.heading.changed",
)


def _print_result(printer: Printer, found: Backtest) -> None:
    numbers = (
        ("command.replay.entries", found.entries),
        ("command.replay.sessions", found.sessions),
        ("command.replay.refreshes", found.refreshes),
        ("command.replay.ended", found.ended),
        ("command.replay.otherwise", found.ended_by_alternative),
        ("command.replay.saved_count", len(found.of(Verdict.SAVED))),
        ("command.replay.lost_count", len(found.of(Verdict.LOST))),
        ("command.replay.early", found.early_refreshes),
        ("command.replay.otherwise", found.early_refreshes_by_alternative),
    )
    printer.rows([(printer.text(key), str(number)) for key, number in numbers])
    for verdict, title in ((Verdict.SAVED, "command.replay.saved"), (Verdict.LOST, "command.replay.lost")):
        rows = [_format_row(one) for one in found.of(verdict)]
        if rows:
            print_text(f"\n{printer.text(title)}")
            headings = tuple(printer.text(heading) for heading in _HEADINGS)
            printer.rows([headings, *rows])
    if found.unexplained_session_ids:
        left_out = printer.text("command.replay.left_out")
        tell(f"\n{left_out} {escape_controls(' '.join(found.unexplained_session_ids))}")


def _format_row(one: Difference) -> tuple[str, ...]:
    delay = "-" if one.delay_ms is None else f"{one.delay_ms / SECOND_MS:.1f} s"
    return (
        one.session_id,
        one.client_id or "-",
        iso_time(one.at),
        delay,
        _encode_outcome(one.recorded),
        _encode_outcome(one.alternative),
    )
