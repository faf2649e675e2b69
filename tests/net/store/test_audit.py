"""What is kept of what happened: no refusal that changed nothing, and as a use of a client only its own.

That the rest is kept as it was told, with the history and ending of each session, is the kit's to check.
"""

from ostiary_core.events import ClientDisabled, GraceExpired, Operator
from ostiary_core.model.audit import NOT_KEPT
from ostiary_core.model.fact import FactKind
from ostiary_core.model.reply import TokensIssued
from tests.support import asks
from tests.support.stores import ContractStore, world_on


def test_a_refusal_that_changes_nothing_and_housekeeping_are_not_kept(store: ContractStore) -> None:
    world = world_on(store)
    world.tokens()
    before = store.audit()
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    pair = world.tokens()
    world.when(asks.refresh(world.basic(), pair)).then(TokensIssued)
    world.wait(60)
    salted = [session.session_id for session in world.sessions() if session.salt is not None]
    [decision] = store.turn([GraceExpired(session_id=salted[0])], world.now)
    assert [fact.kind for fact in decision.facts] == [FactKind.SALT_ERASED]
    kinds = {entry.kind for entry in store.audit()[len(before) :]}
    assert kinds.isdisjoint(NOT_KEPT)


def test_what_is_done_to_a_client_is_no_use_of_it(store: ContractStore) -> None:
    world = world_on(store)
    pair = world.tokens()
    used_at = world.now
    world.wait(60).when(asks.revoke(world.basic(), pair.refresh_token))
    world.when(asks.machine(asks.credentials("app", "a wrong secret")))
    world.given(ClientDisabled(caller=Operator(), client_id="app"))
    assert store.last_used(["app"]) == {"app": used_at}
