"""A user acknowledges a warning of the overview, and the trail records the user and the warning."""

import pytest

from ostiary_core import Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Done, Refused
from ostiary_core.users.acknowledgement import LONGEST_WARNING
from tests.support import asks
from tests.support.story import World, given, user


@pytest.fixture
def world() -> World:
    watcher = asks.role("watcher", Permission.ONLINE_LIST)
    others = asks.role("others", *(each for each in Permission if each is not Permission.ONLINE_LIST))
    return given(watcher, others, user("wanda", roles=("watcher",)), user("otto", roles=("others",)))


def make_event(caller: e.Caller, warning: str = "backup") -> e.WarningAcknowledged:
    return e.WarningAcknowledged(caller=caller, warning=warning)


@pytest.mark.parametrize("warning", ["backup", "secrets client-1", "finding check.clock.apart clock"])
def test_only_the_trail_records_the_user_and_the_warning(world: World, warning: str) -> None:
    decision = world.when(make_event(world.caller("wanda"), warning)).decision
    [fact] = decision.facts
    assert (decision.reply, decision.changes) == (Done(), ())
    assert (fact.kind, fact.actor_id) == (FactKind.WARNING_ACKNOWLEDGED, world.user_ids["wanda"])
    assert fact.changes == (FieldChange("warning", None, warning),)


def test_the_operator_is_named_as_such(world: World) -> None:
    [fact] = world.when(make_event(e.Operator("root"))).decision.facts
    assert fact.actor_id == COMMAND_LINE


def test_a_user_without_the_overview_acknowledges_nothing(world: World) -> None:
    for warning in ("backup", "no warning"):
        world.when(make_event(world.caller("otto"), warning)).then_refused(Why.PERMISSION_MISSING)


@pytest.mark.parametrize(
    "warning",
    [
        *("", "weather", "backups", "Backup", "backup ", " backup", "secrets  app", "backup\n"),
        *("secrets \x00", "secrets ä", f"secrets {'a' * LONGEST_WARNING}"),
    ],
)
def test_an_unknown_warning_is_refused(world: World, warning: str) -> None:
    decision = world.when(make_event(world.caller("wanda"), warning)).decision
    assert isinstance(decision.reply, Refused)
    assert (decision.changes, decision.facts, decision.reply.why) == ((), (), Why.FIELDS_INVALID)
    assert [(fault.path, fault.rule) for fault in decision.reply.faults] == [("warning", FieldRule.CHOICE)]
