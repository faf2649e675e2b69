"""A client's secrets: the reset with and without an overlap, its early end, and when each was last used."""

from collections.abc import Callable
from dataclasses import fields

import pytest

from ostiary_core import Why
from ostiary_core import events as e
from ostiary_core.model.decision import Update
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Client
from ostiary_core.model.reply import ClientKnown, Done, SecretIssued, TokensIssued
from ostiary_core.model.secret import Secret
from tests.core import asks
from tests.core.asks import client_change, machine
from tests.core.story import World, client, given

DAY = 86_400


def reset(**fields: object) -> e.ClientSecretReset:
    return e.ClientSecretReset(
        caller=e.Operator(), client_id="app", fields=fields, entropy=asks.fresh_entropy()
    )


def by(secret: Secret) -> e.ClientCredentials:
    return e.ClientCredentials(client_id="app", secret=secret, method=e.AuthenticationMethod.BASIC)


def overlapping(world: World, seconds: int = DAY) -> tuple[Secret, Secret]:
    """The old secret and the new one, while both work."""
    old = world.secrets["app"]
    return old, world.when(reset(keepOldForSeconds=seconds)).then(SecretIssued).secret


def works(world: World, secret: Secret) -> bool:
    decision = world.when(machine(by(secret)))
    if isinstance(decision.reply, TokensIssued):
        return True
    decision.then_refused(Why.CLIENT_SECRET_WRONG)
    return False


def used(world: World, secret: Secret, at: Instant | None = None) -> e.ClientSecretUsed:
    return e.ClientSecretUsed(client_id="app", digest=secret.digest, used_at=world.now if at is None else at)


def moved_fields(before: Client, after: Client) -> set[str]:
    names = (field.name for field in fields(Client))
    return {name for name in names if getattr(before, name) != getattr(after, name)}


# --- the overlap


def test_a_plain_reset_ends_every_secret_there_is_at_once() -> None:
    for asked in ({}, {"keepOldForSeconds": 0}):
        world = given()
        old, new = overlapping(world)
        latest = world.when(reset(**asked)).then(SecretIssued).secret
        assert [works(world, each) for each in (old, new, latest)] == [False, False, True]
        assert world.client().old_secret_until is None


@pytest.mark.parametrize("seconds", [60, 2_592_000])
def test_both_secrets_work_until_an_overlap_of_a_minute_to_thirty_days_is_over(seconds: int) -> None:
    world = given()
    old, new = overlapping(world, seconds)
    assert (works(world, old), works(world, new)) == (True, True)
    world.wait(seconds - 0.001)
    assert works(world, old)
    world.wait(0.001)
    assert (works(world, old), works(world, new)) == (False, True)


@pytest.mark.parametrize(
    "asked, rule",
    [
        (1, FieldRule.OVERLAP),
        (59, FieldRule.OVERLAP),
        (2_592_001, FieldRule.OVERLAP),
        (-60, FieldRule.OVERLAP),
        ("60", FieldRule.INTEGER),
        (True, FieldRule.INTEGER),
        (None, FieldRule.INTEGER),
        (60.0, FieldRule.INTEGER),
    ],
)
def test_another_overlap_is_refused_and_resets_nothing(asked: object, rule: FieldRule) -> None:
    world = given()
    before = world.everything()
    assert world.when(reset(keepOldForSeconds=asked)).then_faults() == {"keepOldForSeconds": rule}
    assert world.when(reset(keepOld=60)).then_faults() == {"keepOld": FieldRule.UNKNOWN}
    assert world.everything() == before


def test_at_most_two_secrets_work() -> None:
    world = given()
    first, second = overlapping(world)
    third = world.when(reset(keepOldForSeconds=DAY)).then(SecretIssued).secret
    assert [works(world, each) for each in (first, second, third)] == [False, True, True]


def test_the_old_secret_can_be_ended_early_and_only_once() -> None:
    world = given()
    old, new = overlapping(world)
    ended = e.OldSecretEnded(caller=e.Operator(), client_id="app")
    world.when(ended).then(ClientKnown)
    assert (works(world, old), works(world, new)) == (False, True)
    again = world.when(ended)
    again.then(ClientKnown)
    assert not again.decision.changes
    assert not again.decision.facts


@pytest.mark.parametrize(
    "ending, why", [(e.ClientDisabled, Why.CLIENT_DISABLED), (e.ClientDeleted, Why.CLIENT_DELETED)]
)
def test_disabling_and_deleting_end_the_old_secret_for_good(ending: Callable[..., e.Event], why: Why) -> None:
    world = given()
    old, new = overlapping(world)
    world.given(ending(caller=e.Operator(), client_id="app"))
    world.when(machine(by(old))).then_refused(Why.CLIENT_SECRET_WRONG)
    world.when(machine(by(new))).then_refused(why)
    assert world.client().old_secret_digest is None
    if ending is e.ClientDisabled:
        world.given(e.ClientEnabled(caller=e.Operator(), client_id="app"))
        assert (works(world, old), works(world, new)) == (False, True)


def test_the_audit_trail_tells_the_kinds_of_reset_apart() -> None:
    world = given()
    for event, kind in (
        (reset(keepOldForSeconds=60), FactKind.CLIENT_SECRET_ADDED),
        (e.OldSecretEnded(caller=e.Operator(), client_id="app"), FactKind.CLIENT_OLD_SECRET_ENDED),
        (reset(), FactKind.CLIENT_SECRET_RESET),
    ):
        assert world.when(event).facts == [kind]


@pytest.mark.parametrize("client_id, why", [("console", Why.BUILT_IN_PROTECTED), ("nobody", Why.NOT_FOUND)])
def test_only_a_registered_client_has_an_old_secret_to_end(client_id: str, why: Why) -> None:
    given().when(e.OldSecretEnded(caller=e.Operator(), client_id=client_id)).then_refused(why)


# --- when each was last used


def test_the_use_of_each_secret_is_noted_on_its_own() -> None:
    world = given()
    old, new = overlapping(world)
    world.given(used(world, new))
    first_at = world.now
    world.wait(300)
    world.given(used(world, old))
    assert (world.client().secret_used_at, world.client().old_secret_used_at) == (first_at, world.now)


def test_a_use_moves_with_the_secret_that_becomes_the_old_one() -> None:
    world = given()
    world.given(used(world, world.secrets["app"]))
    used_at = world.now
    overlapping(world)
    assert (world.client().secret_used_at, world.client().old_secret_used_at) == (None, used_at)


def test_a_use_is_written_at_most_once_a_minute() -> None:
    world = given()
    secret = world.secrets["app"]
    world.given(used(world, secret))
    world.wait(59.999)
    assert world.when(used(world, secret)).decision.changes == ()
    world.wait(0.001)
    assert len(world.when(used(world, secret)).decision.changes) == 1


def test_a_use_never_lies_in_the_future_and_never_goes_back() -> None:
    world = given()
    secret = world.secrets["app"]
    world.given(used(world, secret, at=Instant(world.now + 10_000_000)))
    assert world.client().secret_used_at == world.now
    assert world.when(used(world, secret, at=Instant(0))).decision.changes == ()


def test_a_use_changes_nothing_but_itself() -> None:
    world = given()
    before = world.client()
    [change] = world.when(used(world, world.secrets["app"])).decision.changes
    assert isinstance(change, Update)
    assert moved_fields(before, world.client()) == {"secret_used_at", "revision"}


# --- wrong ones


def wrong(times: int, at: Instant, client_id: str = "app") -> e.WrongSecretsCounted:
    return e.WrongSecretsCounted(client_id=client_id, times=times, last_at=at)


def test_the_counts_of_several_processes_add_up_and_the_latest_time_stays() -> None:
    world = given()
    start = world.now
    world.wait(60)
    world.given(wrong(3, world.now))
    world.given(wrong(5, start))
    assert (world.client().wrong_secrets, world.client().wrong_secret_at) == (8, world.now)


def test_a_wrong_secret_was_never_presented_in_the_future() -> None:
    world = given()
    world.given(wrong(1, Instant(world.now + 10_000_000)))
    assert world.client().wrong_secret_at == world.now


def test_a_count_changes_nothing_but_itself_and_a_new_secret_begins_another() -> None:
    world = given()
    before = world.client()
    [change] = world.when(wrong(2, world.now)).decision.changes
    assert isinstance(change, Update)
    assert moved_fields(before, world.client()) == {"wrong_secrets", "wrong_secret_at", "revision"}
    world.given(reset(keepOldForSeconds=60))
    assert (world.client().wrong_secrets, world.client().wrong_secret_at) == (0, None)


def test_nothing_is_noted_of_an_unknown_secret_or_where_no_client_may_have_one() -> None:
    world = given(client(), client("deleted"))
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="deleted"))
    for client_id in ("app", "console", "nobody", "deleted"):
        unknown = e.ClientSecretUsed(client_id=client_id, digest=Secret("another").digest, used_at=world.now)
        world.when(unknown).then(Done, changes=[])
        if client_id != "app":
            world.when(wrong(1, world.now, client_id)).then(Done, changes=[])


def test_a_record_with_its_uses_may_be_sent_back_as_it_was_shown() -> None:
    shown = client_change(secretLastUsedAt="x", oldSecretLastUsedAt=None, oldSecretUntil="y", wrongSecrets=3)
    given().when(shown).then(ClientKnown)
