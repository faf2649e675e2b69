"""Signing in and out, and the login session ("Authentication", READINGS 12, 23-25)."""

import pytest

from ostiary_core import Secret, Why
from ostiary_core import events as e
from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.reply import AccountKnown, Done, LoginIssued, Profile, TextCodeDrawn
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


def test_names_are_found_whatever_their_case() -> None:
    world = given(user("Alice"))
    assert world.sign_in("aLICE").then(LoginIssued).user_id == world.user_ids["Alice"]
    world.sign_in("ａｌｉｃｅ").then(LoginIssued)


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
    event = e.SignInAttempted(
        username="alice",
        verified_against=asks.hash_of("older"),
        password_matches=True,
        user_agent=None,
        source="",
        entropy=asks.fresh_entropy(),
    )
    world.when(event).then_refused(Why.CREDENTIAL_MOVED_ON)
    login = world.login()
    world.given(password_change(login, new="newer"))
    world.when(password_change(login, new="newest")).then_refused(Why.CREDENTIAL_MOVED_ON)


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


def test_a_login_session_rotates_like_any_other() -> None:
    """docs/decisions/0004."""
    world = given()
    login = world.login()
    second = next_pair(world, login)
    world.when(profile(login.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)
    world.when(profile(second.tokens.access_token)).then(Profile)
    world.wait(30)
    assert next_pair(world, login).tokens.access_token == second.tokens.access_token
    world.wait(0.001)
    assert login.tokens.refresh_token is not None
    world.when(login_refresh(login.tokens.refresh_token)).then_refused(
        Why.NOT_SIGNED_IN, changes=["update session"], facts=[FactKind.SESSION_ENDED]
    )
    world.when(profile(second.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)


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


@row("Authentication rules", "2 a third-party token calls only user-info")
def test_a_third_partys_token_is_nobody_in_the_backend() -> None:
    world = given()
    pair, machine_token, code = world.tokens("root"), world.machine_token(), world.code()
    for token in (pair.access_token, pair.refresh_token, machine_token, code, Secret("")):
        assert token is not None
        caller = e.SignedIn(access_token=token)
        for event in (
            e.AccountRequested(caller=caller),
            e.PasswordHashRequested(of=caller),
            e.SignedOut(caller=caller),
            e.ClientRegistered(caller=caller, fields=client("newcomer").fields, entropy=asks.fresh_entropy()),
            e.SessionForcedOut(caller=caller, session_id=world.the_session().session_id),
        ):
            world.when(event).then_refused(Why.NOT_SIGNED_IN)


def test_signing_out_ends_this_login_session_and_no_other() -> None:
    world = given()
    one, other, pair = world.login(), world.login(), world.tokens()
    world.when(e.SignedOut(caller=signed_in(one))).then(
        Done, changes=["update session"], facts=[FactKind.SESSION_ENDED]
    )
    world.when(profile(one.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)
    assert one.tokens.refresh_token is not None
    world.when(login_refresh(one.tokens.refresh_token)).then_refused(Why.NOT_SIGNED_IN)
    world.when(profile(other.tokens.access_token)).then(Profile)
    assert world.all_active(pair), "third parties' sessions are another matter"


def test_an_account_is_shown_with_what_it_may_do() -> None:
    world = given()
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


def test_a_number_is_sent_ten_codes_a_day_each_a_minute_after_the_one_before() -> None:
    world = given(client(), user(phone="+8613800000000"))

    def is_sent() -> bool:
        purpose, entropy = TextCodePurpose.RESET_PASSWORD, asks.fresh_entropy()
        event = e.TextCodeRequested(caller=None, purpose=purpose, phone="+8613800000000", entropy=entropy)
        return world.when(event).then(TextCodeDrawn).code is not None

    for _ in range(10):
        assert is_sent()
        world.wait(59.999)
        assert not is_sent()
        world.wait(0.001)
    world.wait(86_400 - 600 - 0.001)
    assert not is_sent()
    world.wait(0.001)
    assert is_sent()


# --- one session of the monitor


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


@pytest.mark.parametrize("caller", ["alice", "root"])
def test_a_session_that_is_not_running_cannot_be_forced_out(caller: str) -> None:
    world = given()
    login = signed_in(world.login(caller))
    why = Why.PERMISSION_MISSING if caller == "alice" else Why.NOT_FOUND
    world.when(e.SessionForcedOut(caller=login, session_id="nonsense")).then_refused(why)
