"""Mistakes in how turns are written and read, and in what is cleared away."""

from collections.abc import Sequence
from typing import Any, Final

from fuzz.faults import find_faults
from fuzz.faults.planting import Fault, instead, mistakes_in, together
from fuzz.simulation.faults.plants import Original, both
from ostiary_core.decide import keys, take_turn
from ostiary_core.loading.snapshot import load
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Table
from ostiary_core.storage.store import net_changes

_IS_ANOTHER: Final = "(stored and stored.revision) != (before and before.revision)"


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


FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.storage.store.MemoryStore.write",
        (
            *("last-writer-wins", "revisions are not compared: updates get lost", _IS_ANOTHER, "False"),
            *(
                "del self._tables[Table.ACCESS_TOKEN][before.access_digest]",
                "self._tables[Table.ACCESS_TOKEN].pop(before.access_digest, None)",
            ),
            *("del self._tables[key.table][key.id]", "self._tables[key.table].pop(key.id, None)"),
        ),
        (
            *("rows-uncounted", "nobody counts the rows that an UPDATE met", "for change in changes]"),
            f"""for change in changes]
        writes = [
            (key, before, after)
            for key, before, after in writes
            for stored in [self._tables[key.table].get(key.id)]
            if not {_IS_ANOTHER}
        ]""",
        ),
    ),
    Fault("answered-before-commit", "a turn is answered before it is written", both("turn", answered_first)),
    Fault("stale-reads", "reads are served from records once read", both("read", reads_remembered)),
    *mistakes_in(
        "ostiary_net.sqlite.turn.SQLiteTurn._write",
        (
            *("half-a-turn", "what a turn deletes is not deleted", "write(self._connection, changes)"),
            "write(self._connection, [each for each in changes if type(each).__name__ != 'Delete'])",
        ),
    ),
    Fault(
        "sweeper-hurries",
        "the sweeper erases a salt inside the grace",
        together(
            instead("ostiary_net.upkeep.sweeping.erase_salts", "store.policy.salt_seconds", "-1_000"),
            *(rule.plant for rule in find_faults("salt-erased-early")),
        ),
    ),
)
