"""`ostiary apply FILE` and `ostiary export`: clients and roles as a file declares them, and such a file."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from ostiary_core.events import AllOrNothing
from ostiary_core.model.records import Client, Role, Table
from ostiary_core.model.reply import BatchDone, BatchRefused, Reply, SecretIssued
from ostiary_web.api.resources.records import batch_refusal
from ostiary_web.cli.context import CommandContext, invalid, run
from ostiary_web.cli.declaration import Declaration, DeclarationError, read_declaration
from ostiary_web.cli.plan import SECRET, Action, Plan, Step, client_fields, make_plan, role_fields
from ostiary_web.cli.printing import Printer, with_printer

_MARKS: Final = {Action.CREATE: "+", Action.CHANGE: "~", Action.DELETE: "-"}
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--dry-run", is_flag=True, help="Say what would be done, and what would be refused; do nothing."
)
@click.option("--prune", is_flag=True, help="Also delete the clients and roles that FILE does not have.")
@with_printer
def apply(printer: Printer, file: Path, dry_run: bool, prune: bool) -> None:
    """Make clients and roles what the TOML in FILE declares: all of it, or nothing.

    What is there already is not touched, so it can be applied again at any time. A field that is left out is
    as in a new record. New clients without a given secret get one that is printed this once.
    """
    try:
        declared = read_declaration(file, os.environ)
    except DeclarationError as error:
        sys.exit(f"ostiary: {str(file)!r} {error}")
    if not isinstance(declared, Declaration):
        raise invalid(*declared)

    async def work(context: CommandContext) -> tuple[Plan, Reply | None]:
        plan = make_plan(declared, *_stored(context), prune=prune, draw=context.entropy)
        events = [event for step in plan.steps for event in step.events]
        if not events:
            return plan, None
        batch = AllOrNothing(events=tuple(events))
        reply = await (context.foresee(batch) if dry_run else context.decide(batch))
        if isinstance(reply, BatchRefused):
            raise batch_refusal(reply, [step.path for step in plan.steps for _ in step.events])
        return plan, reply

    plan, reply = run(work)
    replies = reply.replies if isinstance(reply, BatchDone) and not dry_run else ()
    secrets = {
        each.client.client_id: each.secret.reveal() for each in replies if isinstance(each, SecretIssued)
    }
    if printer.for_scripts:
        printer.document(
            {
                "applied": not dry_run,
                "changes": [_as_json(step) for step in plan.steps],
                "undeclared": list(plan.undeclared),
                "secrets": [{"clientId": each, "secret": secret} for each, secret in secrets.items()],
            }
        )
        return
    for step in plan.steps:
        for line in _lines(step, printer):
            click.echo(line)
    if not plan.steps:
        click.echo(printer.text("command.apply.nothing"))
    else:
        click.echo(printer.text("command.apply.planned" if dry_run else "command.apply.done"))
    if plan.undeclared:
        click.echo(printer.text("command.apply.undeclared", paths=" ".join(plan.undeclared)))
    if secrets:
        click.echo()
        headings = [printer.text("column.clients.clientId"), printer.text("command.secret")]
        printer.rows([headings, *map(list, secrets.items())])


@click.command()
def export() -> None:
    """Print the clients and roles there are as the TOML that `ostiary apply` takes, without any secret."""

    async def work(context: CommandContext) -> list[str]:
        clients, roles = _stored(context)
        return [*_export(clients, roles)]

    click.echo("\n".join(run(work)))


def _stored(context: CommandContext) -> tuple[list[Client], list[Role]]:
    clients = [each for each in context.store.records(Table.CLIENT) if isinstance(each, Client)]
    roles = [each for each in context.store.records(Table.ROLE) if isinstance(each, Role)]
    return sorted(clients, key=lambda each: each.client_id), sorted(roles, key=lambda each: each.role_id)


# --- what is printed


def _as_json(step: Step) -> dict[str, object]:
    return {
        "action": step.action.value,
        "path": step.path,
        "fields": {name: {"from": values.before, "to": values.after} for name, values in step.fields.items()},
    }


def _lines(step: Step, printer: Printer) -> Iterator[str]:
    yield f"{_MARKS[step.action]} {step.path}"
    for name, values in step.fields.items():
        if name == SECRET:
            yield f"    {name}: {printer.text('command.apply.secret')}"
        elif step.action is Action.CREATE:
            yield f"    {name}: {_value(values.after)}"
        else:
            yield f"    {name}: {_value(values.before)} -> {_value(values.after)}"


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _export(clients: list[Client], roles: list[Role]) -> Iterator[str]:
    for role in roles:
        if not role.built_in:
            yield from _table("roles", role.role_id, role_fields(role))
    for client in clients:
        if client.deleted_at is None and not client.built_in:
            fields = client_fields(client)
            if fields["enabled"] is True:
                del fields["enabled"]
            yield from _table("clients", client.client_id, fields)


def _table(kind: str, identifier: str, fields: Mapping[str, object]) -> Iterator[str]:
    """A table of TOML, whose texts, numbers, booleans and arrays are written as JSON writes them."""
    key = identifier if _BARE_KEY.fullmatch(identifier) else _value(identifier)
    yield f"[{kind}.{key}]"
    for name, value in fields.items():
        yield f"{name} = {_value(value)}"
    yield ""
