"""Known mistakes of servers, planted from outside one at a time to see whether the simulation catches them.

Those in the rules themselves are planted by the sequences (`fuzz.faults`); a few of them are here again, to
show that they are caught through HTTP as well. All others are in what stands around the rules: storage,
turns, the front door, the lane, the log.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import structlog

from fuzz.faults import FAULTS as IN_THE_RULES
from fuzz.faults.planting import Fault
from fuzz.simulation.determinism import SeededEntropy
from fuzz.simulation.storage import SharedMemory
from ostiary_core.decide import take_turn
from ostiary_core.decision import Delete, Insert, Update
from ostiary_core.events import CodeRedeemed, RefreshRequested
from ostiary_core.http.answer import Answer
from ostiary_core.instant import Instant
from ostiary_core.keys import keys
from ostiary_core.records import Table
from ostiary_core.snapshot import load
from ostiary_core.store import MemoryStore, net_changes
from ostiary_net import turns
from ostiary_net.clock import SystemClock
from ostiary_net.front_door.connections import Connections
from ostiary_net.front_door.source import source_of
from ostiary_net.lane import plain
from ostiary_net.lane.connection import LaneConnection
from ostiary_net.lane.writing import AnswerWriter
from ostiary_net.service import Service
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite import store as sqlite_store

__all__ = ["FAULTS"]

Original = Callable[..., Any]


def placed(owner: Any, name: str, substitute: Any) -> Any:
    """A context in which something of a class or module is something else."""
    place: Any = patch.object
    return place(owner, name, substitute)


def method(owner: Any, name: str, wrap: Callable[[Original], Original]) -> Callable[[], Any]:
    """A plant that puts `wrap(original)` in the place of a method, or of a module's function."""
    return lambda: placed(owner, name, wrap(vars(owner)[name]))


def function(where: str, substitute: Any) -> Callable[[], Any]:
    """A plant that puts `substitute` where one module looks a function up."""
    place: Any = patch
    return lambda: place(where, substitute)


def together(*plants: Callable[[], Any]) -> Callable[[], AbstractContextManager[None]]:
    """Several plants at once."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return planted


# --- storage


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


# --- turns


def taken_twice(original: Original) -> Original:
    """A turn whose commit was not heard of is taken again."""

    def taken(*asked: Any) -> Any:
        try:
            return original(*asked)
        except OSError:
            return original(*asked)

    return taken


def answered_anyway(original: Original) -> Original:
    """A turn that could not be written is answered as if it had been."""

    def taken(store: Any, clock: Any, events: Sequence[Any], origins: Any) -> Any:
        try:
            return original(store, clock, events, origins)
        except OSError:
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


# --- the service


def failure_as_refusal(original: Original) -> Original:
    """A failure of the store is told to a client as its own."""

    async def answer(service: Any, *asked: Any) -> Any:
        given = await original(service, *asked)
        if given.status != 500:
            return given
        body = b'{"error":"invalid_grant"}'
        fields = (
            (b"content-type", b"application/json; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
        )
        return Answer(400, fields, body)

    return answer


def failure_as_success(original: Original) -> Original:
    """A revocation is answered 200 whatever comes of it."""

    async def answer(service: Any, *asked: Any) -> Any:
        given = await original(service, *asked)
        return Answer(200, ((b"content-length", b"0"),), b"") if given.status == 500 else given

    return answer


def token_logged(original: Original) -> Original:
    async def decide(service: Any, event: Any, origin: Any) -> Any:
        if isinstance(event, RefreshRequested) and event.refresh_token is not None:
            structlog.get_logger("ostiary").info("refresh", token=event.refresh_token.reveal())
        return await original(service, event, origin)

    return decide


def origin_of_last_request(original: Original) -> Original:
    """The User-Agent is kept between requests."""
    kept: list[Any] = []

    def origin(service: Any, headers: Any, source: str) -> Any:
        kept.append(original(service, headers, source))
        return kept[-1]

    return origin


def slow_clock(original: Original) -> Original:
    """The time is read once a minute."""

    def now(clock: Any) -> Instant:
        present = original(clock)
        return Instant(present - present % 60_000)

    return now


# --- the front door and the lane


def from_the_left(peer: str | None, forwarded_for: Sequence[bytes], trusted: Any) -> str:
    """What stands leftmost is whatever a caller likes."""
    if forwarded_for and source_of(peer, forwarded_for, trusted) != source_of(peer, [], trusted):
        return forwarded_for[0].split(b",")[0].strip().decode()
    return source_of(peer, forwarded_for, trusted)


def from_anybody(peer: str | None, forwarded_for: Sequence[bytes], trusted: Any) -> str:
    """The header is believed whoever sends it."""
    return forwarded_for[-1].split(b",")[-1].strip().decode() if forwarded_for else str(peer)


def ever_open(original: Original) -> Original:
    return lambda connections, connection: None


def backwards(original: Original) -> Original:
    """Answers to pipelined requests in the wrong order."""

    async def send(connection: Any, held: list[bytes]) -> None:
        held.reverse()
        await original(connection, held)

    return send


def half_read(data: bytes, start: int = 0) -> Any:
    """A request whose body has not come yet is answered by what has."""
    found = plain.read_plain(data, start)
    head_end = data.find(b"\r\n\r\n", start) + 4
    if not isinstance(found, plain.Torn) or head_end < 4:
        return found
    cut = data[start:head_end] + data[head_end:].ljust(found.end - head_end)
    whole = plain.read_plain(cut)
    if not isinstance(whole, plain.PlainRequest):
        return found
    return plain.PlainRequest(whole.operation, whole.path, whole.fields, whole.body.rstrip(), len(data))


def too_short(original: Original) -> Original:
    """The last byte of an answer is never sent."""
    return lambda writer, answer: original(writer, answer)[:-1]


def answers_mixed(original: Original) -> Original:
    """A writer that is shared keeps the body of the answer before."""
    kept: list[Answer] = []

    def written(writer: Any, answer: Answer) -> bytes:
        kept.append(answer)
        late = kept[-2] if len(kept) % 7 == 0 else answer
        data: bytes = original(writer, late)
        return data

    return written


# --- around it


def entropy_again(name: str) -> SeededEntropy:
    """Every start draws what the first one drew."""
    return SeededEntropy(name.rpartition(" life ")[0])


def swept_at_once(original: Original) -> Original:
    return lambda store, now, grace_seconds, limit: original(store, Instant(now + 1_000_000), 0, limit)


@contextmanager
def sweeper_hurries() -> Iterator[None]:
    """The sweeper takes the salt while a retry may still ask for it."""
    with ExitStack() as stack:
        for store in (SQLiteStore, SharedMemory):
            stack.enter_context(method(store, "sessions_past_grace", swept_at_once)())
        stack.enter_context(_named("erases-salt", "salt"))
        yield


@contextmanager
def _named(*words: str) -> Iterator[None]:
    """A mistake of the rules, found by a word of its name."""
    fault = next(one for word in words for one in IN_THE_RULES if word in one.name)
    with fault.plant():
        yield


def rule(name: str) -> Fault:
    """A mistake in the rules, to be caught through HTTP."""
    return next(fault for fault in IN_THE_RULES if fault.name == name)


def both(name: str, wrap: Callable[[Original], Original]) -> Callable[[], AbstractContextManager[None]]:
    """The same mistake in both stores."""
    return together(method(SQLiteStore, name, wrap), method(SharedMemory, name, wrap))


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
        "what a rotation deletes is not deleted",
        method(sqlite_store, "write", deletes_skipped),
    ),
    Fault(
        "taken-twice",
        "a turn whose commit was not heard of is taken again",
        method(turns, "_taken", taken_twice),
    ),
    Fault(
        "answered-anyway",
        "a turn that could not be written is answered as if it were",
        method(turns, "_taken", answered_anyway),
    ),
    Fault("no-second-attempt", "a lost race is a failure", function("ostiary_net.turns._MOST_ATTEMPTS", 1)),
    Fault("code-answered-twice", "equal redemptions share an answer", both("turn", only_the_first)),
    Fault(
        "failure-as-refusal",
        "a failing store is answered with invalid_grant",
        method(Service, "answer_token_service", failure_as_refusal),
    ),
    Fault(
        "failure-as-success",
        "a failing store is answered with 200",
        method(Service, "answer_token_service", failure_as_success),
    ),
    Fault("token-logged", "the log is told a refresh token", method(Service, "decide", token_logged)),
    Fault(
        "error-logged",
        "the log quotes the store's error",
        function("ostiary_net.service.where_raised", lambda error: [str(error)]),
    ),
    Fault("clock-once-a-minute", "the time is read once a minute", method(SystemClock, "now", slow_clock)),
    Fault(
        "left-end-trusted",
        "the left end of X-Forwarded-For is believed",
        function("ostiary_net.front_door.heads.source_of", from_the_left),
    ),
    Fault(
        "anybody-forwards",
        "X-Forwarded-For is believed from anybody",
        function("ostiary_net.front_door.heads.source_of", from_anybody),
    ),
    Fault("connections-leak", "closed connections stay counted", method(Connections, "leave", ever_open)),
    Fault(
        "pipeline-backwards",
        "pipelined answers come in the wrong order",
        method(LaneConnection, "_send", backwards),
    ),
    Fault(
        "torn-is-whole",
        "a torn request is taken as far as it came",
        function("ostiary_net.lane.connection.read_plain", half_read),
    ),
    Fault("last-byte-kept", "an answer's last byte is not sent", method(AnswerWriter, "written", too_short)),
    Fault(
        "answers-mixed",
        "a caller is given another one's answer",
        method(AnswerWriter, "written", answers_mixed),
    ),
    Fault(
        "entropy-again",
        "after a restart the same values are drawn again",
        function("fuzz.simulation.instance.SeededEntropy", entropy_again),
    ),
    Fault("sweeper-hurries", "the sweeper erases a salt inside the grace", sweeper_hurries),
    *(rule(name) for name in ("retry-mints", "grace-slides", "owner-unchecked", "secret-unchecked")),
)
