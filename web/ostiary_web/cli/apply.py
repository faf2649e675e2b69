"""Run `ostiary apply FILE` and `ostiary export`: declare clients and roles in a file."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from ostiary_core.events import BatchRequested
from ostiary_core.model.client import CLIENT, Client
from ostiary_core.model.records import Table
from ostiary_core.model.reply import BatchDone, BatchRefused, Reply, SecretIssued
from ostiary_core.model.role import ROLE, Role
from ostiary_web.application.resources.records import combine_refusals
from ostiary_web.cli.arguments import STANDARD_INPUT
from ostiary_web.cli.clients import reset_secret_command
from ostiary_web.cli.context import CommandContext, make_refusal, run
from ostiary_web.cli.declaration import Declaration, DeclarationError, read_declaration
from ostiary_web.cli.plan import SECRET, Action, Plan, PlanStep, Prune, make_plan
from ostiary_web.cli.printing import Printer, to_json, with_printer
from ostiary_web.streams import exit_with, print_data, print_text

_MARKS: Final = {Action.CREATE: "+", Action.CHANGE: "~", Action.DISABLE: "!", Action.DELETE: "-"}
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class _CommandWithPrune(click.Command):
    """A command whose `--prune` takes a value only after `=`: a word that follows may be the file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        whole = [f"--prune={Prune.DISABLE}" if word == "--prune" else word for word in args]
        return super().parse_args(ctx, whole)


@click.command(cls=_CommandWithPrune)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--dry-run", is_flag=True, help="Print what would be done and what would be refused; do nothing."
)
@click.option(
    "--prune",
    type=click.Choice(Prune, case_sensitive=False),
    metavar="[=delete]",
    help="Also disable the clients that FILE does not have; with =delete, delete such clients "
    "and roles for good.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation of --prune=delete.")
@with_printer
def apply(printer: Printer, file: Path, dry_run: bool, prune: Prune | None, yes: bool) -> None:
    """Apply the clients and roles that the TOML in FILE declares: all of them, or none.

    What matches already is not touched, so FILE can be applied again at any time. A field that is left out
    has its default. A new client without a given secret gets one, which is printed once. FILE may be - for
    standard input.
    """
    try:
        declared = read_declaration(file, os.environ)
    except DeclarationError as error:
        exit_with(f"{str(file)!r} {error}")
    if not isinstance(declared, Declaration):
        raise make_refusal(*declared)

    if prune is Prune.DELETE and not (declared.clients or declared.roles):
        exit_with(f"{str(file)!r} names no client and no role: --prune=delete would delete all")

    async def plan_changes(context: CommandContext) -> Plan:
        return make_plan(declared, *_read_stored(context), prune=prune, draw=context.draw_entropy)

    async def work(context: CommandContext) -> Reply | None:
        events = [event for step in plan.steps for event in step.events]
        if not events:
            return None
        reply = await context.decide(BatchRequested(events=tuple(events), is_preview=dry_run))
        if isinstance(reply, BatchRefused):
            raise combine_refusals(reply, [step.path for step in plan.steps for _ in step.events])
        return reply

    plan = run(plan_changes)
    if (deleted := plan.paths(Action.DELETE)) and not (yes or dry_run):
        if file == STANDARD_INPUT:
            exit_with(
                f"--prune=delete would delete {' '.join(deleted)}, and nobody can be asked, as the file is "
                "standard input; allowed: --yes, or --dry-run to see the plan"
            )
        question = printer.text("command.apply.delete", paths=" ".join(deleted))
        click.confirm(question, abort=True, err=True)
    reply = run(work)
    replies = reply.replies if isinstance(reply, BatchDone) else ()
    secrets = {
        each.client.client_id: each.secret.reveal() for each in replies if isinstance(each, SecretIssued)
    }
    with printer.explain_how_to_draw_again(*(reset_secret_command(each) for each in secrets)):
        _print_plan(printer, plan, secrets, dry_run=dry_run)


def _print_plan(printer: Printer, plan: Plan, secrets: Mapping[str, str], *, dry_run: bool) -> None:
    if printer.for_scripts:
        printer.document(
            {
                "applied": not dry_run,
                "changes": [_encode_step(step) for step in plan.steps],
                "undeclared": list(plan.undeclared),
                "secrets": [{"clientId": each, "secret": secret} for each, secret in secrets.items()],
            }
        )
        return
    for step in plan.steps:
        for line in _format_step(step, printer):
            print_text(line)
    _print_paths(printer, "command.apply.disabled", plan.paths(Action.DISABLE))
    _print_paths(printer, "command.apply.deleted", plan.paths(Action.DELETE))
    ending = "command.apply.planned" if dry_run else "command.apply.done"
    print_text(printer.text(ending if plan.steps else "command.apply.nothing"))
    _print_paths(printer, "command.apply.undeclared", plan.undeclared)
    if secrets:
        print_text()
        headings = [printer.text("column.clients.clientId"), printer.text("command.secret")]
        printer.rows([headings, *map(list, secrets.items())])


@click.command()
def export() -> None:
    """Print all clients and roles as the TOML that `ostiary apply` takes, without any secret."""

    async def work(context: CommandContext) -> list[str]:
        clients, roles = _read_stored(context)
        return [*_format_records(clients, roles)]

    print_data("\n".join(run(work)))


def _read_stored(context: CommandContext) -> tuple[list[Client], list[Role]]:
    clients = [each for each in context.store.records(Table.CLIENT) if isinstance(each, Client)]
    roles = [each for each in context.store.records(Table.ROLE) if isinstance(each, Role)]
    return sorted(clients, key=lambda each: each.client_id), sorted(roles, key=lambda each: each.role_id)


# --- what is printed


def _print_paths(printer: Printer, key: str, paths: Sequence[str]) -> None:
    if paths:
        print_text(printer.text(key, paths=" ".join(paths)))


def _encode_step(step: PlanStep) -> dict[str, object]:
    return {
        "action": step.action.value,
        "path": step.path,
        "fields": {name: {"from": values.before, "to": values.after} for name, values in step.fields.items()},
    }


def _format_step(step: PlanStep, printer: Printer) -> Iterator[str]:
    yield f"{_MARKS[step.action]} {step.path}"
    for name, values in step.fields.items():
        if name == SECRET:
            yield f"    {name}: {printer.text('command.apply.secret')}"
        elif step.action is Action.CREATE:
            yield f"    {name}: {_format_value(values.after)}"
        else:
            yield f"    {name}: {_format_value(values.before)} -> {_format_value(values.after)}"


def _format_value(value: object) -> str:
    return to_json(value)


def _format_records(clients: list[Client], roles: list[Role]) -> Iterator[str]:
    for role in roles:
        if not role.built_in:
            yield from _format_table("roles", role.role_id, ROLE.values(role))
    for client in clients:
        if client.deleted_at is None and not client.built_in:
            fields = {name: value for name, value in CLIENT.values(client).items() if value is not None}
            if fields["enabled"] is True:
                del fields["enabled"]
            yield from _format_table("clients", client.client_id, fields)


def _format_table(kind: str, identifier: str, fields: Mapping[str, object]) -> Iterator[str]:
    """Yield a table of TOML, whose texts, numbers, booleans and arrays are JSON's."""
    key = identifier if _BARE_KEY.fullmatch(identifier) else _format_value(identifier)
    yield f"[{kind}.{key}]"
    for name, value in fields.items():
        yield f"{name} = {_format_value(value)}"
    yield ""
