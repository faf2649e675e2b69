"""Run `ostiary audit export --follow`: stream entries as they come, for a SIEM.

Rules, all in this file:

- No entry is passed over: lines are written up to where nobody adds one any more (`TrailEnd`).
- What was written is noted in the cursor's file after it was written: whatever happens, an entry comes once
  or twice, and never not at all.
- A database that is away is asked again and again; a reader who is gone ends it.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Never, TypeVar

import structlog
import trio

from ostiary_core.model.audit import AuditEntry
from ostiary_core.storage.listing import Listing
from ostiary_core.storage.memory_listing import fits
from ostiary_net.front_door import run_until_signal
from ostiary_net.observability.log import format_on_one_line
from ostiary_net.sql.migrations import SchemaError
from ostiary_net.turns.ports import ServerStore, TrailEnd
from ostiary_web.application.resources.audit import AUDIT_EVENTS, NamedEntry, name_entries
from ostiary_web.application.resources.fields import encode_item
from ostiary_web.cli.context import CommandContext
from ostiary_web.cli.printing import to_json
from ostiary_web.streams import OutputFailed, print_data, tell

T = TypeVar("T")

_AT_ONCE: Final = 500
_POLL_SECONDS: Final = 1.0
_WRITERS_SECONDS: Final = 0.05
"""Longest wait in seconds for transactions that are adding entries: most take a few ms."""
_MESSAGE_SECONDS: Final = 10.0
"""Shortest time in seconds between messages about the same trouble."""


class CannotFollow(Exception):
    """The trail cannot be followed until a person corrects something."""


def format_entry(entry: NamedEntry) -> str:
    """Return an entry as a line of JSON."""
    return to_json(encode_item(AUDIT_EVENTS.fields, entry), separators=(",", ":"))


class Cursor:
    """The last entry written: in a file, or only while this runs."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.number = 0

    def read(self) -> None:
        """Resume where the file says, else at the beginning; raise `CannotFollow`."""
        if self._path is None:
            return
        try:
            number = json.loads(self._path.read_text())["number"]
        except FileNotFoundError:
            number = 0
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            number = None
        if type(number) is not int or number < 0:
            raise CannotFollow(f"{self._path} cannot be read as the place in a trail")
        self.keep(number)

    def keep(self, number: int) -> None:
        """Record that all entries up to this one are written."""
        self.number = number
        if self._path is None:
            return
        # Renamed once whole: after a crash the file has this number or the one before.
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            with unfinished.open("w") as file:
                json.dump({"number": number}, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self._path)
        except OSError as error:
            raise CannotFollow(f"{self._path} cannot be written: {error.strerror}") from None


async def follow_trail(cursor: Cursor, listing: Listing[AuditEntry], context: CommandContext) -> None:
    """Write the entries that fit `listing` until a signal comes or nobody reads; raise `CannotFollow`."""
    cursor.read()
    follower = _Follower(context.store, cursor, listing)
    try:
        with _silence_log():
            await run_until_signal(follower.follow)
    except OutputFailed as failure:
        if not failure.is_reader_gone:
            raise CannotFollow(failure.message) from None
    finally:
        follower.keep_written()


@contextmanager
def _silence_log() -> Iterator[None]:
    """Keep the log out of the lines, as this command reports a lost database itself."""
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


class _Follower:
    def __init__(self, store: ServerStore, cursor: Cursor, listing: Listing[AuditEntry]) -> None:
        self._store = store
        self._listing = listing
        self._cursor = cursor
        self._written = 0
        """The entry of the last line that went out."""
        self._said: dict[str, float] = {}
        """What was said last of each trouble, by `time.monotonic`."""

    async def follow(self) -> Never:
        while True:
            end = await self._find_settled_end()
            while self._cursor.number < end:
                await self._write(await self._query(partial(self._read_piece, end)), end)
            await trio.sleep(_POLL_SECONDS)

    async def _find_settled_end(self) -> int:
        """Return the entry up to which the trail will not change any more."""
        end: TrailEnd = await self._query(self._store.trail_end)
        if 0 < end.number < self._cursor.number:
            raise CannotFollow(
                f"the database has entries up to {end.number}, and {self._cursor.number} was written: it was "
                "put back to an earlier moment, or is another one; start with another --cursor"
            )
        writers = end.writers if end.number > self._cursor.number else frozenset()
        since = time.monotonic()
        while writers:
            if time.monotonic() - since > _MESSAGE_SECONDS:
                self._report(
                    "waits",
                    "waits for a transaction of the database that has been adding entries for a while",
                )
            await trio.sleep(_WRITERS_SECONDS)
            writers &= (await self._query(self._store.trail_end)).writers
        return end.number

    def _read_piece(self, end: int) -> tuple[bool, Sequence[NamedEntry]]:
        """Return whether the entry written last still exists, and the next ones."""
        number = self._cursor.number
        is_there = number == 0 or bool(self._store.entries_between(number - 1, number, 1))
        return is_there, name_entries(self._store, self._store.entries_between(number, end, _AT_ONCE))

    async def _write(self, piece: tuple[bool, Sequence[NamedEntry]], end: int) -> None:
        is_there, named = piece
        entries = [each.entry for each in named]
        before = self._cursor.number
        if not is_there and (not entries or entries[0].number > before + 1):
            upto = entries[0].number if entries else end + 1
            self._report(
                f"erased {before}",
                f"entries between {before} and {upto} were erased before they were written, if any",
            )
        await trio.to_thread.run_sync(self._write_lines, named, abandon_on_cancel=True)
        await trio.to_thread.run_sync(
            self._cursor.keep, entries[-1].number if len(entries) == _AT_ONCE else end
        )

    def _write_lines(self, entries: Sequence[NamedEntry]) -> None:
        """Write in a thread, as a reader may be slow."""
        for each in entries:
            if fits(each.entry, self._listing):
                print_data(format_entry(each))
            self._written = each.entry.number

    def keep_written(self) -> None:
        """Record what was written of an interrupted batch."""
        if self._written > self._cursor.number:
            self._cursor.keep(self._written)

    async def _query(self, question: Callable[[], T]) -> T:
        """Query the store until it answers."""
        while True:
            try:
                return await trio.to_thread.run_sync(question, abandon_on_cancel=True)
            except SchemaError as error:
                raise CannotFollow(str(error)) from None
            except Exception as error:
                self._report(
                    "away", f"the store could not be used, and is tried again: {format_on_one_line(error)}"
                )
            await trio.sleep(_POLL_SECONDS)

    def _report(self, trouble: str, words: str) -> None:
        now = time.monotonic()
        if now - self._said.get(trouble, -_MESSAGE_SECONDS) >= _MESSAGE_SECONDS:
            self._said[trouble] = now
            tell(f"ostiary: {words}")
