"""Take the names of several records, as arguments or from standard input, and act on each.

Each record is acted on by itself, in order: a refusal keeps none of the others from being done, and the
command then exits with 1 in the end.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import click

from ostiary_core.model.reply import Refused
from ostiary_web.cli.context import CommandContext, Record, run
from ostiary_web.cli.printing import REFUSED, Labels, Printer
from ostiary_web.http.context import RequestRefused

T = TypeVar("T")

_STANDARD_INPUT: Final = "-"
_MOST_NAMED: Final = 10
"""Most names in a question."""


class Names(NamedTuple):
    """The names of records, each once."""

    all: tuple[str, ...]
    is_one: bool = True
    """Whether one name was given, as an argument: its record is printed by itself, not as a list."""
    is_from_input: bool = False


def with_names(argument: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an argument for the names of one or several records, passed as `names`."""
    metavar = f"{argument.upper()}..."
    return click.argument("names", metavar=metavar, nargs=-1, required=True, callback=_read_names)


def act_on_each(
    printer: Printer,
    names: Names,
    act: Callable[[CommandContext, str], Awaitable[Record]],
    labels: Labels,
    listed: Labels,
    draw_again: Callable[[str], str] | None = None,
) -> None:
    """Act on each named record, and print those that were done and the refusals of the others.

    `labels` are what people are shown of a single one, `listed` of each of several. `draw_again` is the
    command that draws another secret for a record, if the one that was drawn cannot be printed.
    """

    async def act_on_one(context: CommandContext, name: str) -> tuple[str, Record]:
        return name, await act(context, name)

    def print_all(done: Sequence[tuple[str, Record]]) -> None:
        commands = [] if draw_again is None else [draw_again(name) for name, _ in done]
        with printer.explain_how_to_draw_again(*commands):
            if names.is_one:
                printer.record(done[0][1], labels)
            else:
                printer.records([record for _, record in done], listed)

    decide_each(printer, names, act_on_one, print_all)


def decide_each(
    printer: Printer,
    names: Names,
    act: Callable[[CommandContext, str], Awaitable[T]],
    print_all: Callable[[Sequence[T]], None],
) -> None:
    """Do `act` for each name, print what it returned, and the refusals; exit with 1 if there are any."""
    done: list[T] = []
    refusals: dict[str, Refused] = {}

    async def work(context: CommandContext) -> None:
        for name in names.all:
            try:
                done.append(await act(context, name))
            except RequestRefused as refusal:
                refusals[name] = refusal.reply

    try:
        run(work)
    finally:
        # Also if the store failed in between: what was done, and drawn, is said.
        if done or (refusals and not names.is_one):
            print_all(done)
    for name, refused in refusals.items():
        printer.print_refusal(refused, name=name)
    if refusals:
        sys.exit(REFUSED)


def confirm_deletion(printer: Printer, question: str, names: Names) -> None:
    """Ask before the named records are deleted; raise `click.UsageError` where nobody can be asked."""
    if names.is_from_input:
        raise click.UsageError("nobody can be asked, as the names are on standard input; allowed: --yes")
    more = len(names.all) - _MOST_NAMED
    named = ", ".join(names.all[:_MOST_NAMED])
    if more > 0:
        named = printer.text("command.more_names", names=named, count=more)
    click.confirm(printer.text(question, names=named), abort=True, err=True)


def _read_names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Any:
    is_from_input = _STANDARD_INPUT in given and not ctx.resilient_parsing
    found = [each for each in given if each != _STANDARD_INPUT]
    if is_from_input:
        try:
            found += [line.strip() for line in sys.stdin if line.strip()]
        except UnicodeError:
            raise click.UsageError("the names on standard input are not in the locale's encoding") from None
        if not found:
            raise click.UsageError("names are expected on standard input, one on each line")
    return Names(
        tuple(dict.fromkeys(found)), is_one=len(given) == 1 and not is_from_input, is_from_input=is_from_input
    )
