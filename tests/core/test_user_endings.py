"""What ends everything a user has open: each trigger its own test ("Session and tokens", READINGS 9, 24)."""

from collections.abc import Callable

import pytest

from ostiary_core import Secret, Why
from ostiary_core.events import (
    Operator,
    PasswordResetByAdministrator,
    PasswordResetByTextMessage,
    TextCodeRequested,
    UserChanged,
    UserDeleted,
    UserDisabled,
    UserEnabled,
    UserForcedOut,
)
from ostiary_core.model.decision import Done, FactKind, TextCodeDrawn, TokensIssued
from ostiary_core.model.records import TextCodePurpose
from tests.core import asks
from tests.core.asks import password_change, phone_change, profile, redeem, refresh, signed_in
from tests.core.story import Outcome, World, client, given, user
from tests.rows import row

PHONE, NEW_PHONE = "+8613800000000", "+8613900000000"


def change_password(world: World) -> Outcome:
    return world.when(password_change(world.login()))


def change_phone(world: World) -> Outcome:
    login = world.login()
    code = text_code(world, TextCodePurpose.CHANGE_PHONE, NEW_PHONE)
    return world.when(phone_change(login, NEW_PHONE, code))


def change_phone_as_administrator(world: World) -> Outcome:
    return world.when(
        UserChanged(caller=Operator(), user_id=world.user_ids["alice"], fields={"phone": NEW_PHONE})
    )


def reset_by_administrator(world: World) -> Outcome:
    return world.when(
        PasswordResetByAdministrator(
            caller=Operator(), user_id=world.user_ids["alice"], new_password_hash=asks.hash_of("newer")
        )
    )


def recover_by_text_message(world: World) -> Outcome:
    code = text_code(world, TextCodePurpose.RESET_PASSWORD, PHONE)
    return world.when(
        PasswordResetByTextMessage(phone=PHONE, code=code, new_password_hash=asks.hash_of("newer"))
    )


def disable(world: World) -> Outcome:
    return world.when(UserDisabled(caller=Operator(), user_id=world.user_ids["alice"]))


def delete(world: World) -> Outcome:
    return world.when(UserDeleted(caller=Operator(), user_id=world.user_ids["alice"]))


def enter_wrong_passwords(world: World) -> Outcome:
    login = world.login()
    for _ in range(4):
        world.when(password_change(login, old="wrong")).then_refused(
            Why.CURRENT_PASSWORD_WRONG, changes=["update user"], facts=[FactKind.CURRENT_PASSWORD_WRONG]
        )
    return world.when(password_change(login, old="wrong"))


def force_out(world: World) -> Outcome:
    return world.when(UserForcedOut(caller=Operator(), user_id=world.user_ids["alice"]))


def text_code(world: World, purpose: TextCodePurpose, phone: str) -> Secret:
    caller = signed_in(world.login()) if purpose is TextCodePurpose.CHANGE_PHONE else None
    event = TextCodeRequested(caller=caller, purpose=purpose, phone=phone, entropy=asks.fresh_entropy())
    drawn = world.when(event).then(TextCodeDrawn).code
    assert drawn is not None
    return drawn


TABLE = "Session and tokens"
ERRORS = "Token-service errors"

TRIGGERS = [
    pytest.param(
        change_password,
        Why.PASSWORD_CHANGED,
        marks=[
            row(TABLE, "user changes password"),
            row(ERRORS, "invalid_grant: user changed password"),
            row("User-info", "user changed password"),
        ],
        id="user changes password",
    ),
    pytest.param(
        change_phone,
        Why.PHONE_CHANGED,
        marks=[
            row(TABLE, "user changes telephone number"),
            row(ERRORS, "invalid_grant: user changed telephone number"),
        ],
        id="user changes telephone number",
    ),
    pytest.param(
        change_phone_as_administrator, Why.PHONE_CHANGED, id="administrator changes telephone number"
    ),
    pytest.param(
        reset_by_administrator,
        Why.PASSWORD_RESET_BY_ADMINISTRATOR,
        marks=[
            row(TABLE, "password reset by administrator"),
            row(ERRORS, "invalid_grant: password reset"),
        ],
        id="password reset by administrator",
    ),
    pytest.param(
        recover_by_text_message,
        Why.PASSWORD_RESET_BY_TEXT_MESSAGE,
        marks=[
            row(TABLE, "password reset by text-message recovery"),
            row(ERRORS, "invalid_grant: password reset"),
        ],
        id="password reset by text-message recovery",
    ),
    pytest.param(
        disable,
        Why.USER_DISABLED,
        marks=[
            row(TABLE, "user disabled"),
            row(ERRORS, "invalid_grant: user disabled"),
            row("User-info", "user disabled"),
        ],
        id="user disabled",
    ),
    pytest.param(
        delete,
        Why.USER_DELETED,
        marks=[
            row(TABLE, "user deleted"),
            row(ERRORS, "invalid_grant: user deleted"),
            row("User-info", "user deleted"),
        ],
        id="user deleted",
    ),
    pytest.param(
        enter_wrong_passwords,
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY,
        marks=row(TABLE, "current password entered wrongly repeatedly"),
        id="current password wrong repeatedly",
    ),
    pytest.param(
        force_out,
        Why.USER_FORCED_OUT,
        marks=[
            row(TABLE, "user force-logged-out by an administrator"),
            row(ERRORS, "invalid_grant: user force-logged-out"),
        ],
        id="user forced out",
    ),
]


@pytest.mark.parametrize("trigger, why", TRIGGERS)
def test_all_oauth_sessions_and_codes_of_the_user_end(trigger: Callable[[World], Outcome], why: Why) -> None:
    world = given(client(), client("other"), user(phone=PHONE), user("bob"))
    pair, other_pair = world.tokens(), world.tokens(client_id="other")
    code = world.code()
    bobs_pair, bobs_code, machine_token = world.tokens("bob"), world.code("bob"), world.machine_token()

    outcome = trigger(world)

    assert FactKind.USER_SESSIONS_ENDED in outcome.facts
    assert outcome.decision.facts[-1].why is why
    assert world.user().epoch_why is why

    assert not world.any_active(pair)
    assert not world.any_active(other_pair, client_id="other")
    world.when(refresh(world.basic(), pair)).then_refused(Why.SESSION_ENDED)
    world.when(profile(pair.access_token)).then_refused(Why.NOT_SIGNED_IN)
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)

    assert world.all_active(bobs_pair)
    assert world.is_active(machine_token)
    assert world.all_active(world.when(redeem(world.basic(), bobs_code)).then(TokensIssued))


@pytest.mark.parametrize("trigger, why", TRIGGERS)
def test_an_ending_costs_the_same_for_one_session_or_many(
    trigger: Callable[[World], Outcome], why: Why
) -> None:
    """READINGS 9: sessions and codes are not written; they are of an older epoch."""
    world = given(client(), user(phone=PHONE))
    for _ in range(5):
        world.tokens()
    oauth = [session for session in world.sessions() if session.client_id == "app"]

    outcome = trigger(world)

    assert not {"update code", "delete refresh token", "delete session"} & set(outcome.changes)
    assert outcome.changes.count("update session") <= 1, "the login session in which it happened"
    assert [session for session in world.sessions() if session.client_id == "app"] == oauth


def test_enabling_a_user_brings_nothing_back() -> None:
    world = given()
    pair, code = world.tokens(), world.code()
    login = world.login()
    disable(world)
    world.given(UserEnabled(caller=Operator(), user_id=world.user_ids["alice"]))
    assert not world.any_active(pair)
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)
    world.when(profile(login.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)
    assert world.all_active(world.tokens())


def test_a_new_authorization_after_an_ending_stands() -> None:
    world = given()
    force_out(world)
    assert world.all_active(world.tokens())


@pytest.mark.parametrize(
    "trigger", [reset_by_administrator, recover_by_text_message, disable, delete, force_out]
)
def test_login_sessions_end_too(trigger: Callable[[World], Outcome]) -> None:
    world = given(client(), user(phone=PHONE))
    login = world.login()
    trigger(world)
    world.when(profile(login.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)
    assert login.tokens.refresh_token is not None
    world.when(asks.login_refresh(login.tokens.refresh_token)).then_refused(Why.NOT_SIGNED_IN)


@pytest.mark.parametrize("change", [change_password, change_phone])
def test_the_login_session_in_which_a_change_was_made_lives_on_and_no_other(
    change: Callable[[World], Outcome],
) -> None:
    world = given(client(), user(phone=PHONE))
    elsewhere = world.login()
    change(world).then(Done)
    here = [session for session in world.sessions() if session.epochs.user == world.user().epoch]
    assert len(here) == 1
    world.when(profile(elsewhere.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)


# --- the current password, entered wrongly (READINGS 24)


def test_wrong_current_passwords_end_the_login_session_too() -> None:
    world = given()
    login = world.login()
    for _ in range(5):
        world.when(password_change(login, old="wrong"))
    world.when(password_change(login)).then_refused(Why.NOT_SIGNED_IN)


def test_four_wrong_entries_end_nothing() -> None:
    world = given()
    pair, login = world.tokens(), world.login()
    for _ in range(4):
        world.when(password_change(login, old="wrong"))
    assert world.all_active(pair)


def test_only_entries_within_fifteen_minutes_count() -> None:
    world = given()
    pair, login = world.tokens(), world.login()
    world.when(password_change(login, old="wrong"))
    world.wait(15 * 60)
    for _ in range(4):
        world.when(password_change(login, old="wrong")).then_refused(
            Why.CURRENT_PASSWORD_WRONG, changes=["update user"]
        )
    assert world.is_active(pair.access_token)


def test_a_fifth_entry_just_inside_fifteen_minutes_ends_everything() -> None:
    world = given()
    login = world.login()
    for _ in range(4):
        world.when(password_change(login, old="wrong"))
    world.wait(15 * 60 - 0.001)
    world.when(password_change(login, old="wrong")).then_refused(
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY, changes=["update user"]
    )


def test_a_right_entry_starts_the_count_again() -> None:
    world = given()
    login = world.login()
    for _ in range(4):
        world.when(password_change(login, old="wrong"))
    world.when(password_change(login, new="right")).then(Done)
    world.when(password_change(login, old="wrong")).then_refused(
        Why.CURRENT_PASSWORD_WRONG, changes=["update user"]
    )


def test_wrong_entries_in_two_login_sessions_count_together() -> None:
    world = given()
    one, other = world.login(), world.login()
    for login in (one, one, other, other):
        world.when(password_change(login, old="wrong"))
    world.when(password_change(one, old="wrong")).then_refused(
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY, changes=["update user"]
    )


def test_wrong_passwords_at_sign_in_end_nothing() -> None:
    world = given()
    pair = world.tokens()
    for _ in range(20):
        world.wait(1000)
        world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    assert world.is_active(pair.refresh_token)
