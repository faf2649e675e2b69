"""Refused administrators are recorded: the user, the reason, and the record, if there is one."""

from typing import Any

import pytest

from ostiary_core import Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Acting, Fact, FactKind
from ostiary_core.model.permissions import Permission
from tests.support import asks
from tests.support.story import World, client, given, user


@pytest.fixture
def world() -> World:
    """A clerk who may see users and change clients, and alice who may do nothing."""
    clerk = asks.role("clerk", Permission.USER_LIST, Permission.CLIENT_UPDATE)
    return given(client(), clerk, user("clerk", roles=("clerk",)), user())


def ask(world: World, kind: Any, by: str = "clerk", **asked: Any) -> Decision:
    return world.when(kind(caller=world.caller(by), **asked)).decision


def facts_of(world: World, why: Why, **subject: str) -> tuple[Fact, ...]:
    return (Fact(kind=FactKind.REFUSED, actor_id=world.user_ids["clerk"], why=why, **subject),)  # type: ignore[arg-type]


def test_a_missing_permission_is_recorded_with_the_record_that_was_asked_for(world: World) -> None:
    alice = world.user_ids["alice"]
    missing = Why.PERMISSION_MISSING
    assert ask(world, e.UserDisabled, user_id=alice).facts == facts_of(world, missing, user_id=alice)
    assert ask(world, e.ClientDeleted, client_id="app").facts == facts_of(world, missing, client_id="app")
    assert ask(world, e.RoleDeleted, role_id="clerk").facts == facts_of(world, missing, role_id="clerk")
    assert ask(world, e.AccountRequested, permission=Permission.AUDIT_READ).facts == facts_of(world, missing)
    assert ask(world, e.AccountRequested, as_super_administrator=True).facts == facts_of(world, missing)


def test_a_record_that_is_not_there_is_not_named(world: World) -> None:
    for one, key in ((e.UserDisabled, "user_id"), (e.ClientDeleted, "client_id"), (e.RoleDeleted, "role_id")):
        assert ask(world, one, **{key: "\ud800"}).facts == facts_of(world, Why.PERMISSION_MISSING)


def test_only_refusals_of_administrators_by_rules_of_the_administration_are_recorded(world: World) -> None:
    alice = world.user_ids["alice"]
    assert ask(world, e.ClientDisabled, client_id="nosuch").facts == ()
    assert ask(world, e.ClientChanged, client_id="app", fields={"name": ""}).facts == ()
    assert ask(world, e.AccountRequested, permission=Permission.USER_LIST).facts == ()
    assert ask(world, e.UserDisabled, by="alice", user_id=alice).facts == ()
    assert ask(world, e.AccountRequested, by="alice", permission=Permission.AUDIT_READ).facts == ()
    world.when(e.RoleDeleted(caller=e.Operator(), role_id="clerk")).then_refused(
        Why.STILL_REFERENCED, facts=[]
    )


def test_a_batch_records_each_refused_part_and_changes_nothing(world: World) -> None:
    caller = world.caller("clerk")
    parts = tuple(e.ClientDisabled(caller=caller, client_id=name) for name in ("app", "console", "nosuch"))
    decision = world.when(e.BatchRequested(events=parts)).decision
    assert decision.changes == ()
    assert decision.facts == facts_of(world, Why.BUILT_IN_PROTECTED, client_id="console")


@pytest.mark.parametrize("permission", [Permission.USER_DELETE, None])
def test_counted_refusals_become_an_entry(world: World, permission: Permission | None) -> None:
    about = {"actor_id": "a", "user_id": "u", "client_id": "c", "role_id": "r", "why": Why.PERMISSION_MISSING}
    acting = Acting("s", "anna", "nightly", "0a1b2c3d")
    event = e.AdministratorRefused(**about, permission=permission, times=3, acting=acting)  # type: ignore[arg-type]
    asked = [] if permission is None else [FieldChange("permission", None, "iam.user.delete")]
    changes = (*asked, FieldChange("times", None, 3))
    expected = Fact(kind=FactKind.ADMINISTRATOR_REFUSED, **about, changes=changes)  # type: ignore[arg-type]
    assert world.when(event).decision.facts == (expected,)
