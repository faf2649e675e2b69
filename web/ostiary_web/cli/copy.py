"""Run `ostiary copy FROM [TO]`: from a SQLite file to PostgreSQL, when one machine is no longer enough."""

import os

import apsw
import click

from ostiary_net.observability.log import format_on_one_line
from ostiary_net.sql.migrations import SchemaError
from ostiary_net.sqlite.exclusive import FileInUse
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.database import ALLOWED, PostgreSQLDatabase, SQLiteFile, read_database
from ostiary_web.server.setting_values import SettingError, parse_setting
from ostiary_web.server.settings import find_secret
from ostiary_web.streams import exit_with, print_text


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="[TO]", required=False)
@with_printer
def copy(printer: Printer, source: str, target: str | None) -> None:
    """Copy every record and the audit trail of the SQLite file FROM to the empty PostgreSQL database TO.

    Both have the form of DATABASE_URL, whose value is used if TO is left out: every process of the machine
    can read an argument, and TO may hold a password. The server must not run. Tokens and sessions live on.
    """
    try:
        source_database = parse_setting("FROM", source, read_database, ALLOWED)
        address = target or find_secret(os.environ, "DATABASE_URL").text.strip()
        if not address:
            exit_with(
                "TO: is not given, and DATABASE_URL is not set; allowed: postgresql://USER@HOST/DATABASE"
            )
        target_database = parse_setting("TO", address, read_database, ALLOWED)
    except SettingError as error:
        exit_with(error)
    if not isinstance(source_database, SQLiteFile) or not os.path.exists(source_database.path):
        exit_with("FROM: names no existing SQLite file; allowed: sqlite:///PATH")
    if not isinstance(target_database, PostgreSQLDatabase):
        exit_with("TO: names no PostgreSQL database; allowed: postgresql://USER@HOST/DATABASE")
    # Here, as a server on a file needs no driver.
    import psycopg

    from ostiary_net.postgres import PostgreSQLStore
    from ostiary_net.upkeep.copying import CopyError, copy_records

    def report(name: str, number: int) -> None:
        if not printer.for_scripts:
            print_text(f"{name}: {number}")

    try:
        with PostgreSQLStore(target_database.url.reveal(), start_seconds=5.0) as store:
            counts = copy_records(source_database.path, store, report)
    except FileInUse as error:
        exit_with(error)
    except (OSError, apsw.Error) as error:
        exit_with(f"{source_database.path} could not be copied: {format_on_one_line(error)}")
    except (CopyError, SchemaError, psycopg.Error) as error:
        exit_with(f"{target_database}: {format_on_one_line(error)}")
    if printer.for_scripts:
        printer.document(counts)
