"""Find what an operator should correct before users meet it: settings, files, database, clock, clients."""

import math
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import trio

from ostiary_core.model.client import (
    ACCESS_TOKEN_SECONDS,
    REFRESH_TOKEN_SECONDS,
    is_redirect_uri,
    is_secret_expired,
)
from ostiary_core.model.instant import Instant, end_of_day
from ostiary_core.model.records import Client, GrantType, Table
from ostiary_net.observability.log import list_frames
from ostiary_net.runtime.files import find_user_name, read_owner
from ostiary_net.runtime.interpreter import is_optimised
from ostiary_net.runtime.outbound import RouteUnusable, read_route
from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.ports import ServerStore
from ostiary_web.server.database import PostgreSQLDatabase, SQLiteFile
from ostiary_web.server.findings import Finding, Level, check_cluster
from ostiary_web.server.second_factor_key import KEY_FILE, count_other_keys, read_key_file
from ostiary_web.server.secret_files import is_world_readable
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import LoggingStore, find_unwritable
from ostiary_web.server.temporary_files import can_be_used, temporary_folder

_MOST_APART_MS: Final = 2_000
_DAY_MS: Final = 24 * 60 * 60 * 1_000
_WARNED_DAYS: Final = 30
"""How long before its last day a secret is warned of."""
_HOLDS_SECONDS: Final = 60.0
_LONG_LOG_BYTES: Final = 160 * 2**20
"""Length of a log that SQLite was kept from putting back: by itself it stays under half."""


def run_checks(settings: Settings, store: ServerStore, clock: Clock) -> list[Finding]:
    """Return all findings that need no request to the running server; wait for disks and databases.

    Nothing is changed, except by one write that proves that the database takes any.
    """
    findings = [*_check_settings(settings), *_check_files(settings), *_check_interpreter()]
    findings += [*_check_store(store, clock), *_check_second_factors(settings, store)]
    if isinstance(settings.database, PostgreSQLDatabase):
        findings += check_cluster(settings.database, settings.database_prepared_statements)
    return findings


class SelfCheck:
    """Findings of a running server about itself, made when asked, at most once a minute."""

    def __init__(self, check: Callable[[], list[Finding]], run_sync: RunSync) -> None:
        self._run_check = check
        self._run_sync = run_sync
        self._one_at_a_time = trio.CapacityLimiter(1)
        self._found: list[Finding] = []
        self._checked_at = -math.inf

    async def findings(self) -> Sequence[Finding]:
        """Return faults and doubtful settings; raise what the check raises."""

        def check() -> list[Finding]:
            return [each for each in self._run_check() if each.level is not Level.FINE]

        if trio.current_time() >= self._checked_at + _HOLDS_SECONDS:
            self._found = await self._run_sync(check, limiter=self._one_at_a_time)
            self._checked_at = trio.current_time()
        return self._found


# --- settings


def _check_settings(settings: Settings) -> Iterator[Finding]:
    yield Finding(Level.FINE, "settings", "check.settings.fine")
    if settings.public_url is None:
        yield Finding(Level.WARNING, "PUBLIC_URL", "check.settings.no_public_url")
    elif settings.public_url.startswith("http://") and not _is_local(settings.public_url):
        yield Finding(Level.FAULT, "PUBLIC_URL", "check.settings.plain_public_url")
    elif settings.public_url.startswith("https://") and not settings.trust_proxy:
        yield Finding(Level.WARNING, "TRUST_PROXY", "check.settings.no_proxy_before_tls")
    if "unix:" in settings.bind and not settings.trust_proxy:
        yield Finding(Level.WARNING, "TRUST_PROXY", "check.settings.no_proxy_before_socket")
    for network in settings.trust_proxy:
        if (network.num_addresses > 2**16 and not network.is_private) or network.prefixlen == 0:
            yield Finding(Level.FAULT, "TRUST_PROXY", "check.settings.proxy_too_wide", {"network": network})
    days = settings.retention_audit_days
    kept = "check.settings.trail_for_days" if days else "check.settings.trail_for_ever"
    yield Finding(Level.FINE, "RETENTION_AUDIT_DAYS", kept, {"count": days})
    if settings.rate_limit_scale != 1:
        yield Finding(Level.WARNING, "RATE_LIMIT_SCALE", "check.settings.rate_limits")
    if settings.guess_limit_scale != 1:
        yield Finding(Level.WARNING, "GUESS_LIMIT_SCALE", "check.settings.guess_limits")
    if settings.sms_gateway_url is None:
        yield Finding(
            Level.WARNING, "SMS_GATEWAY_URL", "check.settings.no_gateway", {"path": settings.sms_outbox}
        )
    elif settings.sms_gateway_url.startswith("http://") and not _is_local(settings.sms_gateway_url):
        yield Finding(Level.WARNING, "SMS_GATEWAY_URL", "check.settings.plain_gateway")
    if settings.sms_gateway_url is not None:
        try:
            read_route(settings.sms_gateway_url, os.environ)
        except RouteUnusable as error:
            values = {"reason": error.reason}
            yield Finding(Level.FAULT, error.variable, "check.settings.gateway_unreachable", values)
    if settings.admin_password is not None:
        yield Finding(Level.WARNING, "ADMIN_PASSWORD", "check.settings.password_set")


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


# --- files


def _check_files(settings: Settings) -> Iterator[Finding]:
    paths = [settings.sms_outbox, settings.data_dir / "files", settings.data_dir / KEY_FILE]
    if isinstance(settings.database, SQLiteFile):
        path = settings.database.path
        paths += [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".lock"))]
        yield from _check_owners(path, paths)
    open_ones = [
        path for path in paths if path.is_file() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]
    for path in open_ones:
        mode = stat.S_IMODE(path.stat().st_mode)
        yield Finding(Level.FAULT, "files", "check.files.open", {"path": path, "mode": f"{mode:o}"})
    for path in settings.secret_files:
        if is_world_readable(path):
            yield Finding(Level.WARNING, "secrets", "check.files.secret_open", {"path": path})
    for name, path in find_unwritable(settings):
        yield Finding(Level.FAULT, name, "check.files.unwritable", {"path": path, "owner": read_owner(path)})
    folder = temporary_folder(settings, os.environ)
    if not can_be_used(folder):
        yield Finding(Level.WARNING, "TMPDIR", "check.files.no_temporary", {"path": folder})
    if not open_ones:
        yield Finding(Level.FINE, "files", "check.files.fine")


def _check_owners(database: Path, paths: Iterable[Path]) -> Iterator[Finding]:
    """Yield files that root made in a folder of the server's user."""
    whose = database.parent.stat().st_uid
    for path in paths:
        if whose != 0 and path.is_file() and path.stat().st_uid != whose:
            values = {"path": path, "owner": read_owner(path), "whose": find_user_name(whose)}
            yield Finding(Level.WARNING, "owner", "check.files.owner", values)


# --- what it runs on


def _check_interpreter() -> Iterator[Finding]:
    """Yield a finding for a Python built by hand without optimisations (docs/performance.md)."""
    if not is_optimised():
        yield Finding(Level.WARNING, "Python", "check.interpreter.slow", {"path": sys.base_prefix})


# --- what is stored


def _check_store(store: ServerStore, clock: Clock) -> list[Finding]:
    findings = []
    try:
        store.check_ready()
        findings.append(Finding(Level.FINE, "database", "check.database.fine"))
    except Exception as error:
        values = {"error": type(error).__name__, "place": list_frames(error)[0]}
        findings.append(Finding(Level.FAULT, "database", "check.database.fault", values))
    if isinstance(store, LoggingStore) and store.log_bytes() > _LONG_LOG_BYTES:
        size = {"size": f"{store.log_bytes() / 2**20:.0f}"}
        findings.append(Finding(Level.WARNING, "log", "check.database.log", size))
    findings.append(_check_clock(store, clock))
    for client in store.records(Table.CLIENT):
        # A disabled client can do nothing, whatever it is.
        if isinstance(client, Client) and client.enabled and not (client.deleted_at or client.built_in):
            findings += check_client(client, clock.now())
    return findings


def _check_second_factors(settings: Settings, store: ServerStore) -> Iterator[Finding]:
    """Yield a finding for users whose codes this server cannot check, as another key was used."""
    key = settings.second_factor_key or read_key_file(settings.data_dir)
    others = count_other_keys(store, key)
    if others:
        values = {"count": others}
        yield Finding(Level.FAULT, "SECOND_FACTOR_KEY", "check.second_factors.other_key", values)


def _check_clock(store: ServerStore, clock: Clock) -> Finding:
    """Compare the machine's clock with the latest change of a client, and with the database's clock."""
    now = clock.now()
    apart_ms = now - store.present(now)
    latest = max((_find_last_change(record) for record in store.records(Table.CLIENT)), default=now)
    if abs(apart_ms) > _MOST_APART_MS:
        return Finding(Level.WARNING, "clock", "check.clock.apart", {"seconds": f"{apart_ms / 1000:.1f}"})
    if latest > now + _MOST_APART_MS:
        return Finding(Level.FAULT, "clock", "check.clock.set_back", {"count": (latest - now) // 1000})
    return Finding(Level.FINE, "clock", "check.clock.fine")


def _find_last_change(record: object) -> Instant:
    return record.updated_at if isinstance(record, Client) else Instant(0)


def check_client(client: Client, now: Instant) -> Iterator[Finding]:
    """Yield what makes a client useless, what RFC 9700 advises against, and what is unusual."""
    about = f"client {client.client_id}"
    if client.secret_expires_on is not None:
        days = max(0, end_of_day(client.secret_expires_on) - now) // _DAY_MS
        on = {"date": client.secret_expires_on}
        if is_secret_expired(client, now):
            yield Finding(Level.FAULT, about, "check.client.secret_expired", on)
        elif days < _WARNED_DAYS:
            yield Finding(Level.WARNING, about, "check.client.secret_expires", on)
    if not client.scopes:
        yield Finding(Level.WARNING, about, "check.client.no_scope")
    for uri in client.redirect_uris:
        if not is_redirect_uri(uri):  # registered before there was the rule that it breaks
            yield Finding(Level.WARNING, about, "check.client.doubtful_redirect", {"address": uri})
    local = [uri for uri in client.redirect_uris if uri.startswith("http://")]
    if local:
        yield Finding(Level.WARNING, about, "check.client.local_redirect", {"address": local[0]})
    if client.access_token_seconds > 2 * ACCESS_TOKEN_SECONDS.default:
        values: dict[str, object] = {"seconds": client.access_token_seconds}
        yield Finding(Level.WARNING, about, "check.client.long_access", values)
    refreshes = GrantType.REFRESH_TOKEN in client.grant_types
    if refreshes and client.refresh_token_seconds > REFRESH_TOKEN_SECONDS.default:
        days = client.refresh_token_seconds // (24 * 60 * 60)
        yield Finding(Level.WARNING, about, "check.client.long_refresh", {"count": days})
    if client.auto_approve_scopes:
        values = {"scopes": " ".join(client.auto_approve_scopes)}
        yield Finding(Level.WARNING, about, "check.client.no_consent", values)
