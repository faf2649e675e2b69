"""Expired records are purged: a store under a constant load stays as large, and callers notice nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from hypothesis import given, settings, strategies as st
from structlog.testing import capture_logs
from trio.testing import MockClock

from fuzz.shared.memory_store import ServerMemoryStore
from fuzz.shared.seeds import SeededEntropy
from ostiary_core import Epochs, Instant, MemoryStore, RefreshToken, Secret, events as e
from ostiary_core.model.decision import Insert
from ostiary_core.model.records import (
    RECORD_TABLES,
    AuthorizationCode,
    Key,
    Session,
    Table,
    TextCode,
    TextCodePurpose,
)
from ostiary_core.model.reply import LoginIssued, Refused, Reply
from ostiary_core.model.secret import digest_of
from ostiary_core.retention import Expirable, ExpiredBatch
from ostiary_net.observability.metrics import Metrics
from ostiary_net.observability.summaries import Milestone
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.runtime.system import run_inline
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.turns import open_turns
from ostiary_net.upkeep.summarising import Summarising
from ostiary_net.upkeep.sweeping import Purge
from tests.net.conftest import AnyStore
from tests.support import asks, story
from tests.support.stores import DURABLE, HandClock, PlainStore, at_once, open_kind

DAY = 24 * 60 * 60
MAXIMUM = 7 * DAY
"""Maximum lifetime of a login session in seconds."""


class House:
    """A user who signs in, refreshes and leaves, on any store."""

    def __init__(self, store: MemoryStore | SQLiteStore | PostgreSQLStore, clock: HandClock) -> None:
        self.store = store
        self.clock = clock
        self.entropy = SeededEntropy()
        story.given(asks.user(), store=cast(MemoryStore, store))

    def decide(self, event: e.SignInAttempted | e.LoginRefreshed) -> Reply:
        [decision] = self.store.turn([replace(event, entropy=self.entropy.draw())], self.clock.now())
        return decision.reply

    def sign_in(self) -> LoginIssued:
        reply = self.decide(asks.sign_in())
        assert isinstance(reply, LoginIssued)
        return reply

    def refresh(self, token: Secret | None) -> LoginIssued | Refused:
        assert token is not None
        reply = self.decide(asks.login_refresh(token))
        assert isinstance(reply, LoginIssued | Refused)
        return reply

    def sign_out(self, token: Secret) -> None:
        self.store.turn([e.SignedOut(caller=e.SignedIn(access_token=token))], self.clock.now())

    def code(self, name: str, session_id: str | None = None) -> None:
        sent = {"client_id": "console", "redirect_uri": "https://app.example/", "code_challenge": "challenge"}
        self._insert(AuthorizationCode, digest_of(name), scopes=(), session_id=session_id, **sent)

    def text_code(self, phone: str) -> None:
        now, purpose = self.clock.now(), TextCodePurpose.RESET_PASSWORD
        self._insert(TextCode, digest_of(phone), purpose=purpose, phone=phone, counting_since=now)

    def _insert(self, kind: type[Any], digest: bytes, **fields: Any) -> None:
        issued = {"user_id": "nobody", "issued_at": self.clock.now(), "epochs": Epochs(0, 0, 0)}
        self.store.write([Insert(kind(digest=digest, **issued, **fields))])

    def size(self) -> dict[Table, int]:
        return {table: len(self.store.records(table)) for table in RECORD_TABLES}


async def clear(store: AnyStore, clock: HandClock, audit_days: int = 0) -> dict[str, int]:
    async with open_turns(store, clock, run_inline) as turns:
        purge = Purge(turns, store, clock, audit_seconds=audit_days * DAY, run_sync=run_inline)
        return await purge.purge_once()


async def test_a_store_under_a_constant_load_stays_as_large(store: AnyStore) -> None:
    clock = HandClock()
    house, sizes = House(store, clock), []
    entries = []
    for day in range(0, 120, 5):
        stays, leaves = house.sign_in(), house.sign_in()
        house.refresh(stays.tokens.refresh_token)
        house.sign_out(leaves.tokens.access_token)
        house.code(f"unused {day}")
        house.code(f"used {day}", "some session")
        house.text_code(f"+1555{day:07}")
        clock.wait(5 * DAY)
        await clear(store, clock, audit_days=60)
        sizes.append(house.size())
        entries.append(len(store.audit()))
    # A session lasts seven days and is kept for thirty more: after that, as many go as come.
    assert all(size == sizes[8] for size in sizes[8:])
    assert sizes[-1][Table.SESSION] == 7 + 5, "those that stayed in 35 days, and those that left in 25"
    assert sizes[-1][Table.REFRESH_TOKEN] == 7 * 2 + 5 * 1
    assert sizes[-1][Table.CODE] == sizes[-1][Table.TEXT_CODE] == 0
    assert len(set(entries[13:])) == 1


def clear_by_hand(store: MemoryStore, now: Instant) -> int:
    """Remove all expired records without a sweeper; return their number."""
    gone = 0
    for kind in Expirable:
        found = store.find_expired(kind, b"", now, 1_000)
        events = [e.RecordExpired(key=Key(kind.table, each)) for each in found.identifiers]
        gone += sum(bool(decision.changes) for decision in store.turn(events, now))
    return gone


Step = tuple[str, int]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([1, 29, 31, 600, DAY, 8 * DAY, 31 * DAY, 40 * DAY])),
        st.tuples(st.just("sign in"), st.just(0)),
        st.tuples(st.sampled_from(["refresh", "sign out"]), st.integers(0, 30)),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(steps)
def test_a_store_that_is_cleared_at_every_step_answers_as_one_that_never_is(steps: list[Step]) -> None:
    clock = HandClock()
    kept, swept = House(ServerMemoryStore(), clock), House(MemoryStore(), clock)
    seen: list[tuple[Secret | None, Secret]] = []
    for what, number in steps:
        if what == "wait":
            clock.wait(number)
        elif what == "sign in":
            first, second = kept.sign_in().tokens, swept.sign_in().tokens
            assert first == second
            seen.append((first.refresh_token, first.access_token))
        elif seen and what == "refresh":
            token = seen[number % len(seen)][0]
            one, other = kept.refresh(token), swept.refresh(token)
            assert type(one) is type(other), "what lapsed and what died are answered alike"
            if isinstance(one, LoginIssued) and isinstance(other, LoginIssued):
                assert one.tokens == other.tokens
                seen.append((one.tokens.refresh_token, one.tokens.access_token))
        elif seen:
            for house in (kept, swept):
                house.sign_out(seen[number % len(seen)][1])
        assert isinstance(swept.store, MemoryStore)
        clear_by_hand(swept.store, clock.now())


# --- in the background


@asynccontextmanager
async def purging(
    store: AnyStore, clock: HandClock, holder: str = "one", every_seconds: float = 60.0, **named: Any
) -> AsyncIterator[None]:
    """Purge in the background, as a server does."""
    async with open_turns(store, clock, run_inline) as turns, trio.open_nursery() as nursery:
        purge = Purge(turns, store, clock, **{"run_sync": run_inline, **named})
        nursery.start_soon(purge.run, holder, every_seconds)
        yield
        nursery.cancel_scope.cancel()


async def test_one_instance_purges_and_the_others_do_not(autojump_clock: MockClock, tmp_path: Path) -> None:
    clock = HandClock()
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        house = House(store, clock)
        first, second = Metrics(), Metrics()
        async with purging(store, clock, "first", metrics=first):
            await trio.sleep(1)
            async with purging(store, clock, "second", metrics=second):
                for number in range(3):
                    house.code(f"code {number}")
                    clock.wait(301 if number == 2 else 60)
                await trio.sleep(61)
        assert house.size()[Table.CODE] == 0
    swept = 'ostiary_swept_total{what="codes"}'
    assert [metrics.write_exposition().count(swept) for metrics in (first, second)] == [1, 0]


def insert_tokens(store: AnyStore, number: int, session_id: str = "gone") -> None:
    """Insert refresh tokens of a session, which need not be there."""
    tokens = (
        RefreshToken(digest=digest_of(f"{session_id} {each}"), session_id=session_id, generation=0)
        for each in range(number)
    )
    store.write([Insert(token) for token in tokens])


async def test_all_tokens_are_gone_through_in_eight_days(autojump_clock: MockClock, tmp_path: Path) -> None:
    clock = HandClock()
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        insert_tokens(store, 6_000)
        async with purging(store, clock, every_seconds=DAY):
            await trio.sleep(3.5 * DAY)
            left = len(store.records(Table.REFRESH_TOKEN))
            assert 6_000 * 0.4 < left < 6_000 * 0.8, "and no sooner than it must"
            await trio.sleep(5 * DAY)
            assert store.records(Table.REFRESH_TOKEN) == ()


async def test_instances_replaced_daily_reach_all_tokens(autojump_clock: MockClock, tmp_path: Path) -> None:
    clock = HandClock()
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        insert_tokens(store, 6_000)
        for day in range(60):
            async with purging(store, clock, f"instance {day}", DAY):
                await trio.sleep(1.5 * DAY)
            clock.wait(2 * DAY)
        assert len(store.records(Table.REFRESH_TOKEN)) < 60


async def test_the_background_clears_as_much_in_a_minute_as_there_is(autojump_clock: MockClock) -> None:
    store, clock = PlainStore(), HandClock()
    house = House(store, clock)
    for number in range(6_000):
        house.code(f"code {number}")
    clock.wait(300)
    async with purging(store, clock):
        await trio.sleep(61)
        assert store.records(Table.CODE) == ()


@pytest.mark.parametrize("kind", DURABLE)
def test_a_lease_is_one_holders_until_it_runs_out(kind: str, tmp_path: Path) -> None:
    clock = HandClock()
    with open_kind(kind, tmp_path) as open_store, open_store() as store:
        assert isinstance(store, SQLiteStore | PostgreSQLStore)

        def take(holder: str) -> bool:
            return store.take_lease("sweeper", holder, 60, clock.now())

        assert take("one")
        assert not take("other")
        assert take("one"), "its holder may go on"
        clock.wait(59.999)
        assert not take("other")
        clock.wait(0.001)
        assert take("other")
        assert not take("one")
        clock.wait(60)
        assert take("one")
        for name in map(str, range(10)):
            holders = map(str, range(8))
            takes = [partial(store.take_lease, name, holder, 60, clock.now()) for holder in holders]
            assert sum(at_once(takes)) == 1, "of several at once one has it"


@pytest.mark.parametrize("failure, times", [("clearing failed", 2), ("summaries failed", 3)])
async def test_a_failure_is_logged_and_retried(failure: str, times: int, autojump_clock: MockClock) -> None:
    leases = []

    class Blind(PlainStore):
        def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
            leases.append(seconds)
            raise OSError("disk I/O error")

    store, clock = Blind(), HandClock()
    with capture_logs() as log:
        async with open_turns(store, clock, run_inline) as turns, trio.open_nursery() as nursery:
            work: Purge | Summarising = Purge(turns, store, clock, run_sync=run_inline)
            if failure == "summaries failed":
                work = Summarising(store, clock, run_sync=run_inline)
            nursery.start_soon(work.run, "one", 60.0)
            await trio.sleep(121)
            nursery.cancel_scope.cancel()
    assert [(entry["event"], entry["cause"]) for entry in log] == [(failure, "OSError")] * times
    assert min(leases) > 60, "a lease outlasts the time until its holder comes for it again"


async def test_a_purge_begins_at_any_token_and_records_only_a_reached_end(autojump_clock: MockClock) -> None:
    begins: list[bytes] = []
    asked: list[Expirable] = []
    left: list[int] = []

    class Watched(PlainStore):
        def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
            asked.append(kind)
            begins.extend([after] if kind is Expirable.TOKENS else [])
            return super().find_expired(kind, after, now, limit)

        def record_milestone(self, milestone: Milestone, now: Instant) -> None:
            left.append(len(self.records(Table.CODE)))
            super().record_milestone(milestone, now)

    async def run_slowly(work: Any, /, *, limiter: trio.CapacityLimiter) -> Any:
        await trio.sleep(5)
        return work()

    store, clock = Watched(), HandClock()
    house = House(store, clock)
    for number in range(150):  # more than a batch, so that one round has no time for all
        house.code(f"code {number}")
    clock.wait(300)
    async with purging(store, clock, run_sync=run_slowly):
        await trio.sleep(3_600)
    assert set(left) == {0}
    assert begins[0] != b""
    first_round = asked[: asked.index(Expirable.TOKENS)]
    assert first_round.count(Expirable.CODES) == 1, "half of the time is up after it"


async def test_records_that_the_rules_keep_wait_for_the_next_time() -> None:
    """The clock of the store may be behind the one that the purge asks by."""

    class Ahead(PlainStore):
        def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
            return super().find_expired(kind, after, Instant(now + 300_000), limit)

    store, clock = Ahead(), HandClock()
    house = House(store, clock)
    for number in range(100):
        house.code(f"code {number}")
    assert (await clear(store, clock))["codes"] == 0


async def test_a_whole_purge_forgets_all_old_entries(autojump_clock: MockClock) -> None:
    store, clock = PlainStore(), HandClock()
    store.turn([asks.user(f"user{number}") for number in range(150)], clock.now())
    clock.wait(2 * DAY)
    assert (await clear(store, clock, audit_days=1))["audit entries"] == 150


async def test_a_whole_purge_reaches_the_last_of_many_tokens(store: AnyStore) -> None:
    clock, metrics = HandClock(), Metrics()
    House(store, clock).sign_in()
    insert_tokens(store, 600)
    insert_tokens(
        store,
        600,
        next(each.session_id for each in store.records(Table.SESSION) if isinstance(each, Session)),
    )
    async with open_turns(store, clock, run_inline) as turns:
        await Purge(turns, store, clock, run_sync=run_inline, metrics=metrics).purge_once()
    assert len(store.records(Table.REFRESH_TOKEN)) == 601
    assert 'ostiary_swept_total{what="tokens"} 600' in metrics.write_exposition()


async def test_records_purged_before_a_failure_are_counted() -> None:
    class Failing(PlainStore):
        def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
            raise OSError("disk I/O error")

    store, clock, metrics = Failing(), HandClock(), Metrics()
    house = House(store, clock)
    for number in range(7):
        house.code(f"code {number}")
    clock.wait(300)
    async with open_turns(store, clock, run_inline) as turns:
        clearing = Purge(turns, store, clock, audit_seconds=1, run_sync=run_inline, metrics=metrics)
        with pytest.raises(OSError, match="disk"):
            await clearing.purge_once()
    shown = metrics.write_exposition()
    assert 'ostiary_swept_total{what="codes"} 7' in shown
    assert 'ostiary_swept_total{what="audit_entries"} 0' in shown
