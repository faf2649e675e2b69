"""The queue in front of a store: callers that share a turn, callers that leave, and failures."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from fuzz.shared.seeds import SeededEntropy
from ostiary_core import Decision, Instant, LostRace, events as e
from ostiary_core.model.audit import Origin
from ostiary_core.model.reply import PasswordOnFile, UserKnown
from ostiary_net.observability.log import RequestLog
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.system import run_inline
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.store import SQLiteTurn
from ostiary_net.turns.ports import ChooseEvents, CommitUnconfirmed
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import LONGEST_WAIT_SECONDS, MOST_EVENTS_A_TURN, QueuedEvent, TurnFailed
from ostiary_net.turns.turn_taking import NothingKept
from ostiary_net.turns.turns import Turns, open_turns
from tests.net.test_unanswered import UnheardStore
from tests.support import asks
from tests.support.stores import (
    BreakingStore,
    Gate,
    HandClock,
    PlainStore,
    origin,
    registration_of,
    usernames,
    world_on,
)
from tests.support.story import START

T = TypeVar("T")


class Asked:
    """A caller who waits for the decision on one event."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.scope = trio.CancelScope()
        self.decision: Decision | None = None
        self.failure: TurnFailed | None = None

    async def ask(self, turns: Turns) -> None:
        with self.scope:
            try:
                self.decision = await turns.decide(registration_of(self.name), origin(self.name))
            except TurnFailed as failure:
                self.failure = failure


async def waiting(nursery: trio.Nursery, turns: Turns, *names: str) -> list[Asked]:
    """Start callers that join the queue in this order."""
    asked = []
    for name in names:
        asked.append(Asked(name))
        nursery.start_soon(asked[-1].ask, turns)
        await wait_all_tasks_blocked()
    return asked


def names(events: Sequence[e.Event]) -> list[str]:
    return [str(event.fields["username"]) for event in events if isinstance(event, e.UserRegistered)]


# --- who shares a turn


async def test_events_that_wait_while_a_turn_is_committed_make_up_the_next() -> None:
    store, gate = PlainStore(), Gate()
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        first = await waiting(nursery, turns, "anna")
        others = await waiting(nursery, turns, "ben", "cleo", "dora")
        assert (store.turns, turns.count_waiting()) == ([], {"write": 3, "read": 0})
        gate.open()

    assert [names(turn) for turn in store.turns] == [["anna"], ["ben", "cleo", "dora"]]
    for asked in first + others:
        assert asked.decision is not None
        assert isinstance(asked.decision.reply, UserKnown)
        assert asked.decision.reply.user.username == asked.name


async def test_callers_of_the_same_moment_share_one_commit_on_disk(tmp_path: Path) -> None:
    everybody, metrics = [Asked(f"user-{number}") for number in range(50)], Metrics()
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        async with open_turns(store, HandClock(), metrics=metrics) as turns, trio.open_nursery() as nursery:
            for asked in everybody:
                nursery.start_soon(asked.ask, turns)
    assert 'ostiary_turn_events_count{queue="write"} 1' in metrics.write_exposition()

    with SQLiteStore(tmp_path / "ostiary.db") as reopened:
        assert usernames(reopened) == {asked.name for asked in everybody}


async def test_a_turn_takes_no_more_events_than_its_bound() -> None:
    store, gate = PlainStore(), Gate()
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        await waiting(nursery, turns, "first")
        for number in range(MOST_EVENTS_A_TURN + 3):
            nursery.start_soon(Asked(f"user-{number}").ask, turns)
        await wait_all_tasks_blocked()
        gate.open()

    assert [len(turn) for turn in store.turns] == [1, MOST_EVENTS_A_TURN, 3]


# --- callers that leave


async def test_a_caller_who_leaves_before_the_turn_is_left_out() -> None:
    store, gate = PlainStore(), Gate()
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        await waiting(nursery, turns, "anna")
        leaver, stayer = await waiting(nursery, turns, "leaver", "stayer")
        leaver.scope.cancel()
        await wait_all_tasks_blocked()
        assert leaver.scope.cancelled_caught
        gate.open()

    assert [names(turn) for turn in store.turns] == [["anna"], ["stayer"]]
    assert usernames(store) == {"anna", "stayer"}
    assert stayer.decision is not None


async def test_a_turn_that_all_callers_left_before_it_began_runs_nothing() -> None:
    gate, metrics = Gate(), Metrics()
    async with open_turns(PlainStore(), HandClock(), gate, metrics) as turns:
        leaver = QueuedEvent(registration_of("leaver"), None, lambda _: None)
        turns.submit(leaver)
        leaver.leave()
        await wait_all_tasks_blocked()
        gate.open()
    assert gate.most_running == 0
    assert 'ostiary_turn_events_count{queue="write"} 0' in metrics.write_exposition()


async def test_an_event_without_a_caller_is_not_tried_again_after_a_lost_race() -> None:
    store = Racing(races_lost=1_000)
    async with open_turns(store, HandClock(), run_inline) as turns:
        leaver = QueuedEvent(registration_of("leaver"), None, lambda _: None)
        store.when_lost = leaver.leave
        turns.submit(leaver)
    assert len(store.attempts) == 1


async def test_the_failure_of_a_turn_without_callers_fails_no_event_that_comes_meanwhile() -> None:
    class Unheard(PlainStore):
        """The first turn has lost its callers; an event comes while it commits, and its answer is lost."""

        has_failed = False

        def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
            if not self.has_failed:
                self.has_failed = True
                leaver.leave()
                assert choose_events() == ([], [])
                turns.submit(QueuedEvent(registration_of("comer"), None, answers.append))
                assert choose_events() == ([], [])
                raise CommitUnconfirmed("no answer")
            return self.turn(*choose_events(), now)

        def turn(self, events: Sequence[e.Event], *more: Any) -> list[Decision]:
            return super().turn(events, START)

    store, answers = Unheard(), list[Decision | TurnFailed]()
    async with open_turns(store, HandClock(), run_inline) as turns:
        leaver = QueuedEvent(registration_of("leaver"), None, answers.append)
        turns.submit(leaver)
        await wait_all_tasks_blocked()
    assert usernames(store) == {"comer"}
    assert [isinstance(answer, Decision) for answer in answers] == [True]


async def test_an_event_whose_turn_began_is_kept_though_its_caller_leaves() -> None:
    class Committing(Gate):
        """Holds each call after its work."""

        async def __call__(self, sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
            result = sync_fn()
            return await super().__call__(lambda: result, limiter=limiter)

    store, gate = PlainStore(), Committing()
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        (leaver,) = await waiting(nursery, turns, "leaver")
        leaver.scope.cancel()
        await wait_all_tasks_blocked()
        assert leaver.scope.cancelled_caught
        gate.open()
    assert usernames(store) == {"leaver"}


@pytest.mark.parametrize("seconds, is_decided", [(0.5, True), (1.0, True), (2.0, False)])
async def test_a_sender_that_closed_its_side_has_gone_after_a_second(
    seconds: float, is_decided: bool, autojump_clock: MockClock
) -> None:
    store, gate = PlainStore(), Gate()
    answers: list[Decision | TurnFailed] = []
    async with open_turns(store, HandClock(), gate) as turns:
        turns.submit(QueuedEvent(registration_of("anna"), None, answers.append, lambda: True))
        await trio.sleep(seconds)
        gate.open()
    assert usernames(store) == ({"anna"} if is_decided else set())
    assert [isinstance(answer, Decision) for answer in answers] == [is_decided]


async def test_a_sender_who_has_gone_while_the_server_stood_still_is_believed_at_once() -> None:
    store, answers = PlainStore(), list[Decision | TurnFailed]()
    async with open_turns(store, HandClock(), run_inline) as turns:
        for name, gone in (("anna", lambda: True), ("ben", lambda: False)):
            turns.submit(QueuedEvent(registration_of(name), None, answers.append, gone, may_be_stale=True))
    assert usernames(store) == {"ben"}
    assert sorted(isinstance(answer, Decision) for answer in answers) == [False, True]


async def test_no_caller_waits_ten_seconds_for_a_store_that_stands_still(autojump_clock: MockClock) -> None:
    store, gate, answered_at = PlainStore(), Gate(), list[float]()
    async with open_turns(store, HandClock(), gate) as turns:
        await wait_all_tasks_blocked()
        for name in ("anna", "ben"):
            asked_at = trio.current_time()
            answer = partial(lambda since, _: answered_at.append(trio.current_time() - since), asked_at)
            turns.submit(QueuedEvent(registration_of(name), None, answer))
            await trio.sleep(3)
        await trio.sleep(30)
        gate.open()
    assert answered_at == [LONGEST_WAIT_SECONDS] * 2
    assert LONGEST_WAIT_SECONDS < 10
    assert usernames(store) == set(), "nobody waited for it any more"


@pytest.mark.parametrize("more_seconds, left", [(0.0, 1), (0.5, 0)])
async def test_an_event_that_waited_too_long_is_not_chosen_though_the_event_loop_has_not_run(
    more_seconds: float, left: int, autojump_clock: MockClock
) -> None:
    """The store chooses the events in its own thread, once it has its transaction."""

    class Late(PlainStore):
        def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
            autojump_clock.jump(LONGEST_WAIT_SECONDS + more_seconds)
            wanted.append(len(choose_events()[0]))
            return []

    wanted: list[int] = []
    async with open_turns(Late(), HandClock(), run_inline) as turns:
        turns.submit(QueuedEvent(registration_of("anna"), None, lambda _: None))
        await wait_all_tasks_blocked()
    assert wanted == [left]


# --- failures


class Failing(PlainStore):
    """Fails every turn with "bad"; while "anna" is alone in a turn, two more callers come."""

    turns_to_join: Turns | None = None

    def turn(self, events: Sequence[e.Event], *more: Any) -> list[Decision]:
        if "bad" in names(events):
            raise OSError("no space left on device")
        if names(events) == ["anna"] and self.turns_to_join is not None:
            for name in ("cleo", "dora"):
                self.turns_to_join.submit(QueuedEvent(registration_of(name), None, lambda _: None))
        return super().turn(events, *more)


@pytest.mark.parametrize("others", [["anna"], ["anna", "ben"]], ids=len)
async def test_a_turn_fails_its_event_at_fault_alone(others: list[str], autojump_clock: MockClock) -> None:
    store, gate = Failing(), Gate()
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        store.turns_to_join = turns
        (before,) = await waiting(nursery, turns, "before")
        (leaver,) = await waiting(nursery, turns, "leaver")
        good = await waiting(nursery, turns, *others)
        (bad,) = await waiting(nursery, turns, "bad")
        leaver.scope.cancel()
        gate.open()
        await trio.sleep(60)
        (after,) = await waiting(nursery, turns, "after")

    alone = [[name] for name in others]
    assert [names(turn) for turn in store.turns] == [["before"], *alone, ["cleo", "dora"], ["after"]]
    assert all(asked.decision is not None for asked in (before, *good, after))
    assert bad.failure is not None
    assert isinstance(bad.failure.__cause__, OSError)


async def test_a_failure_of_the_servers_own_events_is_raised_once_all_are_decided() -> None:
    store = Failing()
    async with open_turns(store, HandClock(), run_inline) as turns:
        with pytest.raises(TurnFailed):
            await turns.decide_all([registration_of(name) for name in ("anna", "bad", "ben")])
    assert usernames(store) == {"anna", "ben"}


async def test_keeping_fails_until_a_turn_is_kept_or_for_half_a_minute(autojump_clock: MockClock) -> None:
    class Blamed(BreakingStore):
        error: Exception = OSError("no space left on device")

        def is_broken_by(self, error: BaseException | None) -> bool:
            return isinstance(error, OSError)

        def _break(self) -> None:
            if self.broken and isinstance(self.error, CommitUnconfirmed):
                raise self.error from OSError("no space left on device")
            if self.broken:
                raise self.error

    store = Blamed()
    world = world_on(store)
    clerk = asks.caller_of(
        world.given(asks.role("clerk", "iam.user.list"), asks.user("clerk", roles=("clerk",))).login("clerk")
    )
    forbidden = replace(registration_of("ben"), caller=clerk)
    facts_only = asks.sign_in(against=None, password_matches=False)
    changes_only = e.WrongSecretsCounted(client_id="app", times=1, last_at=START)

    async def fail() -> None:
        store.broken = True
        with pytest.raises(TurnFailed):
            await turns.decide(registration_of("anna"))
        store.broken = False
        with pytest.raises(NothingKept):
            turns.keeping.require()

    async with open_turns(store, HandClock(), run_inline) as turns:
        turns.keeping.require()
        await fail()
        await trio.sleep(29)
        with pytest.raises(NothingKept):
            turns.keeping.require()
        await trio.sleep(1)
        turns.keeping.require()
        for event in (facts_only, changes_only):
            await fail()
            for keeps_nothing in (e.GraceExpired(session_id="nobody's"), forbidden):
                await turns.decide(keeps_nothing)
                with pytest.raises(NothingKept):
                    turns.keeping.require()
            await turns.decide(event)
            turns.keeping.require()
        store.error = CommitUnconfirmed("no answer")
        await fail()
        await turns.decide(facts_only)
        store.error, store.broken = ValueError("of one turn"), True
        with pytest.raises(TurnFailed):
            await turns.decide(registration_of("ben"))
        turns.keeping.require()


@pytest.mark.parametrize("seconds, asked_again", [(0.0, ["anna", "ben", "cleo"]), (5.0, [])], ids=str)
async def test_a_store_that_is_slow_is_asked_for_two_seconds_for_each_event_of_a_failed_turn(
    seconds: float, asked_again: list[str], autojump_clock: MockClock
) -> None:
    class Slow(PlainStore):
        """Fails a turn of several events after some seconds, and a turn of one after one second."""

        def turn(self, events: Sequence[e.Event], *more: Any) -> list[Decision]:
            if names(events) == ["after"]:
                return super().turn(events, *more)
            asked.append(names(events))
            autojump_clock.jump(seconds if len(events) > 1 else 1.0)
            raise OSError(len(events))

    asked: list[list[str]] = []
    gate = Gate()
    async with open_turns(Slow(), HandClock(), gate) as turns, trio.open_nursery() as nursery:
        unlucky = await waiting(nursery, turns, "first", "anna", "ben", "cleo", "dora", "emma")
        gate.open()
        await trio.sleep(5)
        (after,) = await waiting(nursery, turns, "after")
    assert asked == [["first"], [each.name for each in unlucky[1:]], *([name] for name in asked_again)]
    failures = [each.failure for each in unlucky if each.failure is not None]
    alone = 1 + len(asked_again)
    assert [str(each.__cause__) for each in failures] == ["1"] * alone + ["5"] * (6 - alone), "shared"
    assert len(set(failures)) == 6, "a shared exception collects tracebacks"
    assert after.decision is not None


async def test_events_that_may_be_kept_are_not_decided_again() -> None:
    store, gate = UnheardStore(), Gate()
    store.unheard = True
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        await waiting(nursery, turns, "before")
        together = await waiting(nursery, turns, "anna", "ben")
        gate.open()
    assert [names(turn) for turn in store.turns] == [["before"], ["anna", "ben"]]
    assert all(asked.failure is not None for asked in together)


async def test_faults_of_metrics_traces_and_logs_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    # Metrics, traces and the log come after the commit: callers are answered, and the next turn begins.
    metrics = Metrics()
    spans: Any = NoSpans()
    monkeypatch.setattr(metrics, "count_turn", fail)
    monkeypatch.setattr(metrics, "count_decision", fail)
    monkeypatch.setattr(RequestLog, "log_decisions", fail)
    with capture_logs() as log:
        async with open_turns(PlainStore(), HandClock(), run_inline, metrics, spans) as turns:
            service = Service(
                turns=turns, clock=HandClock(), entropy_source=SeededEntropy(), metrics=metrics, tracing=spans
            )
            for name in ("anna", "ben"):
                decision = await service.decide(registration_of(name), origin(name))
                assert isinstance(decision.reply, UserKnown)
    faults = [entry["cause"] for entry in log if entry["event"] == "not observed"]
    assert faults == ["RuntimeError"] * 2 * 4, "three of each turn, and the metrics of each event"


class NoSpans:
    """Tracing of which every method fails."""

    def __getattr__(self, name: str) -> Any:
        return fail


def fail(*_: object) -> None:
    raise RuntimeError("a fault in what observes")


async def test_a_failing_read_answers_its_callers_and_the_next_read_works() -> None:
    store = BreakingStore()
    store.broken = True
    async with open_turns(store, HandClock(), run_inline) as turns:
        with pytest.raises(TurnFailed):
            await turns.decide(e.PasswordHashRequested(of="anna"))
        store.broken = False
        assert (await turns.decide(e.PasswordHashRequested(of="anna"))).reply == PasswordOnFile(None)


class Racing(PlainStore):
    """A store whose turns lose the race against another instance, so many times."""

    def __init__(self, races_lost: int) -> None:
        super().__init__()
        self.races_lost = races_lost
        self.attempts: list[Instant] = []
        self.when_lost: Callable[[], object] = list

    def turn(
        self, events: Sequence[e.Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        self.attempts.append(now)
        if len(self.attempts) <= self.races_lost:
            self.when_lost()
            raise LostRace("somebody else wrote it")
        return super().turn(events, now, origins)


async def test_a_lost_race_is_taken_again_at_the_time_it_then_is() -> None:
    class Ticking(HandClock):
        def now(self) -> Instant:
            self.wait(1)
            return super().now()

    store = Racing(races_lost=3)
    async with open_turns(store, Ticking(), run_inline) as turns:
        decision = await turns.decide(registration_of("anna"))
    assert isinstance(decision.reply, UserKnown)
    assert len(store.attempts) == 4
    assert decision.reply.user.created_at == store.attempts[-1]
    assert len(set(store.attempts)) == 4


async def test_a_race_that_is_always_lost_is_a_failure_in_the_end() -> None:
    store = Racing(races_lost=1_000)
    async with open_turns(store, HandClock(), run_inline) as turns:
        with pytest.raises(TurnFailed) as failed:
            await turns.decide(registration_of("anna"))
    assert isinstance(failed.value.__cause__, LostRace)
    assert 1 < len(store.attempts) < 1_000
    assert usernames(store) == set()


async def test_a_read_never_waits_behind_a_writer() -> None:
    class Slow(PlainStore):
        """Holds a writing turn until the test lets it go on."""

        began = threading.Event()
        go_on = threading.Event()

        def turn(self, events: Sequence[e.Event], *more: Any) -> list[Decision]:
            self.began.set()
            assert self.go_on.wait(10)
            return super().turn(events, *more)

    store = Slow()
    try:
        async with open_turns(store, HandClock()) as turns, trio.open_nursery() as nursery:
            writer = Asked("anna")
            nursery.start_soon(writer.ask, turns)
            assert await trio.to_thread.run_sync(store.began.wait, 10)
            with trio.fail_after(10):
                found = await turns.decide(e.PasswordHashRequested(of="anna"))
            assert found.reply == PasswordOnFile(None), "the writer has not committed yet"
            assert writer.decision is None
            store.go_on.set()
        assert writer.decision is not None
    finally:
        store.go_on.set()


# --- the end


async def test_closing_decides_waiting_events_and_takes_no_more() -> None:
    store, gate = PlainStore(), Gate()
    async with trio.open_nursery() as nursery:
        async with open_turns(store, HandClock(), gate) as turns:
            decided = await waiting(nursery, turns, "running", "waiting")
            turns.close()
            (late,) = await waiting(nursery, turns, "late")
            gate.open()
        assert usernames(store) == {"running", "waiting"}, "left before everything was decided"

    assert all(asked.decision is not None for asked in decided)
    assert late.decision is None
    assert isinstance(late.failure, TurnFailed)


async def test_callers_that_wait_fail_when_the_turns_are_cancelled() -> None:
    store, gate = PlainStore(), Gate()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with open_turns(store, HandClock(), gate) as turns:
                running, queued = await waiting(nursery, turns, "running", "queued")
                scope.cancel()
        assert scope.cancelled_caught
    assert isinstance(running.failure, TurnFailed)
    assert isinstance(queued.failure, TurnFailed)
    with pytest.raises(TurnFailed):
        await turns.decide(registration_of("later"))


async def test_lists_are_read_beside_the_turns_and_fail_alike() -> None:
    class Lost(PlainStore):
        def session_history(self, session_id: str) -> None:
            raise OSError("disk I/O error")

    store, gate = Lost(), Gate()
    async with open_turns(store, HandClock(), gate) as turns, trio.open_nursery() as nursery:
        nursery.start_soon(partial(turns.decide, registration_of("anna")))
        gate.open()
        with pytest.raises(TurnFailed) as failed:
            await turns.query(lambda store, now: store.session_history("0" * 32))
    assert isinstance(failed.value.__cause__, OSError)


async def test_two_lists_are_read_at_a_time_and_one_whole_list(autojump_clock: MockClock) -> None:
    """Lists are for administrators, and the other threads for the token service."""

    async def wait_a_second(work: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
        async with limiter:
            await trio.sleep(1)
            return work()

    ended_at = []
    async with open_turns(PlainStore(), HandClock(), wait_a_second) as turns:

        async def read(query: Callable[..., Any]) -> None:
            began_at = trio.current_time()
            await query(lambda store, now: None)
            ended_at.append(round(trio.current_time() - began_at))

        for query in (turns.query, turns.query_whole_lists):
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(read, query)
    assert ended_at == [*(1, 1, 2), *(1, 2, 3)]


@pytest.mark.parametrize("parts, is_in_place", [(1, True), (16, True), (17, False)])
async def test_a_thread_decides_a_long_batch_so_that_others_need_not_wait(
    parts: int, is_in_place: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided_in, decide = list[bool](), SQLiteTurn.decide

    def watch(turn: SQLiteTurn, *asked: Any) -> list[Decision]:
        decided_in.append(threading.current_thread() is threading.main_thread())
        return decide(turn, *asked)

    monkeypatch.setattr(SQLiteTurn, "decide", watch)
    batch = e.BatchRequested(events=tuple(registration_of(f"user-{number}") for number in range(parts)))
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        async with open_turns(store, HandClock()) as turns:
            await turns.decide(batch)
        assert len(usernames(store)) == parts
    assert decided_in == [is_in_place]
