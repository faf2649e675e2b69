"""Run `ostiary user …`: accounts of the backend."""

import sys
from typing import Final

import click

from ostiary_core import events
from ostiary_core.model.instant import iso_time
from ostiary_core.model.reply import InvitationIssued, UserKnown
from ostiary_core.model.secret import draw_token
from ostiary_core.model.user import USER
from ostiary_net.runtime.system import SystemEntropy
from ostiary_web.application.invitations import make_link
from ostiary_web.application.resources.users import RESOURCE, make_password_reset
from ostiary_web.cli.context import OPERATOR, CommandContext, Record, run
from ostiary_web.cli.declared_options import with_field_options
from ostiary_web.cli.printing import Labels, Printer, columns, with_printer
from ostiary_web.cli.record_commands import RecordCommands
from ostiary_web.cli.user_import import import_users
from ostiary_web.server.first_administrator import reset_password_command
from ostiary_web.server.secret_files import UNSEEN_MARK, has_unseen_mark

_LISTED: Final = columns(RESOURCE.list_view, "username", "name", "roleIds", "enabled", "lastSignInAt")
_LABELS: Final[Labels] = {
    **columns(
        RESOURCE.list_view, "id", "username", "name", "phone", "roleIds", "enabled", "mustChangePassword"
    ),
    "password": "command.password",
}
_SHOWN: Final[Labels] = {
    **_LABELS,
    **columns(
        RESOURCE.list_view, "secondFactor", "locale", "timezone", "lastSignInAt", "createdAt", "updatedAt"
    ),
}
_INVITED: Final[Labels] = {
    **columns(RESOURCE.list_view, "username"),
    "link": "command.link",
    "expiresAt": "page.invitation_until",
}


@click.group()
def user() -> None:
    """Register and administer users."""


_COMMANDS: Final = RecordCommands(
    group=user,
    resource=RESOURCE,
    argument="username",
    find=lambda context, username: context.find_user_id(username),
    labels=_SHOWN,
)


@user.command()
@click.argument("username")
@with_field_options(USER, {"roleIds": "role"}, left_out=("username", "mustChangePassword"))
@click.option(
    "--must-change/--keep", default=True, help="Whether the first sign-in asks for another password."
)
@click.option("--draw-password", is_flag=True, help="Draw a password and print it this once.")
@with_printer
def create(
    printer: Printer, username: str, fields: dict[str, object], must_change: bool, draw_password: bool
) -> None:
    """Register USERNAME. The password is asked for, or read from standard input."""
    password = _read_password(printer, drawn=draw_password)
    own = {"username": username, "mustChangePassword": must_change, "password": password}

    async def work(context: CommandContext) -> Record:
        return await _COMMANDS.decide(
            context, await RESOURCE.register(context, {"name": username, **fields, **own})
        )

    _print_user(printer, run(work), password if draw_password else None)


@user.command("reset-password")
@click.argument("username")
@click.option("--draw-password", is_flag=True, help="Draw a password and print it this once.")
@with_printer
def reset_password(printer: Printer, username: str, draw_password: bool) -> None:
    """Give USERNAME another password, to be changed at the next sign-in, and end all sessions.

    The password is asked for, or read from standard input.
    """
    password = _read_password(printer, drawn=draw_password)

    async def work(context: CommandContext) -> Record:
        user_id = context.find_user_id(username)
        await context.decide(await make_password_reset(context, user_id, {"password": password}))
        return await _COMMANDS.decide(context, events.UserRequested(caller=OPERATOR, user_id=user_id))

    _print_user(printer, run(work), password if draw_password else None)


@user.command()
@click.argument("username")
@with_printer
def invite(printer: Printer, username: str) -> None:
    """Print a link by which USERNAME sets a password, once, within 72 hours.

    It replaces the invitation before. Nothing else changes until it is used.
    """

    async def work(context: CommandContext) -> Record:
        if context.settings.public_url is None:
            raise click.UsageError("PUBLIC_URL is not set, the address of the server that the link leads to")
        user_id = context.find_user_id(username)
        event = events.InvitationMade(caller=OPERATOR, user_id=user_id, entropy=context.draw_entropy())
        reply = await context.decide(event)
        assert isinstance(reply, InvitationIssued)
        return {
            "username": reply.user.username,
            "link": make_link(context.settings.public_url, reply.token).reveal(),
            "expiresAt": iso_time(reply.expires_at),
        }

    printer.record(run(work), _INVITED)


@user.command()
@click.argument("username")
@with_field_options(USER, {"roleIds": "role", "username": "new-username"})
@with_printer
def update(printer: Printer, username: str, fields: dict[str, object]) -> None:
    """Change the given fields of USERNAME, and nothing else. Another telephone number ends all sessions.

    --role replaces all roles, and '' removes them; `roles` adds and removes single ones.
    """
    _COMMANDS.change(printer, username, fields)


@user.command()
@click.argument("username")
@click.option("--add", multiple=True, metavar="ROLE", help="Give this role; repeat for more.")
@click.option("--remove", multiple=True, metavar="ROLE", help="Take this role away; repeat for more.")
@with_printer
def roles(printer: Printer, username: str, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give USERNAME roles and take some away, by their codes; without an option, show the roles."""

    async def work(context: CommandContext) -> Record:
        user_id = context.find_user_id(username)
        known = await context.decide(events.UserRequested(caller=OPERATOR, user_id=user_id))
        assert isinstance(known, UserKnown)
        held = known.user.role_ids
        asked = [role for role in dict.fromkeys((*held, *add)) if role not in remove]
        changed = RESOURCE.change(context, user_id, {"roleIds": asked}, {"roleIds": list(held)})
        return await _COMMANDS.decide(context, changed)

    printer.record(run(work), columns(RESOURCE.list_view, "username", "roleIds"))


_COMMANDS.add_list(
    "List the users that fit all options; a time without a zone is in UTC.", _LISTED, {"roleIds": "role"}
)
_COMMANDS.add_deletion(
    "Delete USERNAME for good, and end all sessions.", question="command.user.delete", label="username"
)
_COMMANDS.add_action("show", events.UserRequested, "Show USERNAME.")
_COMMANDS.add_action("disable", events.UserDisabled, "Keep USERNAME from signing in, and end all sessions.")
_COMMANDS.add_action(
    "enable", events.UserEnabled, "Let USERNAME sign in again. Nothing that ended comes back."
)
_COMMANDS.add_action(
    "reset-second-factor",
    events.SecondFactorReset,
    "Take the second factor of USERNAME away, who lost it, and end all sessions.",
)
_COMMANDS.add_action(
    "unlock",
    events.UserUnlocked,
    "Forgive the failed sign-ins of USERNAME, in every process that serves this store.",
)
_COMMANDS.add_action(
    "end-sessions", events.UserForcedOut, "End all sessions of USERNAME, in browsers and applications."
)
user.add_command(import_users)


def _read_password(printer: Printer, *, drawn: bool) -> str:
    """Return the new password: drawn, asked for twice at a terminal, or the first line of standard input."""
    if drawn:
        return draw_token(SystemEntropy().draw(), "password").reveal()
    if sys.stdin.isatty():
        asked = printer.text("column.users.password")
        entered: str = click.prompt(asked, hide_input=True, confirmation_prompt=True, err=True)
        return _refuse_unseen(entered)
    try:
        line = sys.stdin.readline()
        line.encode()  # in the locale C, bytes that are no UTF-8 are read as halves of surrogate pairs
    except UnicodeError:
        raise click.UsageError("the password on standard input is not in the locale's encoding") from None
    if not line:
        raise click.UsageError("a password is expected on standard input; or ask for --draw-password")
    return _refuse_unseen(line.rstrip("\r\n"))


def _refuse_unseen(password: str) -> str:
    if has_unseen_mark(password):
        raise click.UsageError(f"the password {UNSEEN_MARK}")
    return password


def _print_user(printer: Printer, record: Record, drawn_password: str | None) -> None:
    """Print an account, with its password if one was drawn."""
    if drawn_password is None:
        printer.record(record, _LABELS)
        return
    with printer.explain_how_to_draw_again(reset_password_command(str(record["username"]))):
        printer.record({**record, "password": drawn_password}, _LABELS)
