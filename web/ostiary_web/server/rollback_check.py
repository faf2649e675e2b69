"""Refuse a database that was restored to an earlier moment, by a watermark kept outside of it.

A restored PostgreSQL knows nothing of what ended since, and neither its identifier nor its timeline tells it
from one after a failover (docs/decisions/0036-a-restored-database-is-refused.md). But entries of the audit
trail have numbers that are never given again: a database with fewer than were seen was put back.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, Never, Protocol, runtime_checkable

import structlog
import trio

from ostiary_net.observability.log import list_frames
from ostiary_net.runtime.files import create_for_owner_of
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings

_log = structlog.get_logger("ostiary")

_NAME: Final = "database-mark.json"


@runtime_checkable
class WatermarkedStore(Protocol):
    """A store that can be restored to an earlier moment behind the server's back."""

    def mark(self) -> tuple[int, int]:
        """Return the database's creation in ms since 1970, and the number of its trail's last entry."""
        ...


def refuse_rolled_back(settings: Settings, store: WatermarkedStore) -> None:
    """Raise `SettingError` if the database has fewer entries than were seen.

    A database without a trail, or another one, is not refused.
    """
    path = settings.data_dir / _NAME
    try:
        made_at, number = json.loads(path.read_text())
    except (OSError, ValueError, TypeError):
        return
    present_made_at, present_number = store.mark()
    if present_made_at == made_at and 0 < present_number < number:
        raise SettingError(
            "DATABASE_URL",
            f"{settings.database} has audit entries up to {present_number}, and {number} were seen: it was "
            "put back to an earlier moment, and what ended since is alive again",
            f"it once `ostiary end-everything` was run; or without {path}, where that is meant",
        )


def forget_mark(settings: Settings) -> None:
    """Accept the database as it is."""
    with suppress(FileNotFoundError):
        (settings.data_dir / _NAME).unlink()


async def write_mark_forever(settings: Settings, store: WatermarkedStore, every_seconds: float) -> Never:
    """Write the watermark at once, then every so many seconds, for ever."""
    while True:
        try:
            await trio.to_thread.run_sync(_write_mark, settings.data_dir, store, abandon_on_cancel=True)
        except Exception as error:
            _log.warning("mark not kept", cause=type(error).__name__, where=list_frames(error))
        await trio.sleep(every_seconds)


def _write_mark(folder: Path, store: WatermarkedStore) -> None:
    mark = store.mark()
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{_NAME}.{os.getpid()}"
    unfinished.unlink(missing_ok=True)
    create_for_owner_of(folder, unfinished)
    unfinished.write_text(json.dumps(mark))
    unfinished.replace(folder / _NAME)
