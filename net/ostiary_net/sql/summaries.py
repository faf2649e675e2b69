"""Read and write summaries, last refusals and milestones (`ostiary_net.observability.summaries`)."""

# ruff: noqa: S608 (what goes into a statement's text are names of columns and places for what is bound)

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why
from ostiary_net.observability.summaries import (
    ALL_CLIENTS,
    REFUSALS_KEPT,
    Metric,
    Milestone,
    Refusal,
    SummaryKey,
    Tallies,
    Tally,
)
from ostiary_net.sql.columns import ENTRIES, Row, SQLValue
from ostiary_net.sql.paging import Execute

_ROWS_A_STATEMENT: Final = 40
_COUNTED: Final = "counted"
"""Name of the milestone whose value is the number of the last counted entry."""

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


def read_uncounted(execute: Execute, limit: int) -> tuple[int, list[AuditEntry]]:
    """Return the number up to which entries are counted, and the first entries behind it."""
    counted = _read_counted_number(execute)
    rows = execute(
        f"SELECT {', '.join(ENTRIES.columns)} FROM audit WHERE number > ? ORDER BY number LIMIT ?",
        (counted, limit),
    )
    return counted, [ENTRIES.from_row(row) for row in rows]


def add_counted(execute: Execute, before: int, after: int, tallies: Tallies) -> bool:
    """Add the tallies of entries up to `after`; False if another instance has counted on from `before`."""
    moved = execute(
        "INSERT INTO milestones (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE"
        " SET value = excluded.value WHERE milestones.value = ? RETURNING name",
        (_COUNTED, after, before),
    )
    if moved:
        add(execute, tallies)
    return bool(moved)


def add(execute: Execute, tallies: Tallies) -> None:
    """Add to the summaries, in one order, so that two instances wait for each other and do not deadlock."""
    rows = ((*key, *tally) for key, tally in sorted(tallies.items()))
    _insert(execute, "summaries", _COLUMNS, rows, _ADD)


def add_refusals(execute: Execute, refusals: Sequence[Refusal]) -> None:
    """Add refusals, and erase all but the last of each client."""
    _insert(execute, "refusals", _REFUSAL, sorted(refusals), " ON CONFLICT DO NOTHING")
    for client_id in sorted({refusal.client_id for refusal in refusals}):
        oldest = execute(
            "SELECT at FROM refusals WHERE client_id = ? ORDER BY at DESC, trace_id LIMIT 1 OFFSET ?",
            (client_id, REFUSALS_KEPT - 1),
        )
        for (at,) in oldest:
            execute("DELETE FROM refusals WHERE client_id = ? AND at < ? RETURNING at", (client_id, at))


def read_between(
    execute: Execute, start: Instant, end: Instant, *, of_clients: bool
) -> dict[SummaryKey, Tally]:
    """Return the summaries of these hours: hour by hour over all clients, or one for each client."""
    rows = execute(_OF_CLIENTS if of_clients else _OF_ALL, (ALL_CLIENTS, start, end))
    return {
        SummaryKey(client_id, Instant(hour), Metric(what), detail): Tally(*numbers)
        for client_id, hour, what, detail, *numbers in rows
    }


def read_refusals(execute: Execute, client_id: str) -> list[Refusal]:
    """Return the last refusals of a client, the latest first."""
    rows = execute(
        f"SELECT {', '.join(_REFUSAL)} FROM refusals WHERE client_id = ? ORDER BY at DESC, trace_id LIMIT ?",
        (client_id, REFUSALS_KEPT),
    )
    return [
        Refusal(whose, Instant(at), trace_id, asked, Why(why)) for whose, at, trace_id, asked, why in rows
    ]


def forget(execute: Execute, before: Instant, limit: int) -> int:
    """Erase the oldest summaries, and the refusals of that time."""
    keys = "SELECT client_id, hour, what, detail FROM summaries WHERE hour < ? ORDER BY hour LIMIT ?"
    gone = execute(
        f"DELETE FROM summaries WHERE (client_id, hour, what, detail) IN ({keys}) RETURNING hour",
        (before, limit),
    )
    return len(gone) + len(execute("DELETE FROM refusals WHERE at < ? RETURNING at", (before,)))


def record_milestone(execute: Execute, milestone: Milestone, at: Instant) -> None:
    """Record that something was done at `at`."""
    execute(
        "INSERT INTO milestones (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING name",
        (milestone.value, at),
    )


def read_milestones(execute: Execute) -> dict[Milestone, Instant]:
    """Return when each milestone was last reached."""
    names = {milestone.value for milestone in Milestone}
    rows = execute("SELECT name, value FROM milestones", ())
    return {Milestone(name): Instant(value) for name, value in rows if name in names}


def count_uncounted(execute: Execute) -> int:
    """Return about how many entries are not counted yet."""
    last = execute("SELECT number FROM audit ORDER BY number DESC LIMIT 1", ())
    return max(0, int(last[0][0]) - _read_counted_number(execute)) if last else 0


def _read_counted_number(execute: Execute) -> int:
    counted = execute("SELECT value FROM milestones WHERE name = ?", (_COUNTED,))
    return int(counted[0][0]) if counted else 0


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
