"""Run `ostiary explain SESSION`: tell what became of a session, and why."""

import click
import msgspec

from ostiary_core.history.explain import Explanation, explain
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_web.application.history_record import encode_history, find_usernames
from ostiary_web.application.history_texts import safe_retries_text, step_text, time_text
from ostiary_web.application.resources.changes import format_changes
from ostiary_web.cli.context import CommandContext, run
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.http.context import RequestRefused
from ostiary_web.streams import escape_controls, print_text


@click.command("explain")
@click.argument("session_id", metavar="SESSION")
@with_printer
def explain_session(printer: Printer, session_id: str) -> None:
    """Tell the history of SESSION in order, and how and why it ended."""

    async def work(context: CommandContext) -> tuple[Explanation, dict[str, str]]:
        history = await context.turns.query(lambda store, now: store.session_history(session_id))
        if history is None:
            raise RequestRefused(Refused(Why.NOT_FOUND))
        explanation = explain(history, context.clock.now())
        return explanation, await find_usernames(explanation.actor_ids, context.query)

    explanation, names = run(work)
    if printer.for_scripts:
        printer.document(msgspec.to_builtins(encode_history(explanation, printer.language, names)))
        return
    for step in explanation.steps:
        when = time_text(step.at, printer.language)
        print_text(escape_controls(f"{when}  {step_text(step, explanation, printer.language, names)}"))
        for line in format_changes(step.fact, step.changes, printer.language) if step.fact else ():
            print_text(escape_controls(f"    {line}"))
    print_text(safe_retries_text(explanation, printer.language))
