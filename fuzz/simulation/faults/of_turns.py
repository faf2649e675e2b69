"""Mistakes in taking turns, and in what the service around them does: answers, the log, clock and entropy."""

from collections.abc import Sequence
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.planting import TOKEN_LOGGED, Fault, mistakes_in
from fuzz.shared.seeds import SeededEntropy
from fuzz.simulation.faults.plants import Original, both
from ostiary_core.events import CodeRedeemed
from ostiary_core.model.instant import Instant

_TAKEN: Final = "return retry_lost_races(partial(_take_once, store, clock, choose_events))"


def only_the_first(original: Original) -> Original:
    """Of two equal requests in one turn the second is given the first one's answer."""

    def turn(store: Any, events: Sequence[Any], now: Instant, origins: Sequence[Any] = ()) -> Any:
        seen: dict[Any, Any] = {}
        decisions = original(store, events, now, origins)
        for place, event in enumerate(events):
            if isinstance(event, CodeRedeemed) and event.code is not None:
                decisions[place] = seen.setdefault(event.code.digest, decisions[place])
        return decisions

    return turn


FAULTS: Final = (
    *mistakes_in(
        "ostiary_net.turns.turns._take_turn",
        (
            *("taken-twice", "a turn whose commit was not heard of is taken again", _TAKEN),
            f"""try:
        {_TAKEN}
    except Exception:
        {_TAKEN}""",
        ),
        (
            *("answered-anyway", "a turn that could not be written is answered as if it were", _TAKEN),
            f"""try:
        {_TAKEN}
    except Exception:
        from ostiary_core.decide import keys, take_turn
        from ostiary_core.loading.snapshot import load
        events = choose_events()[0]
        return take_turn(events, load(map(keys, events), store.fetch), clock.now(), store.policy)""",
        ),
    ),
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
    Fault("code-answered-twice", "equal redemptions share an answer", both("turn", only_the_first)),
    *mistakes_in(
        "ostiary_net.turns.service.Service._finish",
        (
            *("failure-as-refusal", "a failing store is answered with invalid_grant", "pending.failure()"),
            """Answer(400, (
            (b"content-type", b"application/json; charset=utf-8"), (b"content-length", b"25")
        ), b'{"error":"invalid_grant"}')""",
        ),
        (
            *("failure-as-success", "a failing store is answered with 200", "pending.failure()"),
            "Answer(200, ((b'content-length', b'0'),), b'')",
        ),
    ),
    TOKEN_LOGGED,
    Fault(
        "error-logged",
        "the log quotes the store's error",
        lambda: patch("ostiary_net.turns.service.list_frames", lambda error: [str(error)]),
    ),
    *mistakes_in(
        "ostiary_net.runtime.system.SystemClock.now",
        (
            *("clock-once-a-minute", "the time is read once a minute", "// _NANOSECONDS_A_MILLISECOND"),
            "// _NANOSECONDS_A_MILLISECOND // 60_000 * 60_000",
        ),
    ),
    Fault(
        "entropy-again",
        "after a restart the same values are drawn again",
        lambda: patch(
            "fuzz.simulation.instance.SeededEntropy",
            lambda name: SeededEntropy(name.rpartition(" life ")[0]),
        ),
    ),
)
