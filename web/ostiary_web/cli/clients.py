"""Run `ostiary client …`: third parties that may ask this server for tokens."""

import shlex
from typing import Final

import click

from ostiary_core import events
from ostiary_core.clients.client_secret import KEEP_OLD_FOR
from ostiary_core.model.client import CLIENT
from ostiary_web.application.resources.clients import RESOURCE, USUAL_FIELDS, make_secret_reset
from ostiary_web.cli.arguments import Duration
from ostiary_web.cli.context import CommandContext, Record, run
from ostiary_web.cli.declared_options import with_field_options
from ostiary_web.cli.printing import Labels, Printer, columns, with_printer
from ostiary_web.cli.record_commands import RecordCommands

_LISTED: Final = columns(RESOURCE.list_view, "clientId", "name", "grantTypes", "enabled", "createdAt")
_NOT_SHOWN: Final = ("id", "builtIn", "createdAt", "updatedAt", "lastUsedAt")
_LABELS: Final[Labels] = {
    **columns(RESOURCE.list_view, *(each.name for each in CLIENT.fields if each.name not in _NOT_SHOWN)),
    "secret": "command.secret",
}


@click.group()
def client() -> None:
    """Register and administer clients."""


_COMMANDS: Final = RecordCommands(
    group=client,
    resource=RESOURCE,
    argument="client_id",
    find=lambda context, client_id: client_id,
    labels=_LABELS,
)
_with_fields = with_field_options(
    CLIENT,
    {
        "grantTypes": "grant",
        "redirectUris": "redirect-uri",
        "scopes": "scope",
        "autoApproveScopes": "auto-approve",
    },
)


@client.command()
@click.argument("client_id")
@_with_fields
@with_printer
def create(printer: Printer, client_id: str, fields: dict[str, object]) -> None:
    """Register CLIENT_ID, and print its secret once.

    Without options it is named by its identifier, may use authorization_code and refresh_token, and has
    every scope.
    """

    async def work(context: CommandContext) -> Record:
        with_fields = {"name": client_id, **USUAL_FIELDS, **fields, "clientId": client_id}
        return await _COMMANDS.decide(context, await RESOURCE.register(context, with_fields))

    _show_secret(printer, client_id, run(work))


@client.command()
@click.argument("client_id")
@_with_fields
@with_printer
def update(printer: Printer, client_id: str, fields: dict[str, object]) -> None:
    """Change the given fields of CLIENT_ID, and nothing else. Its tokens stay valid.

    An option that may be repeated replaces the whole list; one empty value ('') empties it.
    """
    _COMMANDS.change(printer, client_id, fields)


@client.command("reset-secret")
@click.argument("client_id")
@click.option(
    "--keep-old-for",
    "keep_old_for",
    type=Duration(),
    help="How long the old secret keeps working: 90s, 30m, 12h, 7d. By default it stops working at once.",
)
@with_printer
def reset_secret(printer: Printer, client_id: str, keep_old_for: int | None) -> None:
    """Give CLIENT_ID another secret, and print it once. Its tokens stay valid."""
    fields = {} if keep_old_for is None else {KEEP_OLD_FOR: keep_old_for}

    async def work(context: CommandContext) -> Record:
        return await _COMMANDS.decide(context, make_secret_reset(context, client_id, fields))

    _show_secret(printer, client_id, run(work))


def _show_secret(printer: Printer, client_id: str, record: Record) -> None:
    with printer.explain_how_to_draw_again(reset_secret_command(client_id)):
        printer.record(record, _LABELS)


def reset_secret_command(client_id: str) -> str:
    """Return the command that draws another secret for a client."""
    return f"ostiary client reset-secret {shlex.quote(client_id)}"


_COMMANDS.add_list("List the clients that fit all options; a time without a zone is in UTC.", _LISTED, {})
_COMMANDS.add_deletion(
    "Delete CLIENT_ID for good, and end all its sessions. Its client_id is never used again.",
    question="command.client.delete",
    label="clientId",
)
_COMMANDS.add_action("show", events.ClientRequested, "Show CLIENT_ID, without its secret.")
_COMMANDS.add_action(
    "end-old-secret",
    events.OldSecretEnded,
    "End the old secret of CLIENT_ID before its time; the present one keeps working.",
)
_COMMANDS.add_action(
    "force-logout",
    events.ClientForcedOut,
    "End all sessions of CLIENT_ID, and void its codes. It stays enabled, and its secrets keep working.",
)
_COMMANDS.add_action(
    "disable", events.ClientDisabled, "Keep CLIENT_ID from authenticating, and end all its sessions."
)
_COMMANDS.add_action(
    "enable", events.ClientEnabled, "Let CLIENT_ID authenticate again. Nothing that ended comes back."
)
