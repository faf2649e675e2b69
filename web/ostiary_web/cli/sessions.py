"""Run `ostiary session …`: the sessions that run, of users and clients."""

from typing import Final

import click

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ONLINE_SESSIONS, Listing
from ostiary_web.application.resources.online import RUNNING_SESSIONS
from ostiary_web.cli.context import OPERATOR, CommandContext, Record
from ostiary_web.cli.named_users import with_identifiers
from ostiary_web.cli.names import Names, act_on_each, with_names
from ostiary_web.cli.printing import Labels, Printer, columns, with_printer
from ostiary_web.cli.record_commands import add_list

_SHOWN: Final = columns(RUNNING_SESSIONS, *(field.name for field in RUNNING_SESSIONS.fields))
_LISTED: Final = columns(RUNNING_SESSIONS, "id", "kind", "username", "clientId", "ip", "lastSeenAt")
_ENDED: Final[Labels] = {**columns(RUNNING_SESSIONS, "id"), "ended": "command.ended"}


@click.group()
def session() -> None:
    """See and end the sessions that run; `ostiary explain` shows the history of any."""


add_list(
    session,
    RUNNING_SESSIONS,
    "List the running sessions that fit all options; a time without a zone is in UTC. --user takes a user "
    "name or a sub.",
    _LISTED,
    {"userId": "user"},
    with_identifiers,
)


@session.command()
@with_names("session")
@with_printer
def show(printer: Printer, names: Names) -> None:
    """Show each SESSION, while it runs."""

    async def show_one(context: CommandContext, session_id: str) -> Record:
        listing = Listing(resource=ONLINE_SESSIONS, filters={"session_id": (session_id,)})
        found = await context.read_page(RUNNING_SESSIONS, listing)
        return found.records[0] if found.records else context.refuse(Why.NOT_FOUND)

    act_on_each(printer, names, show_one, _SHOWN, _LISTED)


@session.command()
@with_names("session")
@with_printer
def end(printer: Printer, names: Names) -> None:
    """End each SESSION, with its tokens."""

    async def end_one(context: CommandContext, session_id: str) -> Record:
        await context.decide(SessionForcedOut(caller=OPERATOR, session_id=session_id))
        return {"id": session_id, "ended": True}

    act_on_each(printer, names, end_one, _ENDED, _ENDED)
