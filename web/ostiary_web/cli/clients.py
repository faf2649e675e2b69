"""Run `ostiary client …`: third parties that may ask this server for tokens."""

import shlex
from typing import Final

import click

from ostiary_core import events
from ostiary_core.clients.client_secret import KEEP_OLD_FOR
from ostiary_core.model.client import CLIENT
from ostiary_web.application.resources.clients import RESOURCE, USUAL_FIELDS, make_secret_reset
from ostiary_web.cli.arguments import Duration, parameter_name
from ostiary_web.cli.context import CommandContext, Record
from ostiary_web.cli.declared_options import with_field_options
from ostiary_web.cli.names import Names, act_on_each, with_names
from ostiary_web.cli.printing import Labels, Printer, columns, with_printer
from ostiary_web.cli.record_commands import RecordCommands

_SECRET: Final[Labels] = {"secret": "command.secret"}
_NOT_SHOWN: Final = ("id", "builtIn", "createdAt", "updatedAt", "lastUsedAt")
_LABELS: Final[Labels] = {
    **columns(RESOURCE.list_view, *(each.name for each in CLIENT.fields if each.name not in _NOT_SHOWN)),
    **_SECRET,
}
_LISTED: Final = columns(RESOURCE.list_view, "clientId", "name", "grantTypes", "enabled", "createdAt")
_RESET: Final[Labels] = {**columns(RESOURCE.list_view, "clientId"), **_SECRET}


@click.group()
def client() -> None:
    """Register and administer clients."""


_COMMANDS: Final = RecordCommands(
    group=client,
    resource=RESOURCE,
    argument="client_id",
    find=lambda context, client_id: client_id,
    labels=_LABELS,
    listed=_LISTED,
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

    By default it signs users in, with authorization_code and refresh_token, for which it needs a
    --redirect-uri; with --grant client_credentials alone it needs none. It is named by its identifier, and
    has every scope.
    """

    async def register(context: CommandContext, client_id: str) -> Record:
        with_fields = {"name": client_id, **USUAL_FIELDS, **fields, "clientId": client_id}
        return await _COMMANDS.decide(context, await RESOURCE.register(context, with_fields))

    act_on_each(printer, Names((client_id,)), register, _LABELS, _LISTED, reset_secret_command)


@client.command()
@with_names("client_id")
@_with_fields
@with_printer
def update(printer: Printer, names: Names, fields: dict[str, object]) -> None:
    """Change the given fields of each CLIENT_ID, and nothing else. Its tokens stay valid.

    An option that may be repeated replaces the whole list; one empty value ('') empties it.
    """
    _COMMANDS.change(printer, names, fields)


@client.command("reset-secret")
@with_names("client_id")
@click.option(
    "--keep-old-for",
    parameter_name(KEEP_OLD_FOR),
    type=Duration(),
    help="How long the old secret keeps working: 90s, 30m, 12h, 7d. By default it stops working at once.",
)
@with_printer
def reset_secret(printer: Printer, names: Names, keep_old_for_seconds: int | None) -> None:
    """Give each CLIENT_ID another secret, and print it once. Its tokens stay valid."""
    fields = {} if keep_old_for_seconds is None else {KEEP_OLD_FOR: keep_old_for_seconds}

    async def reset_one(context: CommandContext, client_id: str) -> Record:
        return await _COMMANDS.decide(context, make_secret_reset(context, client_id, fields))

    act_on_each(printer, names, reset_one, _LABELS, _RESET, reset_secret_command)


def reset_secret_command(client_id: str) -> str:
    """Return the command that draws another secret for a client."""
    return f"ostiary client reset-secret {shlex.quote(client_id)}"


_COMMANDS.add_list("List the clients that fit all options; a time without a zone is in UTC.", {})
_COMMANDS.add_deletion(
    "Delete each CLIENT_ID for good, and end all its sessions. Its client_id is never used again.",
    question="command.client.delete",
    label="clientId",
)
_COMMANDS.add_action("show", events.ClientRequested, "Show each CLIENT_ID, without its secret.")
_COMMANDS.add_action(
    "end-old-secret",
    events.OldSecretEnded,
    "End the old secret of each CLIENT_ID before its time; the present one keeps working.",
)
_COMMANDS.add_action(
    "force-logout",
    events.ClientForcedOut,
    "End all sessions of each CLIENT_ID, and void its codes. It stays enabled, and its secrets keep working.",
)
_COMMANDS.add_action(
    "disable", events.ClientDisabled, "Keep each CLIENT_ID from authenticating, and end all its sessions."
)
_COMMANDS.add_action(
    "enable", events.ClientEnabled, "Let each CLIENT_ID authenticate again. Nothing that ended comes back."
)
