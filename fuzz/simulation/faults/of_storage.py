"""Mistakes in writing and reading turns, and in deleting expired records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzz.faults import find_faults
from fuzz.faults.planting import Fault, combine_plants, read_faults, replace_texts
from fuzz.simulation.faults.plants import Original, both
from ostiary_core.decide import keys, take_turn
from ostiary_core.loading.snapshot import load
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Table
from ostiary_core.storage.store import net_changes


def answer_first(original: Original) -> Original:
    """Delay the writes of a turn until the next turn."""

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


def remember_reads(original: Original) -> Original:
    """Answer a turn that only reads from records remembered from an earlier read."""

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
    *read_faults(Path(__file__).with_suffix(".txt")),
    Fault("answered-before-commit", "a turn is answered before it is written", both("turn", answer_first)),
    Fault("stale-reads", "reads are served from records once read", both("read", remember_reads)),
    Fault(
        "sweeper-hurries",
        "the sweeper erases a salt inside the grace",
        combine_plants(
            replace_texts("ostiary_net.upkeep.sweeping.erase_salts", "store.policy.salt_seconds", "-1_000"),
            *(rule.plant for rule in find_faults("salt-erased-early")),
        ),
    ),
)
