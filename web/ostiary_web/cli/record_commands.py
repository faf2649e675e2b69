"""Commands that every kind of record has, made from the declaration of its resource."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import click

from ostiary_core.events import Event
from ostiary_core.model.fields import Fields
from ostiary_core.model.reply import SecretIssued
from ostiary_core.storage.listing import Listing
from ostiary_web.application.resources.fields import ListView
from ostiary_web.application.resources.queries import Arguments
from ostiary_web.application.resources.resource import Resource
from ostiary_web.cli.context import OPERATOR, CommandContext, Record, run
from ostiary_web.cli.declared_options import read_listing, with_filter_options
from ostiary_web.cli.names import Names, act_on_each, confirm_deletion, with_names
from ostiary_web.cli.printing import Labels, Printer, with_paging, with_printer


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCommands:
    """The commands of one resource; each but `list` takes the names of records."""

    group: click.Group
    resource: Resource[Any, Any]
    argument: str
    """Name of the argument that names records."""
    find: Callable[[CommandContext, str], str]
    """Finds the identifier of a named record; raises `RequestRefused`."""
    labels: Labels
    """What people are shown of one record."""
    listed: Labels
    """What people are shown of each of several."""

    def add_action(self, name: str, kind: type[Event], said: str) -> None:
        """Add a command that decides one event about each record and shows the record afterwards."""

        @self.group.command(name, help=said)
        @with_names(self.argument)
        @with_printer
        def act(printer: Printer, names: Names) -> None:
            async def act_on_one(context: CommandContext, named: str) -> Record:
                record_id = self.find(context, named)
                await context.decide(self.resource.event(kind, OPERATOR, record_id))
                shown = self.resource.event(self.resource.show, OPERATOR, record_id)
                return await self.decide(context, shown)

            self.act_on_each(printer, names, act_on_one)

    def add_deletion(self, said: str, *, question: str, label: str) -> None:
        """Add the command that deletes records, and asks before; `label` is the field of their names."""

        @self.group.command("delete", help=said)
        @with_names(self.argument)
        @click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
        @with_printer
        def delete(printer: Printer, names: Names, yes: bool) -> None:
            if not yes:
                confirm_deletion(printer, question, names)

            async def delete_one(context: CommandContext, named: str) -> Record:
                record_id = self.find(context, named)
                await context.decide(self.resource.event(self.resource.delete, OPERATOR, record_id))
                return {label: named, "deleted": True}

            shown = {label: self.labels[label], "deleted": "command.deleted"}
            act_on_each(printer, names, delete_one, shown, shown)

    def add_list(self, said: str, options: Mapping[str, str]) -> None:
        """Add the command that lists records; `options` are filters under another name."""
        add_list(self.group, self.resource.list_view, said, self.listed, options)

    def act_on_each(
        self, printer: Printer, names: Names, act: Callable[[CommandContext, str], Awaitable[Record]]
    ) -> None:
        """Act on each named record and print it."""
        act_on_each(printer, names, act, self.labels, self.listed)

    def change(self, printer: Printer, names: Names, fields: Fields) -> None:
        """Change fields of each named record and print it; raise `click.UsageError` for no field."""
        if not fields:
            raise click.UsageError("no field to change was given")

        async def change_one(context: CommandContext, named: str) -> Record:
            changed = self.resource.change(context, self.find(context, named), fields, None)
            return await self.decide(context, changed)

        self.act_on_each(printer, names, change_one)

    async def decide(self, context: CommandContext, event: Event) -> Record:
        """Decide an event; return its record as the interface shows it, with a secret if one was drawn."""
        reply = await context.decide(event)
        item = self.resource.item_in_reply(reply)
        assert item is not None
        secret = {"secret": reply.secret.reveal()} if isinstance(reply, SecretIssued) else {}
        return {**await context.read_record(self.resource.list_view, item), **secret}


async def _as_asked(listing: Listing[Any], context: CommandContext) -> Listing[Any]:
    return listing


def add_list(
    group: click.Group,
    list_view: ListView[Any, Any],
    said: str,
    listed: Labels,
    options: Mapping[str, str],
    resolve: Callable[[Listing[Any], CommandContext], Awaitable[Listing[Any]]] = _as_asked,
) -> None:
    """Add a command that prints pages of a list; `resolve` finds what filters name."""

    @group.command("list", help=said)
    @with_paging
    @with_filter_options(list_view, {**options, "q": "search"})
    @with_printer
    def list_records(printer: Printer, page: int, page_size: int, filters: Arguments) -> None:
        listing = replace(read_listing(list_view, filters, page_size), page=page)

        async def work(context: CommandContext) -> None:
            printer.page(await context.read_page(list_view, await resolve(listing, context)), listed)

        run(work)
