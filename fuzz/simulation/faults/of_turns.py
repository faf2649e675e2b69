"""Mistakes in taking turns, and in the service around them: answers, the log, clock and entropy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.planting import TOKEN_LOGGED, Fault, read_faults
from fuzz.shared.seeds import SeededEntropy
from fuzz.simulation.faults.plants import Original, both
from ostiary_core.events import CodeRedeemed
from ostiary_core.model.instant import Instant


def answer_only_the_first(original: Original) -> Original:
    """Give the second of two equal requests in one turn the first one's answer."""

    def turn(store: Any, events: Sequence[Any], now: Instant, origins: Sequence[Any] = ()) -> Any:
        seen: dict[Any, Any] = {}
        decisions = original(store, events, now, origins)
        for place, event in enumerate(events):
            if isinstance(event, CodeRedeemed) and event.code is not None:
                decisions[place] = seen.setdefault(event.code.digest, decisions[place])
        return decisions

    return turn


FAULTS: Final = (
    *read_faults(Path(__file__).with_suffix(".txt")),
    Fault(
        "no-second-attempt",
        "a lost race is a failure",
        lambda: patch("ostiary_core.storage.store._MOST_ATTEMPTS", 1),
    ),
    Fault(
        "waits-for-ever",
        "callers wait for as long as a store stands still",
        lambda: patch("ostiary_net.turns.turn_queue.LONGEST_WAIT_SECONDS", 1_000.0),
    ),
    Fault("code-answered-twice", "equal redemptions share an answer", both("turn", answer_only_the_first)),
    TOKEN_LOGGED,
    Fault(
        "error-logged",
        "the log quotes the store's error",
        lambda: patch("ostiary_net.turns.service.list_frames", lambda error: [str(error)]),
    ),
    Fault(
        "entropy-again",
        "after a restart the same values are drawn again",
        lambda: patch(
            "fuzz.simulation.instance.SeededEntropy", lambda name: SeededEntropy(name.rpartition(" life ")[0])
        ),
    ),
)
