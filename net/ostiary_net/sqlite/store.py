"""Store records in a SQLite file: a turn is one transaction, one commit, one flush to the disk.

A turn that may write waits for the writer lock, begins with `BEGIN IMMEDIATE` (so that nothing it reads can
change before it writes), loads, decides, writes and commits. A turn of read-only events runs on a
connection of its own, in a read transaction, while others write. Several processes may use one file.

A store belongs to the process that opened it: after a fork, open another one.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import apsw

from ostiary_core.decide import keys
from ostiary_core.events import Event
from ostiary_core.loading.snapshot import Fetch, load
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import Record, Table
from ostiary_net.runtime.system import SystemClock
from ostiary_net.sql.columns import has_utf8
from ostiary_net.sql.migrations import NO_DATABASE, Opening, SchemaError
from ostiary_net.sql.paging import Dialect, Execute
from ostiary_net.sql.store import SQLStore, decide_and_write
from ostiary_net.sql.transactions import LONG_AGO, Reading
from ostiary_net.sqlite.connections import ReaderPool, make_writer
from ostiary_net.sqlite.file import (
    DatabaseFile,
    create_file,
    measure_log,
    refuse_lone_file,
    refuse_lone_log,
    refuse_unwritable,
)
from ostiary_net.sqlite.record_sql import (
    OF_A_SESSION,
    OF_A_USER,
    PARTS,
    fetch,
    fetch_with_all,
    index_pending,
    insert_entries,
    write,
)
from ostiary_net.sqlite.schema import bring_up_to_date, examine, is_current, known_migrations
from ostiary_net.sqlite.writer import Writer

T = TypeVar("T")

_DIALECT: Final = Dialect(
    # A count over a view of two tables would read their rows; beneath a limit, their indexes do.
    count="SELECT count(*) FROM (SELECT 1 {} LIMIT -1)",
    # Not LIKE, to which % and _ are special and a NUL is the end; lower() knows ASCII only.
    contains="instr(lower({}), ?) > 0",
    sorted_afterwards="+{}",
    of_few_users="s.user_id IN ({})",
    index_hint=r"INDEXED BY \1",
    no_index_hint="NOT INDEXED",
    narrowed_audit={"session_id": OF_A_SESSION, "user_id": OF_A_USER},
    can_hold=has_utf8,
)


_ERRORS_OF_ONE_TURN: Final = (
    *(apsw.BusyError, apsw.LockedError),
    *(apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, apsw.BindingsError),
)


class _ReadTransaction(NamedTuple):
    """A read transaction."""

    fetch: Fetch
    execute: Execute
    now: Instant


class SQLiteTurn:
    """A turn that has the writer, from its begin until it is committed or released.

    To begin may wait for other writers, and to commit waits for the disk: both are for a thread. To decide
    waits for nothing, so the event loop may do it.
    """

    __slots__ = ("_connection", "_indexes_pending", "_policy", "_writer", "is_pending")

    def __init__(self, connection: apsw.Connection, writer: Writer, policy: Policy) -> None:
        self._connection = connection
        self._writer: Writer | None = writer
        self._policy = policy
        self._indexes_pending = False
        self.is_pending = False
        """Whether something is written that only a commit keeps."""

    def decide(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order at `now` and write what they change; after an error, release the turn."""
        if self._writer is None:
            raise RuntimeError("this turn was committed or released before")
        snapshot = load((keys(event) for event in events), partial(fetch_with_all, self._connection))
        return decide_and_write(events, origins, snapshot, now, self._policy, self._write)

    def _write(self, changes: Sequence[Change], entries: Sequence[AuditEntry]) -> None:
        write(self._connection, changes)
        self._indexes_pending = insert_entries(self._connection, entries)
        self.is_pending = True

    def commit(self) -> None:
        """Commit the turn to disk, in any thread; raising, keep nothing of it."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self.is_pending = False
            writer.commit(index_pending if self._indexes_pending else None)

    def release(self) -> None:
        """Let the next turn begin, and keep nothing that was not committed; a second call does nothing."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self.is_pending = False
            writer.release()


class SQLiteStore(SQLStore):
    """A store in a SQLite file; any thread may call it, and writing turns follow one another."""

    _entries_of_a_session = OF_A_SESSION
    _tables_of_entries = PARTS

    def __init__(
        self,
        path: Path | str,
        *,
        policy: Policy = SPECIFICATION,
        opening: Opening = Opening.MAKES,
    ) -> None:
        """Open the file, or make one that only its owner can read, as far as `opening` allows.

        Raises `SchemaError` for a file of a newer Ostiary or of another program, or if `opening` forbids
        a step; `PermissionError` for one that cannot be written.
        """
        super().__init__(policy, _DIALECT)
        # A process that names the file by another link must find the same lock beside it.
        self.path = Path(path).resolve()
        refuse_lone_log(self.path)
        if opening is Opening.MAKES:
            create_file(self.path)
        elif not self.path.exists():
            raise SchemaError(NO_DATABASE)
        refuse_lone_file(self.path)
        refuse_unwritable(self.path)
        file = DatabaseFile(self.path)
        self._writer = Writer(file)
        self._readers = ReaderPool(file)
        try:
            self._writer.open(partial(_prepare, opening=opening))
        except BaseException:
            self.close()
            raise

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order at `now` and keep what they change, durably; raising, keep nothing."""
        turn = self.begin_turn()
        try:
            decisions = turn.decide(events, now, origins)
            turn.commit()
        finally:
            turn.release()
        return decisions

    def begin_turn(self) -> SQLiteTurn:
        """Wait until no other turn has the file, and begin one; in any thread."""
        return SQLiteTurn(self._writer.begin(), self._writer, self.policy)

    def try_begin_turn(self) -> SQLiteTurn | None:
        """Begin a turn if no other has to be waited for; else return None and do nothing."""
        connection = self._writer.try_begin()
        return None if connection is None else SQLiteTurn(connection, self._writer, self.policy)

    @property
    def needs_checkpoint(self) -> bool:
        """Whether the write-ahead log is long enough for a `checkpoint`."""
        return self._writer.log.is_long

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file while turns go on. Raises `apsw.Error`."""
        self._writer.checkpoint()

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """Fetch the records of `table` under `identifiers`, as far as they exist."""
        with self._readers.snapshot() as connection:
            return fetch(connection, table, identifiers)

    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none, past all rules, to copy records. Raises `LostRace`."""
        with self._writer.transaction() as connection:
            write(connection, changes)
            connection.execute("COMMIT")

    def _find(self, find: Callable[[Reading], T], now: Instant = LONG_AGO, *, takes_long: bool = False) -> T:
        with self._readers.snapshot() as connection:
            return find(_ReadTransaction(partial(fetch_with_all, connection), _executor_on(connection), now))

    def _change(self, change: Callable[[Execute, Instant], T], now: Instant) -> T:
        with self._writer.transaction() as connection:
            result = change(_executor_on(connection), now)
            connection.execute("COMMIT")
        return result

    def present(self, now: Instant) -> Instant:
        """Return the time for turns, which is the caller's."""
        return now

    def _known_schema(self) -> int:
        return known_migrations()[-1].version

    def check_ready(self) -> None:
        """Raise unless a change would be kept now, on the schema of this release."""
        with self._writer.transaction() as connection:
            if not is_current(connection):
                raise SchemaError("the database does not have the schema of this release: `ostiary migrate`")
            # Only a write finds out that the disk is full or has become read-only.
            connection.pragma("user_version", 0)
            connection.execute("COMMIT")

    def is_broken_by(self, error: BaseException | None) -> bool:
        """Whether `error` is of the file or its disk, and the next change will meet it too.

        A check finds by itself that another program has the file, or that it was moved away.
        """
        return isinstance(error, apsw.Error) and not isinstance(error, _ERRORS_OF_ONE_TURN)

    def log_bytes(self) -> int:
        """Return the size of the write-ahead log in bytes; it shrinks once no reader needs it."""
        return measure_log(self.path)

    def close(self) -> None:
        """Close the file once the running turn ends; later calls raise `StoreClosed`."""
        # The writer goes last: the last connection to close moves the log into the file.
        self._readers.close()
        self._writer.close()


def _prepare(connection: apsw.Connection, opening: Opening) -> None:
    """Bring the file to this release, as far as `opening` allows."""
    examine(connection, opening)
    make_writer(connection)
    if opening is not Opening.KEEPS:
        bring_up_to_date(connection, SystemClock().now())


def _executor_on(connection: apsw.Connection) -> Execute:
    return lambda statement, bindings: connection.execute(statement, bindings).fetchall()
