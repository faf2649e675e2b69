"""Signing in and out, and the login session ("Authentication", READINGS 12, 23-25)."""

import pytest

from ostiary_core import Why
from ostiary_core import events as e
from ostiary_core.model.decision import Update
from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.records import Role, Table, revised
from ostiary_core.model.reply import AccountKnown, Done, LoginIssued, Profile
from tests.core import asks
from tests.core.asks import login_refresh, password_change, profile, signed_in
from tests.core.story import World, client, given, user
from tests.rows import row


def next_pair(world: World, login: LoginIssued, user_agent: str | None = asks.BROWSER) -> LoginIssued:
    token = login.tokens.refresh_token
    assert token is not None
    return world.when(login_refresh(token, user_agent=user_agent)).then(LoginIssued)


# --- signing in


def test_signing_in_starts_a_login_session_of_half_an_hour_and_seven_days_however_often_refreshed() -> None:
    """READINGS 25."""
    world = given()
    login = world.login()
    assert login.tokens.expires_in_seconds == 1800
    assert login.tokens.refresh_token is not None
    world.wait(1799.999)
    world.when(profile(login.tokens.access_token)).then(Profile)
    world.wait(0.001)
    world.when(profile(login.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)
    for _ in range(6):
        world.wait(86_400)
        login = next_pair(world, login)
    world.wait(86_400 - 1800 - 0.001)
    login = next_pair(world, login)
    world.wait(0.001)
    assert login.tokens.refresh_token is not None
    world.when(login_refresh(login.tokens.refresh_token)).then_refused(Why.NOT_SIGNED_IN)


@pytest.mark.parametrize("username", ["nobody", "", "\0", "\ud800", "x" * 100_000])
def test_an_unknown_name_and_a_wrong_password_are_told_apart_by_nobody(username: str) -> None:
    world = given()
    world.sign_in(username).then_refused(Why.SIGN_IN_WRONG, facts=[FactKind.SIGN_IN_FAILED])
    world.sign_in("alice", "wrong").then_refused(
        Why.SIGN_IN_WRONG, changes=["update user"], facts=[FactKind.SIGN_IN_FAILED]
    )


@pytest.mark.parametrize("ending", [e.UserDisabled, e.UserDeleted])
def test_a_disabled_or_deleted_user_cannot_sign_in(ending: type[e.UserDisabled]) -> None:
    world = given()
    world.given(ending(caller=e.Operator(), user_id=world.user_ids["alice"]))
    outcome = world.sign_in()
    assert not isinstance(outcome.reply, LoginIssued)
    assert FactKind.SIGN_IN_FAILED in outcome.facts


def test_a_password_that_was_verified_against_another_hash_does_nothing() -> None:
    """It was changed while the runtime was hashing."""
    world = given()
    world.when(asks.sign_in(against=asks.hash_of("older"))).then_refused(Why.CREDENTIAL_MOVED_ON)
    login = world.login()
    world.given(password_change(login, new="newer"))
    world.when(password_change(login, new="newest")).then_refused(Why.CREDENTIAL_MOVED_ON)


def test_a_sign_in_may_bring_a_newer_hash_of_the_same_password_which_ends_nothing() -> None:
    world = given()
    world.login()

    def attempt(*, matches: bool) -> e.SignInAttempted:
        made_anew = asks.hash_of("right, made anew")
        return asks.sign_in(password_matches=matches, new_password_hash=made_anew)

    world.when(attempt(matches=False)).then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    before = world.user("alice")
    world.when(attempt(matches=True)).then(LoginIssued)
    after = world.user("alice")
    assert after == revised(
        before, password_hash=asks.hash_of("right, made anew"), failed_sign_ins=0, last_failed_sign_in_at=None
    )


def test_failed_sign_ins_slow_an_account_down_and_lock_nobody_out() -> None:
    world = given()
    for _ in range(5):
        world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    world.sign_in(password="right").then_refused(Why.SIGN_INS_TOO_FREQUENT)
    world.wait(1)
    world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    world.wait(1)
    world.sign_in(password="right").then_refused(Why.SIGN_INS_TOO_FREQUENT)
    world.wait(15 * 60)
    world.sign_in(password="right").then(LoginIssued)
    world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    world.sign_in(password="right").then(LoginIssued)


def test_a_clock_that_was_set_back_keeps_nobody_out() -> None:
    world = given()
    for _ in range(7):
        world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
        world.wait(10)
    world.wait(-24 * 60 * 60)
    world.sign_in(password="right").then(LoginIssued)


def test_a_failure_that_costs_nothing_keeps_nobody_out_where_the_clock_is_behind() -> None:
    """Two instances, one of whose clocks goes twenty seconds ahead and counted the failure."""
    world = given()
    world.wait(20)
    world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    world.wait(-20)
    world.sign_in(password="right").then(LoginIssued)


# --- the login session


@row("Authentication rules", "2 auth/refresh takes no OAuth refresh token")
def test_the_backends_refresh_takes_no_third_partys_token() -> None:
    world = given()
    pair, code, login = world.tokens(), world.code(), world.login()
    before = world.everything()
    for token in (
        pair.refresh_token,
        pair.access_token,
        world.machine_token(),
        code,
        login.tokens.access_token,
    ):
        assert token is not None
        world.when(login_refresh(token)).then_refused(Why.NOT_SIGNED_IN)
    assert before.items() <= world.everything().items()
    assert world.all_active(pair)


def test_an_account_is_shown_with_what_it_may_do() -> None:
    """Also by roles of an earlier version, of which one lacks every permission and one is gone."""
    world = given()
    [role] = world.store.fetch(Table.ROLE, [SUPER_ADMINISTRATOR])
    assert isinstance(role, Role)
    world.store.write([Update(role, revised(role, permissions=()))])
    world.store.write([Update(world.user(), revised(world.user(), role_ids=("gone",)))])
    alice = world.when(e.AccountRequested(caller=signed_in(world.login()))).then(AccountKnown)
    assert alice.user is not None
    assert (alice.user.username, alice.permissions) == ("alice", ())
    root = world.when(e.AccountRequested(caller=signed_in(world.login("root")))).then(AccountKnown)
    assert set(root.permissions) == {permission.value for permission in Permission}


def test_a_password_that_must_change_can_be_changed() -> None:
    world = given(client(), user(must_change_password=True))
    login = world.login()
    assert login.must_change_password
    world.when(password_change(login, new="newer")).then(Done)
    assert not world.login(password="newer").must_change_password


@row("Session (grant)", "client-credentials session force-terminable only by a super administrator")
def test_a_machine_session_is_forced_out_only_by_a_super_administrator() -> None:
    world = given()
    world.given(
        e.RoleRegistered(
            caller=e.Operator(),
            fields={"code": "clerk", "name": "Clerk", "permissions": ["monitor.online.kill"]},
        ),
        user("clerk", roles=("clerk",)),
    )
    pair, token = world.tokens(), world.machine_token()
    clerk, root = signed_in(world.login("clerk")), signed_in(world.login("root"))
    machine_session = world.the_session("client_credentials").session_id

    world.when(e.SessionForcedOut(caller=clerk, session_id=machine_session)).then_refused(Why.NOT_FOUND)
    assert world.is_active(token)
    world.given(e.SessionForcedOut(caller=clerk, session_id=world.the_session().session_id))
    assert not world.any_active(pair)
    world.given(e.SessionForcedOut(caller=root, session_id=machine_session))
    assert not world.is_active(token)
