"""Run `ostiary explain SESSION`: tell what became of a session, and why."""

from collections.abc import Sequence

import click
import msgspec

from ostiary_core.history.explain import Explanation, explain
from ostiary_core.model.why import Why
from ostiary_web.application.history_record import encode_history, find_usernames
from ostiary_web.application.history_texts import safe_retries_text, step_text, time_text
from ostiary_web.application.resources.changes import format_changes
from ostiary_web.cli.context import CommandContext
from ostiary_web.cli.names import Names, decide_each, with_names
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.streams import escape_controls, print_text

_History = tuple[Explanation, dict[str, str]]
"""A session, and the names of the users in it."""


@click.command("explain")
@with_names("session")
@with_printer
def explain_session(printer: Printer, names: Names) -> None:
    """Tell the history of each SESSION in order, and how and why it ended."""

    async def explain_one(context: CommandContext, session_id: str) -> _History:
        history = await context.turns.query(lambda store, now: store.session_history(session_id))
        if history is None:
            context.refuse(Why.NOT_FOUND)
        explanation = explain(history, context.clock.now())
        return explanation, await find_usernames(explanation.actor_ids, context.query)

    def print_all(histories: Sequence[_History]) -> None:
        if printer.for_scripts:
            encoded = [
                msgspec.to_builtins(encode_history(each, printer.language, users))
                for each, users in histories
            ]
            printer.document(encoded[0] if names.is_one else {"items": encoded})
            return
        for place, (explanation, users) in enumerate(histories):
            if place:
                print_text()
            _print_history(printer, explanation, users)

    decide_each(printer, names, explain_one, print_all)


def _print_history(printer: Printer, explanation: Explanation, names: dict[str, str]) -> None:
    for step in explanation.steps:
        when = time_text(step.at, printer.language)
        print_text(escape_controls(f"{when}  {step_text(step, explanation, printer.language, names)}"))
        for line in format_changes(step.fact, step.changes, printer.language) if step.fact else ():
            print_text(escape_controls(f"    {line}"))
    print_text(safe_retries_text(explanation, printer.language))
