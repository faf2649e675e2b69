"""A client's secrets work or fail: after a reset with and without an overlap, and after its early end."""

import hmac
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import pytest

from ostiary_core import Instant, Why, events as e
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.instant import later
from ostiary_core.model.records import revise
from ostiary_core.model.reply import ClientKnown, Done, SecretIssued, TokensIssued
from ostiary_core.model.secret import Secret
from tests.support import asks
from tests.support.asks import machine
from tests.support.story import World, client, given

DAY = 86_400
OF_OLD_SECRET = ("old_secret_digest", "old_secret_until", "old_secret_expires_on", "old_secret_used_at")


def reset(**fields: object) -> e.ClientSecretReset:
    return e.ClientSecretReset(
        caller=e.Operator(), client_id="app", fields=fields, entropy=asks.fresh_entropy()
    )


def by(secret: Secret) -> e.ClientCredentials:
    return e.ClientCredentials(client_id="app", secret=secret, method=e.AuthenticationMethod.BASIC)


def use_of(secret: Secret, at: Instant) -> e.ClientSecretUsed:
    return e.ClientSecretUsed(client_id="app", digest=secret.digest, used_at=at)


def overlapping(world: World, seconds: int = DAY) -> tuple[Secret, Secret]:
    """Reset the secret with an overlap; return the old secret and the new one."""
    return world.secrets["app"], world.when(reset(keepOldForSeconds=seconds)).then(SecretIssued).secret


def works(world: World, secret: Secret) -> bool:
    decision = world.when(machine(by(secret)))
    if isinstance(decision.reply, TokensIssued):
        return True
    decision.then_refused(Why.CLIENT_SECRET_WRONG)
    return False


def test_a_given_secret_takes_the_place_of_both_and_changes_nothing_where_it_stands() -> None:
    world = given(client(), asks.user("alice"))
    old, new = overlapping(world)
    brought = Secret("brought from another server")
    giving = e.ClientSecretReplaced(caller=e.Operator(), client_id="app", digest=brought.digest)
    world.when(giving).then(ClientKnown, changes=["update client"], facts=[FactKind.CLIENT_SECRET_RESET])
    assert [works(world, secret) for secret in (old, new, brought)] == [False, False, True]
    world.when(giving).then(ClientKnown, changes=(), facts=())
    too_short = replace(giving, digest=old.digest, fields={"keepOldForSeconds": 59})
    assert world.when(too_short).then_faults() == {"keepOldForSeconds": FieldRule.OVERLAP}
    registered = client("moved")
    assert isinstance(registered, e.ClientRegistered)
    world.when(replace(registered, secret_digest=brought.digest)).then(ClientKnown)
    assert world.client("moved").secret_digest == brought.digest


def test_a_plain_reset_ends_every_secret_there_is_at_once() -> None:
    for asked in ({}, {"keepOldForSeconds": 0}):
        world = given()
        old, new = overlapping(world)
        latest = world.when(reset(**asked)).then(SecretIssued).secret
        assert [works(world, each) for each in (old, new, latest)] == [False, False, True]
        assert world.client().old_secret_until is None


def test_a_second_reset_replaces_a_secret_that_was_never_used_and_keeps_the_older_alive(world: World) -> None:
    """Reset twice, as a double click or a repeated request does (READINGS 49)."""
    old, unseen = overlapping(world)
    world.given(use_of(old, world.now))
    used_at = world.now
    world.wait(DAY - 1)
    new = world.when(reset(keepOldForSeconds=DAY)).then(SecretIssued).secret
    assert [works(world, each) for each in (old, unseen, new)] == [True, False, True]
    assert world.client().old_secret_used_at == used_at
    world.wait(DAY - 0.001)
    assert works(world, old)
    world.wait(0.001)
    assert [works(world, each) for each in (old, unseen, new)] == [False, False, True]


@pytest.mark.parametrize("is_used", [True, False])
def test_a_second_reset_keeps_the_newest_where_it_was_used_or_where_no_older_one_works(is_used: bool) -> None:
    world = given()
    old, newest = overlapping(world, 60)
    if is_used:
        world.given(use_of(newest, world.now))
    else:
        world.wait(60)
    latest = world.when(reset(keepOldForSeconds=60)).then(SecretIssued).secret
    assert [works(world, each) for each in (old, newest, latest)] == [False, True, True]


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
    "ending, why", [(e.ClientDisabled, Why.CLIENT_DISABLED), (e.ClientDeleted, Why.CLIENT_DELETED)]
)
def test_disabling_and_deleting_end_the_old_secret_for_good(ending: Callable[..., e.Event], why: Why) -> None:
    world = given()
    old, new = overlapping(world)
    world.given(use_of(old, world.now))
    world.given(ending(caller=e.Operator(), client_id="app"))
    world.when(machine(by(old))).then_refused(Why.CLIENT_SECRET_WRONG)
    world.when(machine(by(new))).then_refused(why)
    assert {getattr(world.client(), name) for name in OF_OLD_SECRET} == {None}
    if ending is e.ClientDisabled:
        world.given(e.ClientEnabled(caller=e.Operator(), client_id="app"))
        assert (works(world, old), works(world, new)) == (False, True)


# --- the use of secrets is noted


def test_a_reset_writes_and_records_what_it_keeps_and_begins_to_count_anew() -> None:
    world = given()
    wrong = e.WrongSecretsCounted(client_id="app", times=3, last_at=world.now)
    for keep, kind in ((60, FactKind.CLIENT_SECRET_ADDED), (0, FactKind.CLIENT_SECRET_RESET)):
        world.given(use_of(world.secrets["app"], world.now), wrong).wait(1)
        before, decision = world.client(), world.when(reset(keepOldForSeconds=keep)).decision
        assert isinstance(decision.reply, SecretIssued)
        world.secrets["app"] = secret = decision.reply.secret
        kept = (before.secret_digest, later(world.now, 60), None, before.secret_used_at)
        after = revise(
            before,
            secret_digest=secret.digest,
            secret_used_at=None,
            **dict(zip(OF_OLD_SECRET, kept if keep else (None,) * 4, strict=True)),
            wrong_secrets=0,
            wrong_secret_at=None,
            updated_at=world.now,
        )
        facts = (Fact(kind, COMMAND_LINE, client_id="app"),)
        assert decision == Decision(SecretIssued(after, secret), (Update(before, after),), facts)
    for keep in (-1, 1, 59, 2_592_001):
        assert world.when(reset(keepOldForSeconds=keep)).then_faults() == {
            "keepOldForSeconds": FieldRule.OVERLAP
        }


def test_the_use_of_either_secret_is_noted_once_a_minute_and_never_ahead_of_the_clock() -> None:
    world = given()
    gone = world.secrets["app"]
    old = world.when(reset()).then(SecretIssued).secret
    world.given(use_of(old, later(world.now, 60)))
    assert world.client().secret_used_at == world.now
    world.wait(60)
    present = world.when(reset(keepOldForSeconds=DAY)).then(SecretIssued).secret
    for secret, waited, field in (
        (gone, 0, None),
        *((old, 0, "old_secret_used_at"), (old, 59.999, None), (old, 0.001, "old_secret_used_at")),
        *((present, 0, "secret_used_at"), (present, 59.999, None), (present, 0.001, "secret_used_at")),
    ):
        before = world.wait(waited).client()
        writes = () if field is None else (Update(before, revise(before, **{field: world.now})),)
        assert world.when(use_of(secret, world.now)).decision == Decision(Done(), writes)


def test_wrong_secrets_are_added_up_and_nothing_is_noted_of_clients_that_have_none() -> None:
    world = given()
    counted = e.WrongSecretsCounted(client_id="app", times=3, last_at=Instant(world.now - 5))
    for times in (3, 6):
        before = world.client()
        after = revise(before, wrong_secrets=times, wrong_secret_at=counted.last_at)
        assert world.when(counted).decision == Decision(Done(), (Update(before, after),))
    world.given(replace(counted, times=1, last_at=Instant(world.now + 5)), counted)
    assert (world.client().wrong_secrets, world.client().wrong_secret_at) == (10, world.now)
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="app"))
    for name in ("app", "nosuch", "console"):
        for event in (counted, use_of(world.secrets["app"], world.now)):
            assert world.when(replace(event, client_id=name)).decision == Decision(Done())


# --- last days


def until_day(date: str | None) -> e.ClientChanged:
    return asks.client_change(secretExpiresOn=date)


def test_a_secret_works_through_its_last_day() -> None:
    world = given(client(), until_day("2027-01-16"))
    secret = world.secrets["app"]
    world.wait(DAY + 16 * 3_600 - 1)  # it is 8 o'clock of the day before
    assert works(world, secret)
    world.wait(1)
    world.when(machine(by(secret))).then_refused(Why.CLIENT_SECRET_EXPIRED)
    world.when(machine(asks.credentials("app", "wrong"))).then_refused(Why.CLIENT_SECRET_WRONG)
    old, new = overlapping(world)
    assert (works(world, old), works(world, new)) == (False, True)
    assert world.client().secret_expires_on is None


def test_a_secret_that_a_reset_keeps_works_no_longer_than_its_last_day() -> None:
    world = given(client(), until_day("2027-01-16"))
    old, new = overlapping(world, 30 * DAY)
    world.given(until_day("2027-01-15"))
    world.wait(DAY + 16 * 3_600 - 1)
    assert works(world, old)
    world.when(machine(by(new))).then_refused(Why.CLIENT_SECRET_EXPIRED)
    world.wait(1)
    assert not works(world, old)


def test_the_last_day_of_an_unused_secret_does_not_bound_the_one_before_it() -> None:
    world = given(client())
    old, _ = overlapping(world, 30 * DAY)
    world.given(until_day("2027-01-15"))
    world.given(reset(keepOldForSeconds=30 * DAY))
    world.wait(20 * DAY)
    assert works(world, old)


@pytest.mark.parametrize("waited, is_over", [(DAY - 0.001, False), (DAY, True)])
def test_an_old_secret_is_ended_once_and_only_while_it_works(waited: float, is_over: bool) -> None:
    world = given()
    old, _ = overlapping(world)
    world.given(use_of(old, world.now)).wait(waited)
    ending, before = e.OldSecretEnded(caller=e.Operator(), client_id="app"), world.client()
    after = revise(before, **dict.fromkeys(OF_OLD_SECRET), updated_at=world.now)
    told = Fact(FactKind.CLIENT_OLD_SECRET_ENDED, COMMAND_LINE, client_id="app")
    ended = (Update(before, after),), (told,)
    expected = Decision(ClientKnown(before)) if is_over else Decision(ClientKnown(after), *ended)
    assert world.when(ending).decision == expected
    assert not works(world, old)
    assert world.when(ending).decision == Decision(expected.reply)


def test_a_second_reset_keeps_the_old_secret_no_longer_than_its_last_day() -> None:
    world = given(client(), until_day("2027-01-16"))
    old, _ = overlapping(world, 60)
    world.given(reset(keepOldForSeconds=30 * DAY))
    world.wait(DAY + 16 * 3_600 - 1)
    assert works(world, old)
    world.wait(1)
    assert not works(world, old)


def test_the_last_day_of_a_secret_is_one_of_the_calendar() -> None:
    world = given(client())
    for text in ("2027-02-30", "20270228", "tomorrow", "2027-1-1", "9999-12-31x"):
        assert "secretExpiresOn" in world.when(until_day(text)).then_faults()
    world.given(until_day("2027-02-28"), until_day(None))
    assert world.client().secret_expires_on is None


def test_as_many_secrets_are_compared_for_an_unknown_client_as_for_a_wrong_secret() -> None:
    """Compare as often, or an unknown client would be answered sooner."""
    world, compared = given(), set()
    wrong = {"app": Why.CLIENT_SECRET_WRONG, "console": Why.CLIENT_BUILT_IN, "nosuch": Why.CLIENT_UNKNOWN}
    for client_id, why in wrong.items():
        with patch("hmac.compare_digest", wraps=hmac.compare_digest) as compare:
            world.when(machine(asks.credentials(client_id, "x"))).then_refused(why)
        compared.add(compare.call_count)
    assert len(compared) == 1


def test_ending_sessions_ends_no_secret(world: World) -> None:
    """Keep both secrets, or the client fails on each machine that still has the old one."""
    old, new = overlapping(world)
    for ending in (
        e.ClientForcedOut(caller=e.Operator(), client_id="app"),
        e.EverybodyForcedOut(caller=e.Operator(), client_ids=("app",)),
    ):
        world.given(ending)
        assert (works(world, old), works(world, new)) == (True, True)
