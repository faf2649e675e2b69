"""The store that the settings name, opened; one that cannot be used ends the start with one line."""

import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, assert_never, runtime_checkable

import apsw
import structlog
import trio

from ostiary_core.model.decision import Change
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import Record, Table
from ostiary_net.observability.log import format_on_one_line
from ostiary_net.runtime.system import SystemClock
from ostiary_net.sql.migrations import Opening, SchemaError
from ostiary_net.sql.trail import GrowingTrail
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.ports import ReadingStore
from ostiary_net.upkeep.sweeping import PurgeableStore
from ostiary_web.server.database import ALLOWED, PostgreSQLDatabase, SQLiteFile
from ostiary_web.server.settings import SettingError, Settings
from ostiary_web.server.stored_numbers import rewrite_numbers

_log = structlog.get_logger("ostiary")

DAY_SECONDS: Final = 24 * 60 * 60

_START_SECONDS: Final = 30.0
"""How long a start waits for a database that is not there yet: machines come up in any order."""


class ServerStore(ReadingStore, PurgeableStore, GrowingTrail, Protocol):
    """A store as the server and the command line need one."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        """The records of `table` under `identifiers`, those that there are."""
        ...

    def records(self, table: Table) -> tuple[Record, ...]:
        """Everything in one table."""
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, past all rules; raise `LostRace` and make none."""
        ...

    def has_password_hash_unlike(self, prefix: str) -> bool:
        """Whether any user has a password hash that does not begin with `prefix`."""
        ...

    def present(self, now: Instant) -> Instant:
        """What time it is for its turns, where `now` is what this machine's clock says."""
        ...

    def check_ready(self) -> None:
        """Raise unless a change would be kept now, on the schema of this release."""
        ...

    def close(self) -> None:
        """Let go of the file or the connections."""
        ...


@runtime_checkable
class LoggingStore(Protocol):
    """A store whose file has a write-ahead log beside it."""

    def log_bytes(self) -> int:
        """How long the log is."""
        ...


_CLOCKS_APART_SECONDS: Final = 120
"""How far the clocks of two instances may be apart before the sweeper of one could hurt the other."""


def policy_of(settings: Settings) -> Policy:
    """The specification's rules with what the operator chose."""
    return replace(
        SPECIFICATION,
        revoke_on_code_replay=settings.revoke_on_code_replay,
        clock_margin_seconds=_CLOCKS_APART_SECONDS,
        locales=settings.languages.tags,
        retention_seconds=settings.retention_sessions_days * DAY_SECONDS,
    )


def unwritable(settings: Settings) -> Iterator[tuple[str, Path]]:
    """The settings that name a place where nothing can be written, each with what is in the way."""
    places = [("DATA_DIR", settings.data_dir / "files" / "x")]
    if settings.sms_gateway_url is None:
        places.append(("SMS_OUTBOX", settings.sms_outbox))
    for name, path in places:
        there = next(each for each in (path, *path.absolute().parents) if os.path.exists(each))
        is_right_kind = there.is_dir() == (there != path)
        may = os.W_OK if there == path else os.W_OK | os.X_OK
        if not is_right_kind or not os.access(
            there, may, effective_ids=os.access in os.supports_effective_ids
        ):
            yield name, there


@asynccontextmanager
async def open_store(
    settings: Settings, *, opening: Opening = Opening.MAKES, start_seconds: float | None = None
) -> AsyncIterator[ServerStore]:
    """The store, with the schema of this release. Raises `SettingError` where it cannot be had.

    Without `start_seconds` it is patient, and the log says so: somebody may look at a server that does not
    start.
    """
    if start_seconds is None:
        open_here = partial(_opened, settings, opening, _START_SECONDS, partial(_log_waiting, settings))
    else:
        open_here = partial(_opened, settings, opening, start_seconds, lambda reason: None)
    # In a thread, as a database that is not there yet is waited for.
    store: ServerStore = await trio.to_thread.run_sync(open_here, abandon_on_cancel=True)
    try:
        if opening is not Opening.KEEPS:
            now = store.present(SystemClock().now())
            await trio.to_thread.run_sync(rewrite_numbers, store, settings.phone_region, now)
        yield store
    finally:
        store.close()


def _opened(
    settings: Settings, opening: Opening, start_seconds: float, tell_waiting: Callable[[str], None]
) -> ServerStore:
    policy = policy_of(settings)
    match settings.database:
        case SQLiteFile(path):
            try:
                return SQLiteStore(path, policy=policy, opening=opening)
            except (OSError, apsw.Error, SchemaError) as error:
                raise _unusable(settings, error) from error
        case PostgreSQLDatabase(url):
            # Here, as whoever keeps a file need not have the driver.
            import psycopg

            from ostiary_net.postgres import PostgreSQLStore

            try:
                return PostgreSQLStore(
                    url.reveal(),
                    policy=policy,
                    opening=opening,
                    start_seconds=start_seconds,
                    prepares=settings.database_prepared_statements,
                    read_password=settings.database.read_password,
                    tell_waiting=tell_waiting,
                )
            except (OSError, psycopg.Error, SchemaError) as error:
                raise _unusable(settings, error) from error
        case _:
            assert_never(settings.database)


def _log_waiting(settings: Settings, reason: str) -> None:
    place = str(settings.database)
    _log.warning("waiting for the database", database=place, most_seconds=_START_SECONDS, reason=reason)


def _unusable(settings: Settings, error: Exception) -> SettingError:
    fault = f"{settings.database} cannot be used: {format_on_one_line(error)}"
    return SettingError("DATABASE_URL", fault, f"a database that can be written, as {ALLOWED}")
