"""Mistakes in taking turns, and in what the service around them does: answers, the log, clock and entropy."""

from collections.abc import Sequence
from typing import Any, Final

import structlog

from fuzz.faults.planting import Fault
from fuzz.simulation.determinism import SeededEntropy
from fuzz.simulation.faults.plants import Original, both, function, method, rule
from ostiary_core.decide import keys, take_turn
from ostiary_core.events import CodeRedeemed, RefreshRequested
from ostiary_core.http.answer import Answer
from ostiary_core.loading.snapshot import load
from ostiary_core.model.instant import Instant
from ostiary_net.runtime.system import SystemClock
from ostiary_net.turns import turns
from ostiary_net.turns.ports import ChooseEvents, CommitUnknown
from ostiary_net.turns.service import Service


def taken_twice(original: Original) -> Original:
    """A turn whose commit was not heard of is taken again."""

    def taken(*asked: Any) -> Any:
        try:
            return original(*asked)
        except (OSError, CommitUnknown):
            return original(*asked)

    return taken


def answered_anyway(original: Original) -> Original:
    """A turn that could not be written is answered as if it had been."""

    def taken(store: Any, clock: Any, choose_events: ChooseEvents) -> Any:
        try:
            return original(store, clock, choose_events)
        except (OSError, CommitUnknown):
            events, _ = choose_events()
            snapshot = load((keys(one) for one in events), store.fetch)
            return take_turn(events, snapshot, clock.now(), store.policy)

    return taken


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


def failure_as_refusal(original: Original) -> Original:
    """A failure of the store is told to a client as its own."""

    def fail(*_: Any) -> Any:
        body = b'{"error":"invalid_grant"}'
        fields = (
            (b"content-type", b"application/json; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
        )
        return Answer(400, fields, body)

    return fail


def failure_as_success(original: Original) -> Original:
    """A revocation is answered 200 whatever comes of it."""

    def fail(*_: Any) -> Any:
        return Answer(200, ((b"content-length", b"0"),), b"")

    return fail


def token_logged(original: Original) -> Original:
    def finish(service: Any, pending: Any, decision: Any) -> Any:
        event = pending.event
        if isinstance(event, RefreshRequested) and event.refresh_token is not None:
            structlog.get_logger("ostiary").info("refresh", token=event.refresh_token.reveal())
        return original(service, pending, decision)

    return finish


def slow_clock(original: Original) -> Original:
    """The time is read once a minute."""

    def now(clock: Any) -> Instant:
        present = original(clock)
        return Instant(present - present % 60_000)

    return now


def entropy_again(name: str) -> SeededEntropy:
    """Every start draws what the first one drew."""
    return SeededEntropy(name.rpartition(" life ")[0])


FAULTS: Final = (
    Fault(
        "taken-twice",
        "a turn whose commit was not heard of is taken again",
        method(turns, "_take_turn", taken_twice),
    ),
    Fault(
        "answered-anyway",
        "a turn that could not be written is answered as if it were",
        method(turns, "_take_turn", answered_anyway),
    ),
    Fault(
        "no-second-attempt",
        "a lost race is a failure",
        function("ostiary_core.storage.store._MOST_ATTEMPTS", 1),
    ),
    Fault(
        "waits-for-ever",
        "callers wait for as long as a store stands still",
        function("ostiary_net.turns.turn_queue.LONGEST_WAIT_SECONDS", 1_000.0),
    ),
    rule("judged-by-its-turn"),
    Fault("code-answered-twice", "equal redemptions share an answer", both("turn", only_the_first)),
    Fault(
        "failure-as-refusal",
        "a failing store is answered with invalid_grant",
        method(Service, "fail", failure_as_refusal),
    ),
    Fault(
        "failure-as-success",
        "a failing store is answered with 200",
        method(Service, "fail", failure_as_success),
    ),
    Fault("token-logged", "the log is told a refresh token", method(Service, "finish", token_logged)),
    Fault(
        "error-logged",
        "the log quotes the store's error",
        function("ostiary_net.turns.service.where_raised", lambda error: [str(error)]),
    ),
    Fault("clock-once-a-minute", "the time is read once a minute", method(SystemClock, "now", slow_clock)),
    Fault(
        "entropy-again",
        "after a restart the same values are drawn again",
        function("fuzz.simulation.instance.SeededEntropy", entropy_again),
    ),
)
