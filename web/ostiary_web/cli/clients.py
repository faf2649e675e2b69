"""Run `ostiary client …`: third parties that may ask this server for tokens."""

import shlex
from dataclasses import replace
from typing import Final

import click

from ostiary_core import events
from ostiary_core.clients.client_secret import KEEP_OLD_FOR
from ostiary_core.events.event import ClientEvent
from ostiary_core.model.client import CLIENT
from ostiary_core.model.reply import ClientKnown, Reply, SecretIssued
from ostiary_web.api.resources.clients import RESOURCE, USUAL_FIELDS
from ostiary_web.api.resources.queries import Arguments
from ostiary_web.cli.arguments import Duration
from ostiary_web.cli.context import OPERATOR, CommandContext, Record, run
from ostiary_web.cli.field_options import with_field_options
from ostiary_web.cli.list_options import read_listing, with_filter_options
from ostiary_web.cli.printing import Labels, Printer, columns, with_paging, with_printer

_LISTED: Final = columns(RESOURCE.list_view, "clientId", "name", "grantTypes", "enabled", "createdAt")
_NOT_SHOWN: Final = ("id", "builtIn", "createdAt", "updatedAt", "lastUsedAt")
_LABELS: Final[Labels] = {
    **columns(RESOURCE.list_view, *(each.name for each in CLIENT.fields if each.name not in _NOT_SHOWN)),
    "secret": "command.secret",
}
_DELETED: Final[Labels] = {"clientId": "column.clients.clientId", "deleted": "command.deleted"}


@click.group()
def client() -> None:
    """Register and administer clients."""


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
        event = events.ClientRegistered(caller=OPERATOR, fields=with_fields, entropy=context.draw_entropy())
        return await _describe(context, await context.decide(event))

    _show_secret(printer, client_id, run(work))


@client.command()
@click.argument("client_id")
@_with_fields
@with_printer
def update(printer: Printer, client_id: str, fields: dict[str, object]) -> None:
    """Change the given fields of CLIENT_ID, and nothing else. Its tokens stay valid.

    An option that may be repeated replaces the whole list; one empty value ('') empties it.
    """
    if not fields:
        raise click.UsageError("no field to change was given")
    _decide(printer, events.ClientChanged(caller=OPERATOR, client_id=client_id, fields=fields))


@client.command()
@click.argument("client_id")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_printer
def delete(printer: Printer, client_id: str, yes: bool) -> None:
    """Delete CLIENT_ID for good, and end all its sessions. Its client_id is never used again."""
    if not yes:
        click.confirm(printer.text("command.client.delete", client_id=client_id), abort=True, err=True)

    async def work(context: CommandContext) -> None:
        await context.decide(events.ClientDeleted(caller=OPERATOR, client_id=client_id))

    run(work)
    printer.record({"clientId": client_id, "deleted": True}, _DELETED)


@client.command("list")
@with_paging
@with_filter_options(RESOURCE.list_view, {"q": "search"})
@with_printer
def list_clients(printer: Printer, page: int, page_size: int, filters: Arguments) -> None:
    """List the clients that fit all options; a time without a zone is in UTC."""
    listing = replace(read_listing(RESOURCE.list_view, filters, page_size), page=page)
    printer.page(run(lambda context: context.read_page(RESOURCE, listing)), _LISTED)


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
        event = events.ClientSecretReset(
            caller=OPERATOR, client_id=client_id, fields=fields, entropy=context.draw_entropy()
        )
        return await _describe(context, await context.decide(event))

    _show_secret(printer, client_id, run(work))


def _show_secret(printer: Printer, client_id: str, record: Record) -> None:
    with printer.explain_how_to_draw_again(reset_secret_command(client_id)):
        printer.record(record, _LABELS)


def reset_secret_command(client_id: str) -> str:
    """Return the command that draws another secret for a client."""
    return f"ostiary client reset-secret {shlex.quote(client_id)}"


def _add_command(name: str, kind: type[ClientEvent], said: str) -> None:
    """Add a command that decides one event about CLIENT_ID and shows the client afterwards."""

    @client.command(name, help=said)
    @click.argument("client_id")
    @with_printer
    def act(printer: Printer, client_id: str) -> None:
        _decide(printer, kind(caller=OPERATOR, client_id=client_id))


_add_command("show", events.ClientRequested, "Show CLIENT_ID, without its secret.")
_add_command(
    "end-old-secret",
    events.OldSecretEnded,
    "End the old secret of CLIENT_ID before its time; the present one keeps working.",
)
_add_command(
    "force-logout",
    events.ClientForcedOut,
    "End all sessions of CLIENT_ID, and void its codes. It stays enabled, and its secrets keep working.",
)
_add_command(
    "disable", events.ClientDisabled, "Keep CLIENT_ID from authenticating, and end all its sessions."
)
_add_command(
    "enable", events.ClientEnabled, "Let CLIENT_ID authenticate again. Nothing that ended comes back."
)


def _decide(printer: Printer, event: events.Event) -> None:
    async def work(context: CommandContext) -> Record:
        return await _describe(context, await context.decide(event))

    printer.record(run(work), _LABELS)


async def _describe(context: CommandContext, reply: Reply) -> Record:
    """Return the client in a reply, with its secret if one was drawn."""
    match reply:
        case SecretIssued(client=made, secret=secret):
            return {**await context.read_record(RESOURCE, made), "secret": secret.reveal()}
        case ClientKnown(client=standing):
            return await context.read_record(RESOURCE, standing)
        case _:
            raise TypeError(f"no client is in a {type(reply).__name__}")
