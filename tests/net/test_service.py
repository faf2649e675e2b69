"""The service: what it logs and never logs, and how it answers failures."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from fuzz.shared.seeds import SeededEntropy
from ostiary_core import Decision
from ostiary_core.events import Operator, PasswordHashRequested, UserUnlocked
from ostiary_core.http import Request, userinfo
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.reply import Done, Refused, UserKnown
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_net.observability.log import RequestLog
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.system import run_inline
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import open_turns
from tests.support.stores import BreakingStore, HandClock, PlainStore, origin, registration_of

SOURCE = "203.0.113.7"
Headers = list[tuple[bytes, bytes]]


@asynccontextmanager
async def serving(
    store: PlainStore, metrics: Metrics | None = None, clock: HandClock | None = None
) -> AsyncIterator[Service]:
    clock, metrics = clock or HandClock(), metrics or Metrics()
    async with open_turns(store, clock, run_inline, metrics) as turns:
        yield Service(turns=turns, clock=clock, entropy_source=SeededEntropy(), metrics=metrics)


def posting(operation: Operation, headers: Headers, body: bytes, source: str = SOURCE) -> Request:
    method, path = operation.value.split()
    return Request(method=method, path=path, headers=headers, body=body, source=source)


def test_the_line_of_a_fact_says_of_whom_by_whom_and_why() -> None:
    ids = ("actor_id", "user_id", "client_id", "session_id", "role_id")
    named: dict[str, Any] = {name: f"the {name}" for name in ids}
    fact = Fact(kind=FactKind.SESSION_ENDED, why=Why.SESSION_FORCED_OUT, **named)
    with capture_logs() as log:
        RequestLog().log_decisions([origin("c" * 32)], [Decision(Done(), facts=(fact,))])
    [line] = log
    assert {name: line[name] for name in named} == named
    assert (line["event"], line["why"]) == ("session-ended", "session_forced_out")


async def test_events_that_only_read_are_not_logged() -> None:
    async with serving(PlainStore()) as service:
        with capture_logs() as log:
            await service.decide(PasswordHashRequested(of="anna"), origin())
    assert log == []


async def test_a_refusal_that_needs_no_turn_is_logged_under_the_trace_id_of_its_answer() -> None:
    async with serving(PlainStore()) as service:
        request = Request(method="GET", path=userinfo.PATH, headers=[], body=b"", source=SOURCE)
        while service.admit(Operation.TOKEN, SOURCE) == 0:
            pass
        with capture_logs() as log:
            answers = [
                json.loads((await service.answer(each, service.draw_trace_id())).body)
                for each in (request, posting(Operation.TOKEN, [], b""))
            ]
        tallies, _ = service.activity.take_refusals()
        assert [key.detail for key in tallies] == ["too_many_requests"]
    assert [(entry["event"], entry["why"], entry["trace_id"], entry["source"]) for entry in log] == [
        ("refused", why, answer["traceId"], SOURCE)
        for why, answer in zip(("not_signed_in", "too_many_requests"), answers, strict=True)
    ]


async def test_unlocks_are_looked_for_once_a_second() -> None:
    store, clock = PlainStore(), HandClock()
    async with serving(store, clock=clock) as service:
        registered = (await service.decide(registration_of("anna"), origin())).reply
        assert isinstance(registered, UserKnown)

        async def guess() -> int:
            return await service.admit_guess("anna", origin())

        while not await guess():
            pass
        clock.wait(2)
        assert await guess() == 0
        assert await guess() > 0
        await service.decide(UserUnlocked(caller=Operator(), user_id=registered.user.user_id), origin())
        assert await guess() > 0
        clock.wait(1)
        assert await guess() == 0


async def test_many_users_who_are_unlocked_at_one_moment_may_sign_in_and_no_others() -> None:
    many = range(30)
    async with serving(PlainStore()) as service:

        async def guess(number: int) -> int:
            return await service.admit_guess(f"user{number}", replace(origin(), source=f"203.0.113.{number}"))

        users = []
        for number in many:
            users.append((await service.decide(registration_of(f"user{number}"), origin())).reply)
            while not await guess(number):
                pass
        for user in users[:-1]:
            assert isinstance(user, UserKnown)
            await service.decide(UserUnlocked(caller=Operator(), user_id=user.user.user_id), origin())
        await service.apply_unlocks(origin())
        assert [await guess(number) > 0 for number in many] == [number == many[-1] for number in many]


async def test_a_refusal_that_the_trail_cannot_keep_is_logged() -> None:
    fact = Fact(kind=FactKind.REFUSED, actor_id="clerk", why=Why.PERMISSION_MISSING)
    store, refused = BreakingStore(), Refused(Why.PERMISSION_MISSING)
    async with serving(store) as service:
        store.broken = True
        with capture_logs() as log:
            await service.report_refusals(Decision(refused, facts=(fact,)), None, origin("c"))
            service.turns.close()
            other = replace(fact, user_id="somebody")
            await service.report_refusals(Decision(refused, facts=(other,)), None, origin("d"))
    told = [(entry["event"], entry["trace_id"], entry["cause"]) for entry in log]
    assert told == [("refusal not kept", "c", "OSError"), ("refusal not kept", "d", "TurnFailed")]


@pytest.mark.parametrize("cause, named", [(OSError("near"), "OSError"), (None, "CommitUnconfirmed")])
async def test_a_turn_that_may_be_kept_is_logged_with_its_cause(cause: Exception | None, named: str) -> None:
    class Unheard(PlainStore):
        def turn(self, *anything: Any) -> list[Decision]:
            raise CommitUnconfirmed("no answer") from cause

    async with serving(Unheard()) as service:
        with capture_logs() as log, pytest.raises(TurnFailed, match="nothing of it is known to be kept"):
            await service.decide(registration_of("anna"), origin())
        service.turns.close()
        with capture_logs() as late, pytest.raises(TurnFailed):
            await service.decide(registration_of("anna"), origin())
        with capture_logs() as lists, pytest.raises(TurnFailed):
            await service.query(lambda store, now: 1 // 0, origin())
    told = [(one["event"], one["asked"], one["cause"], one.get("kept")) for one in (*log, *late, *lists)]
    assert told == [
        ("turn failed", "UserRegistered", named, "unknown"),
        ("turn failed", "UserRegistered", "TurnFailed", None),
        ("looking failed", "a list", "ZeroDivisionError", None),
    ]


async def test_one_failing_turn_is_logged_once_for_every_request_in_it() -> None:
    store = BreakingStore()
    store.broken = True
    failures = []

    async def ask(service: Service, trace_id: str) -> None:
        with pytest.raises(TurnFailed) as failure:
            await service.decide(registration_of(f"user-{trace_id}"), origin(trace_id))
        failures.append(failure)

    async with serving(store) as service:
        with capture_logs() as log:
            async with trio.open_nursery() as nursery:
                for number in range(5):
                    nursery.start_soon(ask, service, f"{number:032x}")
    assert len(failures) == 5
    assert {entry["trace_id"] for entry in log} == {f"{number:032x}" for number in range(5)}
    for entry in log:
        assert (entry["event"], entry["log_level"], entry["cause"]) == ("turn failed", "error", "OSError")
        assert any("stores.py" in frame for frame in entry["where"])
    assert "near" not in repr(log), "the text of an error may quote a client"
