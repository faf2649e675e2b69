"""Invitations: their permissions, their lifetime, and the password that they set."""

from collections.abc import Callable

import pytest

from ostiary_core import Secret, Why, events as e
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import later
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Table
from ostiary_core.model.reply import Done, InvitationIssued, UserKnown
from tests.support import asks
from tests.support.story import Outcome, World, client, given, user

PHONE = "+8613800000000"
HOURS = 60 * 60


@pytest.fixture
def world() -> World:
    support = asks.role("support", Permission.USER_UPDATE)
    administrator = asks.role("administrator", Permission.USER_UPDATE, Permission.ROLE_UPDATE)
    return given(
        *(client(), support, administrator, user(phone=PHONE), user("bob", roles=("support",))),
        user("carol", roles=("administrator",)),
    )


def invite(world: World, username: str = "alice", caller: e.Caller | None = None) -> Outcome:
    """Invite a user; without a caller, as the operator."""
    event = e.InvitationMade(
        caller=e.Operator() if caller is None else caller,
        user_id=world.user_ids[username],
        entropy=asks.fresh_entropy(),
    )
    return world.when(event)


def token_of(outcome: Outcome) -> Secret:
    return outcome.then(InvitationIssued).token


def accept(world: World, token: Secret, password: str = "new") -> Outcome:
    return world.when(e.InvitationAccepted(token=token, new_password_hash=asks.hash_of(password)))


def test_an_invitation_sets_the_password_once_and_starts_no_session(world: World) -> None:
    tokens, before = world.tokens(), world.sessions()
    issued = invite(world).then(
        InvitationIssued, changes=["insert invitation"], facts=[FactKind.INVITATION_MADE]
    )
    assert (issued.user, issued.expires_at) == (world.user(), later(world.now, 72 * HOURS))
    assert world.is_active(tokens.access_token), "nothing changes before it is used"
    world.login()
    accepted = accept(world, issued.token)
    accepted.then(
        Done,
        changes=["delete invitation", "update user"],
        facts=[FactKind.PASSWORD_SET, FactKind.USER_SESSIONS_ENDED],
    )
    assert {fact.why for fact in accepted.decision.facts} == {Why.INVITATION_ACCEPTED}
    alice = world.user()
    assert (alice.password_hash, alice.must_change_password) == (asks.hash_of("new"), False)
    world.assert_ended(tokens)
    assert len(world.sessions()) == len(before) + 1, "only the sign-in above"
    accept(world, issued.token, "other").then_refused(Why.INVITATION_WRONG)
    world.login(password="new")


def test_only_a_digest_is_stored(world: World) -> None:
    token = token_of(invite(world))
    [stored] = world.store.records(Table.INVITATION)
    assert token.reveal() not in repr(stored)
    assert stored.digest == token.digest  # type: ignore[union-attr]
    assert token.reveal().startswith(world.user_ids["alice"])


def test_an_invitation_is_good_for_72_hours(world: World) -> None:
    token = token_of(invite(world))
    world.wait(72 * HOURS)
    accept(world, token).then_refused(Why.INVITATION_WRONG)
    world.wait(-0.001)
    accept(world, token).then(Done)


def test_a_newer_invitation_replaces_the_one_before(world: World) -> None:
    first = token_of(invite(world))
    again = invite(world)
    again.then(InvitationIssued, changes=["update invitation"])
    accept(world, first).then_refused(Why.INVITATION_WRONG)
    accept(world, token_of(again)).then(Done)


ENDINGS: dict[str, Callable[[World, str], e.Event]] = {
    "the password is reset": lambda world, user_id: e.PasswordResetByAdministrator(
        caller=e.Operator(), user_id=user_id, new_password_hash=asks.hash_of("reset")
    ),
    "the user changes the password": lambda world, user_id: e.PasswordChanged(
        caller=world.caller(),
        verified_against=asks.hash_of("right"),
        password_matches=True,
        new_password_hash=asks.hash_of("changed"),
    ),
    "another telephone number": lambda world, user_id: asks.user_change(user_id, phone="+8613900000000"),
    "disabled": lambda world, user_id: e.UserDisabled(caller=e.Operator(), user_id=user_id),
    "deleted": lambda world, user_id: e.UserDeleted(caller=e.Operator(), user_id=user_id),
    "forced out": lambda world, user_id: e.UserForcedOut(caller=e.Operator(), user_id=user_id),
    "everybody forced out": lambda world, user_id: e.EverybodyForcedOut(
        caller=e.Operator(), client_ids=("console", "mobile", "app")
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_invitation_dies_with_any_ending_of_its_account(world: World, ending: str) -> None:
    user_id = world.user_ids["alice"]
    token = token_of(invite(world))
    world.given(ENDINGS[ending](world, user_id))
    accept(world, token).then_refused(Why.INVITATION_WRONG)
    if ending == "disabled":
        world.given(e.UserEnabled(caller=e.Operator(), user_id=user_id))
        accept(world, token).then_refused(Why.INVITATION_WRONG)


def test_an_account_that_is_disabled_cannot_use_one_made_meanwhile(world: World) -> None:
    user_id = world.user_ids["alice"]
    world.given(e.UserDisabled(caller=e.Operator(), user_id=user_id))
    token = token_of(invite(world))
    accept(world, token).then_refused(Why.INVITATION_WRONG)
    world.given(e.UserEnabled(caller=e.Operator(), user_id=user_id))
    accept(world, token).then(Done)


@pytest.mark.parametrize(
    "text",
    ["", ".", "nonsense", "{user}", "{user}.", "{user}.wrong", "{other}.{rest}", "..", f"{'a' * 65}.b"],
)
def test_texts_that_are_no_invitation_are_refused_alike(world: World, text: str) -> None:
    token = token_of(invite(world)).reveal()
    sent = text.format(
        user=world.user_ids["alice"], other=world.user_ids["bob"], rest=token.partition(".")[2]
    )
    accept(world, Secret(sent)).then_refused(Why.INVITATION_WRONG, facts=())


def test_inviting_is_bound_as_a_reset_of_the_password_is(world: World) -> None:
    bob = world.caller("bob")
    invite(world, "carol", bob).then_refused(Why.PERMISSION_MISSING)
    invite(world, "bob", bob).then_refused(Why.OWN_ACCOUNT_ALONE)
    invite(world, "bob", world.caller()).then_refused(Why.PERMISSION_MISSING)
    invite(world, caller=bob).then(InvitationIssued)
    world.wait(16 * 60)
    invite(world, caller=bob).then_refused(Why.PROOF_REQUIRED)


def test_an_account_shows_until_when_its_invitation_is_good(world: World) -> None:
    def shown() -> UserKnown:
        event = e.UserRequested(caller=e.Operator(), user_id=world.user_ids["alice"])
        return world.when(event).then(UserKnown)

    assert shown().invited_until is None
    issued = invite(world).then(InvitationIssued)
    assert shown().invited_until == issued.expires_at
    accept(world, issued.token).then(Done)
    assert shown().invited_until is None


def test_a_batch_invites_many_at_once(world: World) -> None:
    parts = tuple(
        e.InvitationMade(caller=e.Operator(), user_id=world.user_ids[name], entropy=asks.fresh_entropy())
        for name in ("alice", "bob")
    )
    [decision] = world.store.turn([e.BatchRequested(events=parts)], world.now)
    assert [type(reply) for reply in decision.reply.replies] == [InvitationIssued] * 2  # type: ignore[union-attr]
