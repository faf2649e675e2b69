"""Run `ostiary user …`: accounts of the backend."""

import sys
from typing import Final

import click

from ostiary_core import events
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import iso_time
from ostiary_core.model.reply import InvitationIssued, UserKnown
from ostiary_core.model.secret import draw_token
from ostiary_core.model.user import USER
from ostiary_net.runtime.system import SystemEntropy
from ostiary_web.application.invitations import make_link
from ostiary_web.application.resources.users import (
    RESOURCE,
    list_role_ids,
    make_password_reset,
    make_role_change,
)
from ostiary_web.cli.context import OPERATOR, CommandContext, Record, make_refusal
from ostiary_web.cli.declared_options import with_field_options
from ostiary_web.cli.names import Names, act_on_each, with_names
from ostiary_web.cli.printing import Labels, Printer, columns, with_printer
from ostiary_web.cli.record_commands import RecordCommands
from ostiary_web.cli.user_import import import_users
from ostiary_web.server.first_administrator import reset_password_command
from ostiary_web.server.secret_files import UNSEEN_MARK, has_unseen_mark

_PASSWORD: Final[Labels] = {"password": "command.password"}
_LISTED: Final = columns(RESOURCE.list_view, "username", "name", "roleIds", "enabled", "lastSignInAt")
_RESET: Final[Labels] = {**columns(RESOURCE.list_view, "username"), **_PASSWORD}
_LABELS: Final[Labels] = {
    **columns(
        RESOURCE.list_view, "id", "username", "name", "phone", "roleIds", "enabled", "mustChangePassword"
    ),
    **_PASSWORD,
}
_SHOWN: Final[Labels] = {
    **_LABELS,
    **columns(
        RESOURCE.list_view, "secondFactor", "locale", "timezone", "lastSignInAt", "createdAt", "updatedAt"
    ),
}
_INVITED: Final[Labels] = {
    **columns(RESOURCE.list_view, "username"),
    "url": "command.link",
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
    listed=_LISTED,
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
    password = _draw_password() if draw_password else _read_password(printer)
    own = {"mustChangePassword": must_change, "password": password}

    async def register(context: CommandContext, username: str) -> Record:
        fields_of_user = {"name": username, **fields, **own, "username": username}
        record = await _COMMANDS.decide(context, await RESOURCE.register(context, fields_of_user))
        return {**record, "password": password} if draw_password else record

    again = reset_password_command if draw_password else None
    act_on_each(printer, Names((username,)), register, _LABELS, _LISTED, again)


@user.command("reset-password")
@with_names("username")
@click.option("--draw-password", is_flag=True, help="Draw a password for each and print it this once.")
@with_printer
def reset_password(printer: Printer, names: Names, draw_password: bool) -> None:
    """Give each USERNAME another password, to be changed at the next sign-in, and end all sessions.

    The password of a single user is asked for, or read from standard input.
    """
    if not (draw_password or names.is_one):
        raise click.UsageError("several users are not given one password; allowed: --draw-password")
    given = None if draw_password else _read_password(printer)

    async def reset_one(context: CommandContext, username: str) -> Record:
        user_id = context.find_user_id(username)
        password = given or _draw_password()
        await context.decide(await make_password_reset(context, user_id, {"password": password}))
        record = await _COMMANDS.decide(context, events.UserRequested(caller=OPERATOR, user_id=user_id))
        return {**record, "password": password} if draw_password else record

    again = reset_password_command if draw_password else None
    act_on_each(printer, names, reset_one, _LABELS, _RESET, again)


@user.command()
@with_names("username")
@with_printer
def invite(printer: Printer, names: Names) -> None:
    """Print a link by which each USERNAME sets a password, once, within 72 hours.

    It replaces the invitation before. Nothing else changes until it is used.
    """

    async def invite_one(context: CommandContext, username: str) -> Record:
        if context.settings.public_url is None:
            raise click.UsageError("PUBLIC_URL is not set, the address of the server that the link leads to")
        user_id = context.find_user_id(username)
        event = events.InvitationMade(caller=OPERATOR, user_id=user_id, entropy=context.draw_entropy())
        reply = await context.decide(event)
        assert isinstance(reply, InvitationIssued)
        return {
            "username": reply.user.username,
            "url": make_link(context.settings.public_url, reply.token).reveal(),
            "expiresAt": iso_time(reply.expires_at),
        }

    act_on_each(printer, names, invite_one, _INVITED, _INVITED)


@user.command()
@with_names("username")
@with_field_options(USER, {"roleIds": "role", "username": "new-username"})
@with_printer
def update(printer: Printer, names: Names, fields: dict[str, object]) -> None:
    """Change the given fields of each USERNAME, and nothing else. Another telephone number ends all sessions.

    --role replaces all roles, and '' removes them; `roles` adds and removes single ones.
    """
    _COMMANDS.change(printer, names, fields)


@user.command()
@with_names("username")
@click.option("--add", multiple=True, metavar="ROLE", help="Give this role; repeat for more.")
@click.option("--remove", multiple=True, metavar="ROLE", help="Take this role away; repeat for more.")
@with_printer
def roles(printer: Printer, names: Names, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give each USERNAME roles and take some away, by their codes; without an option, show the roles."""

    async def change_one(context: CommandContext, username: str) -> Record:
        user_id, known_roles = context.find_user_id(username), await context.query(list_role_ids)
        unknown = [
            FieldFault(f"{option}.{place}", FieldRule.ROLE)
            for option, given in (("add", add), ("remove", remove))
            for place, role_id in enumerate(given)
            if role_id not in known_roles
        ]
        if unknown:
            raise make_refusal(*unknown)
        shown = events.UserRequested(caller=OPERATOR, user_id=user_id)
        known = await context.decide(shown)
        assert isinstance(known, UserKnown)
        return await _COMMANDS.decide(context, make_role_change(context, known.user, add, remove) or shown)

    labels = columns(RESOURCE.list_view, "username", "roleIds")
    act_on_each(printer, names, change_one, labels, labels)


_COMMANDS.add_list(
    "List the users that fit all options; a time without a zone is in UTC.", {"roleIds": "role"}
)
_COMMANDS.add_deletion(
    "Delete each USERNAME for good, and end all sessions.", question="command.user.delete", label="username"
)
_COMMANDS.add_action("show", events.UserRequested, "Show each USERNAME.")
_COMMANDS.add_action("disable", events.UserDisabled, "Keep each USERNAME from signing in; ends all sessions.")
_COMMANDS.add_action(
    "enable", events.UserEnabled, "Let each USERNAME sign in again. Nothing that ended comes back."
)
_COMMANDS.add_action(
    "reset-second-factor",
    events.SecondFactorReset,
    "Take the second factor of each USERNAME away, who lost it, and end all sessions.",
)
_COMMANDS.add_action(
    "unlock",
    events.UserUnlocked,
    "Forgive the failed sign-ins of each USERNAME, in every process that serves this store.",
)
_COMMANDS.add_action(
    "end-sessions", events.UserForcedOut, "End all sessions of each USERNAME, in browsers and applications."
)
user.add_command(import_users)


def _draw_password() -> str:
    return draw_token(SystemEntropy().draw(), "password").reveal()


def _read_password(printer: Printer) -> str:
    """Return the new password: asked for twice at a terminal, or the first line of standard input."""
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
