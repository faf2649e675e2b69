"""Commands that every kind of record has, made from the declaration of its resource."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import click

from ostiary_core.events import Event
from ostiary_core.model.fields import Fields
from ostiary_core.model.reply import Reply, SecretIssued
from ostiary_web.application.resources.queries import Arguments
from ostiary_web.application.resources.resource import Resource
from ostiary_web.cli.context import OPERATOR, CommandContext, Record, run
from ostiary_web.cli.declared_options import read_listing, with_filter_options
from ostiary_web.cli.printing import Labels, Printer, with_paging, with_printer


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCommands:
    """The commands of one resource; each but `list` takes the name of a record."""

    group: click.Group
    resource: Resource[Any, Any]
    argument: str
    """Name of the argument that names the record."""
    find: Callable[[CommandContext, str], str]
    """Finds the identifier of a named record; raises `RequestRefused`."""
    labels: Labels
    """What people are shown of a record."""

    def add_action(self, name: str, kind: type[Event], said: str) -> None:
        """Add a command that decides one event about a record and shows the record afterwards."""

        @self.group.command(name, help=said)
        @click.argument("named", metavar=self.argument.upper())
        @with_printer
        def act(printer: Printer, named: str) -> None:
            async def work(context: CommandContext) -> Record:
                record_id = self.find(context, named)
                await context.decide(self.resource.event(kind, OPERATOR, record_id))
                shown = self.resource.event(self.resource.show, OPERATOR, record_id)
                return await self.decide(context, shown)

            printer.record(run(work), self.labels)

    def add_deletion(self, said: str, *, question: str, label: str) -> None:
        """Add the command that deletes a record, and asks before; `label` is the field of its name."""

        @self.group.command("delete", help=said)
        @click.argument("named", metavar=self.argument.upper())
        @click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
        @with_printer
        def delete(printer: Printer, named: str, yes: bool) -> None:
            if not yes:
                click.confirm(printer.text(question, **{self.argument: named}), abort=True, err=True)

            async def work(context: CommandContext) -> Reply:
                record_id = self.find(context, named)
                return await context.decide(self.resource.event(self.resource.delete, OPERATOR, record_id))

            run(work)
            shown = {label: named, "deleted": True}
            printer.record(shown, {label: self.labels[label], "deleted": "command.deleted"})

    def add_list(self, said: str, listed: Labels, options: Mapping[str, str]) -> None:
        """Add the command that lists records; `options` are filters under another name."""

        @self.group.command("list", help=said)
        @with_paging
        @with_filter_options(self.resource.list_view, {**options, "q": "search"})
        @with_printer
        def list_records(printer: Printer, page: int, page_size: int, filters: Arguments) -> None:
            listing = replace(read_listing(self.resource.list_view, filters, page_size), page=page)
            printer.page(run(lambda context: context.read_page(self.resource, listing)), listed)

    def change(self, printer: Printer, named: str, fields: Fields) -> None:
        """Change fields of a record and print it; raise `RequestRefused`, `click.UsageError` for no field."""
        if not fields:
            raise click.UsageError("no field to change was given")

        async def work(context: CommandContext) -> Record:
            changed = self.resource.change(context, self.find(context, named), fields, None)
            return await self.decide(context, changed)

        printer.record(run(work), self.labels)

    async def decide(self, context: CommandContext, event: Event) -> Record:
        """Decide an event; return its record as the interface shows it, with a secret if one was drawn."""
        reply = await context.decide(event)
        item = self.resource.item_in_reply(reply)
        assert item is not None
        secret = {"secret": reply.secret.reveal()} if isinstance(reply, SecretIssued) else {}
        return {**await context.read_record(self.resource, item), **secret}
