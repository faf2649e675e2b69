"""When clients were last used: by their own entries in the audit trail, and only those that tell of a use."""

import pytest

from ostiary_core.events import ClientDisabled, Operator
from ostiary_core.model.reply import TokensIssued
from tests.support import asks
from tests.support.stores import ContractStore, world_on
from tests.support.story import World, client

LATER_SECONDS = 60


@pytest.fixture
def world(store: ContractStore) -> World:
    world = world_on(store)
    return world.given(client("other"), client("idle"))


def test_what_is_done_to_a_client_is_no_use_of_it(store: ContractStore, world: World) -> None:
    pair = world.tokens()
    used_at = world.now
    world.wait(LATER_SECONDS).when(asks.revoke(world.basic(), pair.refresh_token))
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    world.given(ClientDisabled(caller=Operator(), client_id="app"))
    assert store.last_used(["app"]) == {"app": used_at}


def test_a_clock_that_was_set_back_does_not_hide_a_later_use(store: ContractStore, world: World) -> None:
    world.wait(LATER_SECONDS).when(asks.machine(world.basic("other"))).then(TokensIssued)
    used_at = world.now
    world.wait(-LATER_SECONDS).when(asks.machine(world.basic("other"))).then(TokensIssued)
    assert store.last_used(["other"]) == {"other": used_at}
