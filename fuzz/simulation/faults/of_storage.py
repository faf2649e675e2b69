"""Mistakes in how turns are written and read, and in what is cleared away."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from fuzz.faults.planting import Fault
from fuzz.simulation.faults.plants import Original, both, method, named, placed
from fuzz.simulation.storage import SharedMemory
from ostiary_core.decide import keys, take_turn
from ostiary_core.loading.snapshot import load
from ostiary_core.model.decision import Delete, Insert, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Table
from ostiary_core.storage.store import MemoryStore, net_changes
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite import turn as sqlite_turn


def unguarded(store: Any, changes: Sequence[Any]) -> None:
    """The last writer wins."""
    for change in changes:
        match change:
            case Insert(after) | Update(_, after):
                store._tables[after.table][after.key.id] = after
            case Delete(before):
                store._tables[before.table].pop(before.key.id, None)


def rows_uncounted(original: Original) -> Original:
    """`UPDATE ... WHERE revision = ?`, and nobody looks how many rows it met."""

    def write(store: Any, changes: Sequence[Any]) -> None:
        def meets(change: Any) -> bool:
            before = change.before if isinstance(change, Update | Delete) else None
            key = change.record.key if isinstance(change, Insert) else change.before.key
            standing = store._tables[key.table].get(key.id)
            return bool((standing and standing.revision) == (before and before.revision))

        original(store, [change for change in changes if meets(change)])

    return write


def answered_first(original: Original) -> Original:
    """What a turn writes is written when the next one comes."""

    def turn(store: Any, events: Sequence[Any], now: Instant, origins: Sequence[Any] = ()) -> Any:
        waiting = store.__dict__.setdefault("waiting_changes", [])
        if waiting:
            changes = list(waiting)
            waiting.clear()
            store.write(changes)
        decisions = take_turn(events, load((keys(one) for one in events), store.fetch), now, store.policy)
        waiting += net_changes(decisions)
        return decisions

    return turn


def reads_remembered(original: Original) -> Original:
    """What only reads is served from records that were once read."""

    def read(store: Any, events: Sequence[Any], now: Instant) -> Any:
        kept = store.__dict__.setdefault("remembered", {})

        def fetch(table: Table, identifiers: Any) -> Any:
            for identifier in identifiers:
                if (table, identifier) not in kept:
                    found = list(store.fetch(table, [identifier]))
                    if not found:
                        continue
                    kept[table, identifier] = found[0]
            return [kept[table, one] for one in identifiers if (table, one) in kept]

        return take_turn(events, load((keys(one) for one in events), fetch), now, store.policy)

    return read


def deletes_skipped(original: Original) -> Original:
    """Of a turn, only what is new and changed is written."""

    def write(connection: Any, changes: Sequence[Any]) -> None:
        original(connection, [change for change in changes if not isinstance(change, Delete)])

    return write


def swept_at_once(original: Original) -> Original:
    return lambda store, now, grace_seconds, limit: original(store, Instant(now + 1_000_000), 0, limit)


@contextmanager
def sweeper_hurries() -> Iterator[None]:
    """The sweeper takes the salt while a retry may still ask for it."""
    with ExitStack() as stack:
        for store in (SQLiteStore, SharedMemory):
            stack.enter_context(method(store, "sessions_past_grace", swept_at_once)())
        stack.enter_context(named("erases-salt", "salt"))
        yield


FAULTS: Final = (
    Fault(
        "last-writer-wins",
        "revisions are not compared: updates get lost",
        lambda: placed(MemoryStore, "write", unguarded),
    ),
    Fault(
        "rows-uncounted",
        "nobody counts the rows that an UPDATE met",
        method(MemoryStore, "write", rows_uncounted),
    ),
    Fault("answered-before-commit", "a turn is answered before it is written", both("turn", answered_first)),
    Fault("stale-reads", "reads are served from records once read", both("read", reads_remembered)),
    Fault(
        "half-a-turn",
        "what a turn deletes is not deleted",
        method(sqlite_turn, "write", deletes_skipped),
    ),
    Fault("sweeper-hurries", "the sweeper erases a salt inside the grace", sweeper_hurries),
)
