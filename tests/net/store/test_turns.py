"""Turns beyond what the kit looks at (test_conformance.py): hostile text, and reading beside them."""

from dataclasses import replace
from typing import Any, cast

import pytest

from ostiary_core.events import Event, IntrospectionRequested, PasswordHashRequested
from ostiary_core.model.audit import Origin
from ostiary_core.model.records import RECORD_TABLES
from ostiary_core.model.reply import Refused, TokensIssued
from tests.core import asks, story
from tests.core.story import START
from tests.net.store.lives import world_on
from tests.net.store.stores import ContractStore


def test_events_that_only_read_find_the_same_beside_the_turns(durable_store: ContractStore) -> None:
    world = world_on(durable_store)
    pair = world.tokens()
    tokens = (pair.access_token, pair.refresh_token, None)
    reading: list[Event] = [IntrospectionRequested(credentials=world.basic(), token=each) for each in tokens]
    reading += [asks.profile(pair.access_token), asks.check(world.login()), PasswordHashRequested(of="alice")]
    before = {record for table in RECORD_TABLES for record in durable_store.records(table)}
    store = cast(Any, durable_store)
    assert store.read(reading, START) == store.turn(reading, START)
    assert {record for table in RECORD_TABLES for record in durable_store.records(table)} == before
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
