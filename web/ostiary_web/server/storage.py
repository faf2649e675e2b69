"""Open the store that the settings name; exit with one line if it cannot be used."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, assert_never, runtime_checkable

import apsw
import structlog
import trio

from ostiary_core.model.instant import DAY_SECONDS
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_net.observability.log import format_on_one_line
from ostiary_net.sql.migrations import Opening, SchemaError
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.file import describe_fault
from ostiary_net.turns.ports import ServerStore
from ostiary_web.server.database import ALLOWED, PostgreSQLDatabase, SQLiteFile
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings

_log = structlog.get_logger("ostiary")

_START_SECONDS: Final = 30.0
"""Longest wait in seconds for a database at the start: machines come up in any order."""


@runtime_checkable
class LoggingStore(Protocol):
    """A store with a write-ahead log file."""

    def log_bytes(self) -> int:
        """Return the length of the log."""
        ...


_CLOCKS_APART_SECONDS: Final = 120
"""Largest difference of two instances' clocks before the sweeper of one harms the other."""


def make_policy(settings: Settings) -> Policy:
    """Return the specification's policy with the operator's choices."""
    return replace(
        SPECIFICATION,
        revoke_on_code_replay=settings.revoke_on_code_replay,
        clock_margin_seconds=_CLOCKS_APART_SECONDS,
        locales=settings.languages.tags,
        text_recovery=settings.recovery_by_text_message,
        require_second_factor=settings.require_second_factor,
        proof_seconds=settings.prove_again_minutes * 60,
        second_factor_key=settings.second_factor_key or b"",
        retention_seconds=settings.retention_sessions_days * DAY_SECONDS,
    )


def find_unwritable(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yield the settings that name an unwritable place, each with what is in the way."""
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
    """Return the store with the schema of this release; raise `SettingError` if it cannot be used.

    Without `start_seconds` it waits, and logs that it does.
    """
    if start_seconds is None:
        open_here = partial(
            _open_when_ready, settings, opening, _START_SECONDS, partial(_log_waiting, settings)
        )
    else:
        open_here = partial(_open_when_ready, settings, opening, start_seconds, lambda reason: None)
    # In a thread, as a database that is not there yet is waited for.
    store: ServerStore = await trio.to_thread.run_sync(open_here, abandon_on_cancel=True)
    try:
        yield store
    finally:
        store.close()


def _open_when_ready(
    settings: Settings, opening: Opening, start_seconds: float, tell_waiting: Callable[[str], None]
) -> ServerStore:
    policy = make_policy(settings)
    match settings.database:
        case SQLiteFile(path):
            try:
                return SQLiteStore(path, policy=policy, opening=opening)
            except (OSError, apsw.Error, SchemaError) as error:
                raise _setting_error(settings, describe_fault(error)) from error
        case PostgreSQLDatabase(url):
            # Here, as a server on a file needs no driver.
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
                raise _setting_error(settings, format_on_one_line(error)) from error
        case _:
            assert_never(settings.database)


def _log_waiting(settings: Settings, reason: str) -> None:
    place = str(settings.database)
    _log.warning("waiting for the database", database=place, most_seconds=_START_SECONDS, reason=reason)


def _setting_error(settings: Settings, reason: str) -> SettingError:
    fault = f"{settings.database} cannot be used: {reason}"
    return SettingError("DATABASE_URL", fault, f"a database that can be written, as {ALLOWED}")
