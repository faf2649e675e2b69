"""Run `ostiary user …`: accounts of the backend."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from ostiary_core import events
from ostiary_core.events.event import AccountEvent
from ostiary_core.model.reply import Reply, UserKnown
from ostiary_core.model.secret import draw_token
from ostiary_core.model.user import USER
from ostiary_core.texts import Language
from ostiary_core.users.new_password import new_password_faults
from ostiary_net.runtime.system import SystemEntropy
from ostiary_web.api.resources.changes import format_changes
from ostiary_web.api.resources.fields import encode_item
from ostiary_web.api.resources.import_preview import encode_preview, preview_rows
from ostiary_web.api.resources.imports import (
    MOST_HASHED_IN_A_REQUEST,
    REPLACES,
    Imported,
    count_hashes,
    import_rows,
)
from ostiary_web.api.resources.queries import Arguments
from ostiary_web.api.resources.sheet_rows import SheetRows, describe_place
from ostiary_web.api.resources.users import RESOURCE, check_zone, normalize_phone_number
from ostiary_web.cli.arguments import LanguageTag
from ostiary_web.cli.context import OPERATOR, CommandContext, make_refusal, run
from ostiary_web.cli.field_options import with_field_options
from ostiary_web.cli.import_files import read_import_file
from ostiary_web.cli.list_options import read_listing, with_filter_options
from ostiary_web.cli.printing import Labels, Printer, columns, with_paging, with_printer
from ostiary_web.http.context import RequestRefused
from ostiary_web.server.first_administrator import reset_password_command
from ostiary_web.server.secret_files import UNSEEN_MARK, has_unseen_mark
from ostiary_web.streams import print_text

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
_DELETED: Final[Labels] = {"username": "column.username", "deleted": "command.deleted"}

_IMPORTED: Final[Labels] = {
    "created": "command.import.created",
    "updated": "command.import.updated",
    "unchanged": "command.import.unchanged",
    "hashesLeft": "command.import.hashes_left",
}
_WOULD: Final = {
    "created": "command.import.would.created",
    "updated": "command.import.would.updated",
    "unchanged": "command.import.would.unchanged",
}
"""Texts of a preview, by what a row would do."""


@click.group()
def user() -> None:
    """Register and administer users."""


@user.command()
@click.argument("username")
@with_field_options(USER, {"roleIds": "role"}, left_out=("username", "mustChangePassword", "locale"))
@click.option("--locale", type=LanguageTag(), help="The language to address the user in.")
@click.option(
    "--must-change/--keep", default=True, help="Whether the first sign-in asks for another password."
)
@click.option("--draw-password", is_flag=True, help="Draw a password and print it this once.")
@with_printer
def create(
    printer: Printer,
    username: str,
    fields: dict[str, object],
    locale: Language | None,
    must_change: bool,
    draw_password: bool,
) -> None:
    """Register USERNAME. The password is asked for, or read from standard input."""
    password = _read_password(printer, drawn=draw_password)
    asked: dict[str, object] = {
        "name": username,
        **fields,
        "username": username,
        "locale": locale and locale.tag,
        "mustChangePassword": must_change,
    }

    async def work(context: CommandContext) -> Reply:
        faults = new_password_faults("password", password)
        return await context.decide(
            events.UserRegistered(
                caller=OPERATOR,
                fields=normalize_phone_number(context, asked),
                password_hash=None if faults else await context.passwords.hash(password),
                faults=(*faults, *check_zone(asked)),
                entropy=context.draw_entropy(),
            )
        )

    _print_user(printer, run(work), password if draw_password else None)


@user.command("import")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(list(REPLACES)),
    default="insert",
    show_default=True,
    help="Whether a row with the name of an existing user is refused, or changes that user.",
)
@click.option("--preview", is_flag=True, help="Only say what each row would do.")
@with_printer
def import_users(printer: Printer, file: Path, mode: str, preview: bool) -> None:
    """Register all users in FILE, or none: a sheet (.xlsx), CSV, or one JSON object a line (.jsonl).

    The columns are those of the interface's import template, by their headings or the names of the fields.
    A passwordHash is another system's hash of a password (argon2id, bcrypt, scrypt, pbkdf2_sha256 of
    Django, or one of passlib or Werkzeug), and the user signs in with that password as before. At most
    2000 rows are imported at a time.
    """
    rows = read_import_file(file, RESOURCE.list_view)
    try:
        if rows.faults:
            raise make_refusal(*rows.faults)
        if preview:
            _preview(printer, rows, replace=REPLACES[mode])
            return
        done = _import(printer, rows, replace=REPLACES[mode])
    except RequestRefused as refusal:
        place = partial(
            describe_place, headings=rows.headings, list_view=RESOURCE.list_view, language=printer.language
        )
        printer.refuse(refusal.reply, place)
    printer.record(msgspec.to_builtins(done), _IMPORTED)


def _preview(printer: Printer, rows: SheetRows, *, replace: bool) -> None:
    found = run(lambda context: preview_rows(context, RESOURCE, rows, replace=replace))
    encoded: dict[str, Any] = msgspec.to_builtins(encode_preview(found, RESOURCE, rows))
    if printer.for_scripts:
        printer.document(encoded)
        return
    for row in encoded.pop("rows"):
        print_text(printer.text(_WOULD[row["outcome"]], row=row["row"], name=row["name"]))
        for fact in found[row["row"]]:
            for line in format_changes(fact.kind, fact.changes, printer.language):
                print_text(f"    {line}")
    print_text(printer.text("command.import.would", **encoded))


def _import(printer: Printer, rows: SheetRows, *, replace: bool) -> Imported:
    """Import rows, with a progress bar for the hashing of passwords."""
    with click.progressbar(
        length=len(rows.by_number),
        label=printer.text("command.import.preparing"),
        file=sys.stderr,
        hidden=count_hashes(RESOURCE, rows) <= MOST_HASHED_IN_A_REQUEST or printer.for_scripts,
    ) as bar:
        return run(
            lambda context: import_rows(
                context, RESOURCE, rows.by_number, replace=replace, on_prepared=partial(bar.update, 1)
            )
        )


@user.command("list")
@with_paging
@with_filter_options(RESOURCE.list_view, {"roleIds": "role", "q": "search"})
@with_printer
def list_users(printer: Printer, page: int, page_size: int, filters: Arguments) -> None:
    """List the users that fit all options; a time without a zone is in UTC."""
    listing = replace(read_listing(RESOURCE.list_view, filters, page_size), page=page)
    printer.page(run(lambda context: context.read_page(RESOURCE, listing)), _LISTED)


@user.command("reset-password")
@click.argument("username")
@click.option("--draw-password", is_flag=True, help="Draw a password and print it this once.")
@with_printer
def reset_password(printer: Printer, username: str, draw_password: bool) -> None:
    """Give USERNAME another password, to be changed at the next sign-in, and end all sessions.

    The password is asked for, or read from standard input.
    """
    password = _read_password(printer, drawn=draw_password)

    async def work(context: CommandContext) -> Reply:
        user_id = context.find_user_id(username)
        faults = new_password_faults("password", password)
        if faults:
            raise make_refusal(*faults)
        await context.decide(
            events.PasswordResetByAdministrator(
                caller=OPERATOR, user_id=user_id, new_password_hash=await context.passwords.hash(password)
            )
        )
        return await context.decide(events.UserRequested(caller=OPERATOR, user_id=user_id))

    _print_user(printer, run(work), password if draw_password else None)


@user.command()
@click.argument("username")
@with_field_options(USER, {"roleIds": "role", "username": "new-username"}, left_out=("locale",))
@click.option("--locale", type=LanguageTag(), help="The language to address the user in.")
@with_printer
def update(printer: Printer, username: str, fields: dict[str, object], locale: Language | None) -> None:
    """Change the given fields of USERNAME, and nothing else. Another telephone number ends all sessions.

    --role replaces all roles, and '' removes them; `roles` adds and removes single ones.
    """
    if locale is not None:
        fields["locale"] = locale.tag
    if not fields:
        raise click.UsageError("no field to change was given")

    async def work(context: CommandContext) -> Reply:
        return await _change(context, context.find_user_id(username), fields)

    _print_user(printer, run(work), labels=_SHOWN)


@user.command()
@click.argument("username")
@click.option("--add", multiple=True, metavar="ROLE", help="Give this role; repeat for more.")
@click.option("--remove", multiple=True, metavar="ROLE", help="Take this role away; repeat for more.")
@with_printer
def roles(printer: Printer, username: str, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give USERNAME roles and take some away, by their codes; without an option, show the roles."""

    async def work(context: CommandContext) -> Reply:
        user_id = context.find_user_id(username)
        known = await context.decide(events.UserRequested(caller=OPERATOR, user_id=user_id))
        assert isinstance(known, UserKnown)
        held = known.user.role_ids
        asked = [role for role in dict.fromkeys((*held, *add)) if role not in remove]
        return await _change(context, user_id, {"roleIds": asked}, shown={"roleIds": list(held)})

    _print_user(printer, run(work), labels=columns(RESOURCE.list_view, "username", "roleIds"))


@user.command()
@click.argument("username")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_printer
def delete(printer: Printer, username: str, yes: bool) -> None:
    """Delete USERNAME for good, and end all sessions."""
    if not yes:
        click.confirm(printer.text("command.user.delete", username=username), abort=True, err=True)

    async def work(context: CommandContext) -> Reply:
        event = events.UserDeleted(caller=OPERATOR, user_id=context.find_user_id(username))
        return await context.decide(event)

    run(work)
    printer.record({"username": username, "deleted": True}, _DELETED)


def _add_command(name: str, kind: type[AccountEvent], said: str) -> None:
    """Add a command that decides one event about USERNAME and shows the user afterwards."""

    @user.command(name, help=said)
    @click.argument("username")
    @with_printer
    def act(printer: Printer, username: str) -> None:
        async def work(context: CommandContext) -> Reply:
            user_id = context.find_user_id(username)
            await context.decide(kind(caller=OPERATOR, user_id=user_id))
            return await context.decide(events.UserRequested(caller=OPERATOR, user_id=user_id))

        _print_user(printer, run(work), labels=_SHOWN)


_add_command("show", events.UserRequested, "Show USERNAME.")
_add_command("disable", events.UserDisabled, "Keep USERNAME from signing in, and end all sessions.")
_add_command("enable", events.UserEnabled, "Let USERNAME sign in again. Nothing that ended comes back.")
_add_command(
    "reset-second-factor",
    events.SecondFactorReset,
    "Take the second factor of USERNAME away, who lost it, and end all sessions.",
)
_add_command(
    "unlock",
    events.UserUnlocked,
    "Forgive the failed sign-ins of USERNAME, in every process that serves this store.",
)
_add_command(
    "end-sessions", events.UserForcedOut, "End all sessions of USERNAME, in browsers and applications."
)


async def _change(
    context: CommandContext, user_id: str, fields: dict[str, object], shown: dict[str, object] | None = None
) -> Reply:
    return await context.decide(
        events.UserChanged(
            caller=OPERATOR,
            user_id=user_id,
            fields=normalize_phone_number(context, fields),
            faults=check_zone(fields),
            shown=shown,
        )
    )


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


def _print_user(
    printer: Printer, reply: Reply, drawn_password: str | None = None, labels: Labels = _LABELS
) -> None:
    """Print the account in a reply, with its password if one was drawn."""
    if not isinstance(reply, UserKnown):
        raise TypeError(f"no account is in a {type(reply).__name__}")
    content = encode_item(RESOURCE.fields, reply.user)
    if drawn_password is None:
        printer.record(content, labels)
        return
    with printer.explain_how_to_draw_again(reset_password_command(reply.user.username)):
        printer.record({**content, "password": drawn_password}, _LABELS)
