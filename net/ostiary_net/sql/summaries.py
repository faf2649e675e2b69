"""Read and write summaries, last refusals and milestones (`ostiary_net.observability.summaries`)."""

# ruff: noqa: S608 (what goes into a statement's text are names of columns and places for what is bound)

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import ClassVar, Final

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.unknown_word import read_word
from ostiary_core.model.why import Why
from ostiary_core.storage.store import LostRace, retry_lost_races
from ostiary_net.observability.summaries import (
    ALL_CLIENTS,
    REFUSALS_KEPT,
    Metric,
    Milestone,
    Refusal,
    StoreState,
    SummaryKey,
    Tallies,
    Tally,
    tally_entries,
)
from ostiary_net.sql.columns import ENTRIES, Row, SQLValue
from ostiary_net.sql.paging import Execute
from ostiary_net.sql.transactions import Reading, Transactions

_ROWS_A_STATEMENT: Final = 40
_COUNTED: Final = "counted"
"""Name of the milestone whose value is the number of the last counted entry."""

LAST_NUMBER: Final = "SELECT number FROM audit ORDER BY number DESC LIMIT 1"
"""Statement for the number of the last visible entry of the audit trail."""

_COLUMNS: Final = ("client_id", "hour", "what", "detail", "number", "total_ms", "most_ms")
_REFUSAL: Final = ("client_id", "at", "trace_id", "operation", "why")

_ADD: Final = (
    " ON CONFLICT (client_id, hour, what, detail) DO UPDATE SET number = summaries.number + excluded.number,"
    " total_ms = summaries.total_ms + excluded.total_ms,"
    " most_ms = CASE WHEN excluded.most_ms > summaries.most_ms THEN excluded.most_ms"
    " ELSE summaries.most_ms END"
)
_OF_ALL: Final = f"SELECT {', '.join(_COLUMNS)} FROM summaries WHERE client_id = ? AND hour >= ? AND hour < ?"
_OF_CLIENTS: Final = (
    "SELECT client_id, min(hour), what, detail, CAST(sum(number) AS BIGINT), CAST(sum(total_ms) AS BIGINT),"
    " max(most_ms) FROM summaries WHERE client_id <> ? AND hour >= ? AND hour < ?"
    " GROUP BY client_id, what, detail"
)


_FORGET: Final = (
    "DELETE FROM summaries WHERE (client_id, hour, what, detail) IN ("
    "SELECT client_id, hour, what, detail FROM summaries WHERE hour < ? ORDER BY hour LIMIT ?) RETURNING hour"
)
_REFUSALS: Final = (
    f"SELECT {', '.join(_REFUSAL)} FROM refusals WHERE client_id = ? ORDER BY at DESC, trace_id LIMIT ?"
)
_OLDEST_REFUSAL: Final = (
    "SELECT at FROM refusals WHERE client_id = ? ORDER BY at DESC, trace_id LIMIT 1 OFFSET ?"
)
_UNCOUNTED: Final = (
    f"SELECT {', '.join(ENTRIES.columns)} FROM audit WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"
)
_LAST_SETTLED: Final = "SELECT number FROM audit WHERE at <= ? ORDER BY at DESC, number DESC LIMIT 1"
_COUNT_ON: Final = (
    "INSERT INTO milestones (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
    " SET value = excluded.value WHERE milestones.value = ? RETURNING name"
)


class SummaryTables(Transactions):
    """The tables of one database that hold its summaries."""

    _entry_lag_ms: ClassVar[int] = 0
    """Age of an entry after which none with a lower number can appear."""

    @abstractmethod
    def _known_schema(self) -> int:
        """Return the schema version of this release."""

    def count_entries(self, now: Instant, limit: int) -> int:
        """Count up to `limit` entries that are not counted yet, beside all turns; return how many."""

        def read(reading: Reading) -> tuple[int, list[AuditEntry]]:
            counted = _read_counted_number(reading.execute)
            # Not each by its own time, as one that a clock ahead has stamped would hold up all behind it.
            before = reading.now - self._entry_lag_ms
            settled = reading.execute(
                *((_LAST_SETTLED, (before,)) if self._entry_lag_ms else (LAST_NUMBER, ()))
            )
            rows = reading.execute(_UNCOUNTED, (counted, settled[0][0], limit)) if settled else ()
            return counted, list(map(ENTRIES.from_row, rows))

        def add(execute: Execute, _: Instant) -> bool:
            # False if another instance has counted on from there.
            moved = execute(_COUNT_ON, (_COUNTED, entries[-1].number, counted))
            if moved:
                _add_tallies(execute, tally_entries(entries))
            return bool(moved)

        counted, entries = self._find(read, now)
        try:
            is_first = bool(entries) and self._change(add, now)
        except LostRace:
            return 0
        return len(entries) if is_first else 0

    def add_tallies(self, tallies: Tallies, refusals: Sequence[Refusal], now: Instant) -> None:
        """Add to the summaries, and to the last refusals of each client; erase earlier ones."""

        def add(execute: Execute, _: Instant) -> None:
            _add_tallies(execute, tallies)
            _insert(execute, "refusals", _REFUSAL, sorted(refusals), " ON CONFLICT DO NOTHING")
            for client_id in sorted({refusal.client_id for refusal in refusals}):
                for (at,) in execute(_OLDEST_REFUSAL, (client_id, REFUSALS_KEPT - 1)):
                    execute(
                        "DELETE FROM refusals WHERE client_id = ? AND at < ? RETURNING at", (client_id, at)
                    )

        retry_lost_races(lambda: self._change(add, now))

    def summaries(self, start: Instant, end: Instant, *, of_clients: bool) -> dict[SummaryKey, Tally]:
        """Read the summaries of these hours: hour by hour over all clients, or one for each client."""
        statement = _OF_CLIENTS if of_clients else _OF_ALL
        rows = self._find(lambda reading: reading.execute(statement, (ALL_CLIENTS, start, end)))
        # What only a later release counts, this one has no place for; it adds to its own alone.
        known = {metric.value: metric for metric in Metric}
        return {
            SummaryKey(client_id, Instant(hour), known[what], detail): Tally(*numbers)
            for client_id, hour, what, detail, *numbers in rows
            if what in known
        }

    def last_refusals(self, client_id: str) -> list[Refusal]:
        """Read the last refusals of a client, the latest first."""
        rows = self._find(lambda reading: reading.execute(_REFUSALS, (client_id, REFUSALS_KEPT)))
        return [
            Refusal(whose, Instant(at), trace_id, asked, read_word(Why, why))
            for whose, at, trace_id, asked, why in rows
        ]

    def forget_summaries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase the oldest summaries, and the refusals of that time; return how many."""

        def forget(execute: Execute, at: Instant) -> int:
            before = at - older_than_seconds * SECOND_MS
            gone = execute(_FORGET, (before, limit))
            return len(gone) + len(execute("DELETE FROM refusals WHERE at < ? RETURNING at", (before,)))

        return self._change(forget, now)

    def record_milestone(self, milestone: Milestone, now: Instant) -> None:
        """Record that something was done now."""
        retry_lost_races(
            lambda: self._change(lambda execute, at: record_milestone(execute, milestone, at), now)
        )

    def state(self) -> StoreState:
        """Read the state of the store."""

        def read(reading: Reading) -> StoreState:
            rows = reading.execute("SELECT name, value FROM milestones", ())
            names = {milestone.value for milestone in Milestone}
            reached = {Milestone(name): Instant(value) for name, value in rows if name in names}
            [[schema]] = reading.execute("SELECT max(version) FROM schema_migrations", ())
            last = reading.execute(LAST_NUMBER, ())
            uncounted = int(last[0][0]) - _read_counted_number(reading.execute) if last else 0
            return StoreState(int(schema), self._known_schema(), reached, max(0, uncounted))

        return self._find(read)


def record_milestone(execute: Execute, milestone: Milestone, at: Instant) -> None:
    """Record that something was done at `at`."""
    execute(
        "INSERT INTO milestones (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING name",
        (milestone.value, at),
    )


def _read_counted_number(execute: Execute) -> int:
    counted = execute("SELECT value FROM milestones WHERE name = ?", (_COUNTED,))
    return int(counted[0][0]) if counted else 0


def _add_tallies(execute: Execute, tallies: Tallies) -> None:
    """Add to the summaries, in one order, so that two instances wait for each other and do not deadlock."""
    rows = ((*key, *tally) for key, tally in sorted(tallies.items()))
    _insert(execute, "summaries", _COLUMNS, rows, _ADD)


def _insert(execute: Execute, table: str, columns: Sequence[str], rows: Iterable[Row], clash: str) -> None:
    place = f"({', '.join('?' * len(columns))})"
    for batch in _batches(rows):
        bindings: list[SQLValue] = list(chain.from_iterable(batch))
        execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([place] * len(batch))}{clash}"
            f" RETURNING {columns[0]}",
            bindings,
        )


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    following = iter(rows)
    while batch := list(islice(following, _ROWS_A_STATEMENT)):
        yield batch
