"""`ostiary check`: what an operator should know before users do, as a list with an exit code."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
import trio

from ostiary_core.clients.client_fields import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Client, GrantType, Table
from ostiary_net.observability.log import where_raised
from ostiary_web.app.asgi_app import settings_or_exit
from ostiary_web.cli.context import CommandContext, run
from ostiary_web.cli.findings import Finding, Level
from ostiary_web.cli.live import ask_live
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import unwritable

_MOST_APART_MS: Final = 2_000


@click.command()
@click.option(
    "--live",
    is_flag=True,
    help="Also ask the running server at PUBLIC_URL for a token, and look where it saw that come from. "
    "A deleted client ostiary-check-… stays in the audit trail.",
)
@with_printer
def check(printer: Printer, live: bool) -> None:
    """Look at settings, files, database, clock and clients. Exits with 1 where something is at fault.

    A warning is something that may be meant. Nothing is changed, but for one write that proves that the
    database takes any.
    """
    settings = settings_or_exit(os.environ)
    findings = [*_of_settings(settings), *_of_files(settings), *run(_of_the_store)]
    if live:
        findings.append(run(ask_live))
    worst = max((list(Level).index(each.level) for each in findings), default=0)
    if printer.for_scripts:
        listed = [{"level": each.level.value, "about": each.about, "text": each.text} for each in findings]
        printer.document({"findings": listed, "level": list(Level)[worst].value})
    else:
        widest = max(len(each.about) for each in findings)
        for each in findings:
            click.echo(f"{each.level.value:<7}  {each.about:<{widest}}  {each.text}")
    if list(Level)[worst] is Level.FAULT:
        sys.exit(1)


# --- settings


def _of_settings(settings: Settings) -> Iterator[Finding]:
    yield Finding(Level.FINE, "settings", "every value is one that is allowed")
    if settings.public_url is None:
        yield Finding(Level.WARNING, "PUBLIC_URL", "is not set: addresses and cookies go by each request")
    elif settings.public_url.startswith("http://") and not _is_local(settings.public_url):
        yield Finding(
            Level.FAULT, "PUBLIC_URL", "is http: passwords and tokens go over the network as they are"
        )
    elif settings.public_url.startswith("https://") and not settings.trust_proxy:
        yield Finding(
            Level.WARNING,
            "TRUST_PROXY",
            "is not set, and something in front takes TLS off: all callers share its address and rate limits",
        )
    if settings.bind.startswith("unix:") and not settings.trust_proxy:
        yield Finding(
            Level.WARNING,
            "TRUST_PROXY",
            "is not set, and who comes over BIND's socket has no address: all callers share one rate limit",
        )
    for network in settings.trust_proxy:
        if (network.num_addresses > 2**16 and not network.is_private) or network.prefixlen == 0:
            yield Finding(
                Level.FAULT,
                "TRUST_PROXY",
                f"{network} believes strangers: callers may name any address",
            )
    if settings.rate_limit_scale != 1:
        yield Finding(Level.WARNING, "RATE_LIMIT_SCALE", "the limits are not the specification's")
    if settings.sms_gateway_url is None:
        yield Finding(
            Level.WARNING,
            "SMS_GATEWAY_URL",
            f"is not set: text messages go to {settings.sms_outbox}",
        )
    elif settings.sms_gateway_url.startswith("http://") and not _is_local(settings.sms_gateway_url):
        yield Finding(Level.WARNING, "SMS_GATEWAY_URL", "is http: recovery codes go as they are")
    if settings.admin_password is not None:
        yield Finding(
            Level.WARNING,
            "ADMIN_PASSWORD",
            "is still set, and read only while there is no administrator",
        )


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


# --- files


def _of_files(settings: Settings) -> Iterator[Finding]:
    paths = [settings.sms_outbox, settings.data_dir / "files"]
    if isinstance(settings.database, SQLiteFile):
        path = settings.database.path
        paths += [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".lock"))]
    open_ones = [path for path in paths if path.is_file() and _others_may(path)]
    for path in open_ones:
        mode = stat.S_IMODE(path.stat().st_mode)
        yield Finding(Level.FAULT, "files", f"{path} can be read by others (mode {mode:o}): chmod go= {path}")
    for name, path in unwritable(settings):
        yield Finding(Level.FAULT, name, f"{path} cannot be written by who runs this")
    if not open_ones:
        yield Finding(Level.FINE, "files", "nobody else can read them")


def _others_may(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


# --- what is stored


async def _of_the_store(context: CommandContext) -> list[Finding]:
    findings = []
    try:
        await trio.to_thread.run_sync(context.store.check_ready)
        findings.append(Finding(Level.FINE, "database", "takes changes, and has the schema of this release"))
    except Exception as error:
        text = f"takes no change: {type(error).__name__} at {where_raised(error)[0]}"
        findings.append(Finding(Level.FAULT, "database", text))
    findings.append(_of_the_clock(context))
    for client in context.store.records(Table.CLIENT):
        if isinstance(client, Client) and client.deleted_at is None and not client.built_in:
            findings += _of_a_client(client)
    return findings


def _of_the_clock(context: CommandContext) -> Finding:
    """The machine's clock beside the latest change of a client, and beside the database's own clock."""
    now = context.clock.now()
    apart_ms = now - context.store.present(now)
    latest = max((_changed_at(record) for record in context.store.records(Table.CLIENT)), default=now)
    if abs(apart_ms) > _MOST_APART_MS:
        text = f"this machine's is {apart_ms / 1000:.1f} s from the database's, which counts"
        return Finding(Level.WARNING, "clock", text)
    if latest > now + _MOST_APART_MS:
        seconds = (latest - now) // 1000
        return Finding(Level.FAULT, "clock", f"a record was changed {seconds} s from now: it was set back")
    return Finding(Level.FINE, "clock", "is where the records are")


def _changed_at(record: object) -> Instant:
    return record.updated_at if isinstance(record, Client) else Instant(0)


def _of_a_client(client: Client) -> Iterator[Finding]:
    """What RFC 9700 would have otherwise, and what is more than is usual here."""
    about = f"client {client.client_id}"
    local = [uri for uri in client.redirect_uris if uri.startswith("http://")]
    if local:
        text = f"redirects to {local[0]}: any program on the user's machine may listen there (RFC 9700 §4.1)"
        yield Finding(Level.WARNING, about, text)
    if client.access_token_seconds > 2 * ACCESS_TOKEN_SECONDS.default:
        text = f"access tokens live {client.access_token_seconds} s, and so does a stolen one (RFC 9700 §2.2)"
        yield Finding(Level.WARNING, about, text)
    refreshes = GrantType.REFRESH_TOKEN in client.grant_types
    if refreshes and client.refresh_token_seconds > REFRESH_TOKEN_SECONDS.default:
        days = client.refresh_token_seconds // (24 * 60 * 60)
        yield Finding(Level.WARNING, about, f"one authorization lasts {days} days (RFC 9700 §4.14.2)")
    if client.auto_approve_scopes:
        text = f"asks nobody for {' '.join(client.auto_approve_scopes)}: meant for systems of your own"
        yield Finding(Level.WARNING, about, text)
