"""Turns, as far as the kit does not try them (test_conformance.py): hostile text, reads beside, isolation."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ostiary_core import Decision, events as e, retry_lost_races, take_turn
from ostiary_core.model.audit import Origin
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.records import Table
from ostiary_core.model.reply import Refused, TokensIssued
from tests.support import asks, story
from tests.support.stores import DURABLE, ContractStore, open_kind, world_on
from tests.support.story import START


def test_events_that_only_read_find_the_same_beside_the_turns(durable_store: ContractStore) -> None:
    world = world_on(durable_store)
    pair = world.tokens()
    tokens = (pair.access_token, pair.refresh_token, None)
    asked: list[e.Event] = [e.IntrospectionRequested(credentials=world.basic(), token=one) for one in tokens]
    asked += [asks.profile(pair.access_token), asks.check(world.login()), e.PasswordHashRequested(of="alice")]
    before = world.everything()
    store = cast(Any, durable_store)
    assert store.read(asked, START) == store.turn(asked, START)
    assert world.everything() == before
    with pytest.raises(TypeError, match="turn"):
        store.read([story.client()], START)


@pytest.mark.parametrize(
    "user_agent", ["nul\x00inside", "\x00", "\xff\xfe", "x" * 60_000, "\U0010ffff\ufffe", "%s ?"]
)
def test_no_user_agent_fails_the_turn_that_others_share(store: ContractStore, user_agent: str) -> None:
    world = world_on(store)
    odd = replace(asks.machine(world.basic()), user_agent=user_agent)
    guess = asks.sign_in(against=None, password_matches=False, user_agent=user_agent)
    origin = Origin(trace_id="trace", source="203.0.113.7", user_agent=user_agent)
    decisions = store.turn([odd, guess, asks.machine(world.basic())], START, [origin, origin, None])
    assert [type(decision.reply) for decision in decisions] == [TokensIssued, Refused, TokensIssued]
    assert len(world.sessions()) == 2


# --- two connections


@pytest.fixture(params=DURABLE)
def two(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Any, Any]]:
    """Two stores on one database; SQLite's are without the lock file, which is for fairness alone."""
    for name in ("acquire", "release"):
        monkeypatch.setattr(f"ostiary_net.sqlite.writer.WriterLock.{name}", lambda lock: None)
    with open_kind(request.param, tmp_path) as open_store, open_store() as one, open_store() as other:
        yield one, other


def register_all(name: str) -> e.RoleRegistered:
    return e.RoleRegistered(caller=e.Operator(), fields={"code": "r", "name": name, "permissions": []})


def test_two_who_delete_each_other_leave_one(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Write skew: each turn reads both accounts and deletes the other's, so no account is written twice."""
    one, other = two
    world = world_on(one).given(asks.user("second", roles=(SUPER_ADMINISTRATOR,)))
    root, second = world.user("root"), world.user("second")
    callers = [asks.caller_of(world.login(name)) for name in ("root", "second")]
    deciding = iter([True])

    def decide(*arguments: Any) -> list[Decision]:
        if next(deciding, False):
            meanwhile.append(thread.submit(delete, other, callers[1], root.user_id))
            wait(meanwhile, timeout=0.3)
        return take_turn(*arguments)

    def delete(store: Any, caller: e.SignedIn, user_id: str) -> Decision:
        event = e.UserDeleted(caller=caller, user_id=user_id)
        [decision] = retry_lost_races(lambda: store.turn([event], START))
        return cast(Decision, decision)

    monkeypatch.setattr("ostiary_net.sql.store.take_turn", decide)
    with ThreadPoolExecutor(1) as thread:
        meanwhile: list[Any] = []
        ours = delete(one, callers[0], second.user_id)
        theirs = meanwhile[0].result(30)
    assert sorted(isinstance(decision.reply, Refused) for decision in (ours, theirs)) == [False, True]
    left = [user for user in one.fetch(Table.USER, [root.user_id, second.user_id]) if not user.deleted_at]
    [role] = one.fetch(Table.ROLE, [SUPER_ADMINISTRATOR])
    assert (len(left), role.enabled_holders) == (1, 1)


@pytest.mark.parametrize("is_writing", [False, True])
def test_one_transaction_reads_a_row_twice_alike(two: tuple[Any, Any], is_writing: bool) -> None:
    one, other = two
    one.turn([register_all("before")], START)
    change = e.RoleChanged(caller=e.Operator(), role_id="r", fields={"name": "after"})
    changing: list[Any] = []

    def read_twice(execute: Any) -> list[Any]:
        asked = ("SELECT name FROM roles WHERE role_id = ?", ("r",))
        first = execute(*asked)
        changing.append(thread.submit(other.turn, [change], START))
        wait(changing, timeout=0.3)
        return [first, execute(*asked)]

    with ThreadPoolExecutor(1) as thread:
        if is_writing:
            first, second = one._change(lambda execute, now: read_twice(execute), START)
        else:
            first, second = one._find(lambda reading: read_twice(reading.execute))
        changing[0].result(30)
    assert first == second
