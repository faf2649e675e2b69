"""What ends everything a user has open: each trigger its own test ("Session and tokens", READINGS 9, 24)."""

from collections.abc import Callable
from typing import Any

import pytest

from ostiary_core import Secret, Why
from ostiary_core import events as e
from ostiary_core.model.fact import FactKind
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.reply import Done, TextCodeDrawn, TokensIssued
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
        e.UserChanged(caller=e.Operator(), user_id=world.user_ids["alice"], fields={"phone": NEW_PHONE})
    )


def reset_by_administrator(world: World) -> Outcome:
    return world.when(
        e.PasswordResetByAdministrator(
            caller=e.Operator(), user_id=world.user_ids["alice"], new_password_hash=asks.hash_of("newer")
        )
    )


def recover_by_text_message(world: World) -> Outcome:
    code = text_code(world, TextCodePurpose.RESET_PASSWORD, PHONE)
    return world.when(
        e.PasswordResetByTextMessage(phone=PHONE, code=code, new_password_hash=asks.hash_of("newer"))
    )


def disable(world: World) -> Outcome:
    return world.when(e.UserDisabled(caller=e.Operator(), user_id=world.user_ids["alice"]))


def delete(world: World) -> Outcome:
    return world.when(e.UserDeleted(caller=e.Operator(), user_id=world.user_ids["alice"]))


def enter_wrong_passwords(world: World) -> Outcome:
    login = world.login()
    for _ in range(4):
        world.when(password_change(login, old="wrong")).then_refused(
            Why.CURRENT_PASSWORD_WRONG, changes=["update user"], facts=[FactKind.CURRENT_PASSWORD_WRONG]
        )
    return world.when(password_change(login, old="wrong"))


def force_out(world: World) -> Outcome:
    return world.when(e.UserForcedOut(caller=e.Operator(), user_id=world.user_ids["alice"]))


def text_code(world: World, purpose: TextCodePurpose, phone: str) -> Secret:
    caller = signed_in(world.login()) if purpose is TextCodePurpose.CHANGE_PHONE else None
    event = e.TextCodeRequested(caller=caller, purpose=purpose, phone=phone, entropy=asks.fresh_entropy())
    drawn = world.when(event).then(TextCodeDrawn).code
    assert drawn is not None
    return drawn


TABLE = "Session and tokens"
ERRORS = "Token-service errors"


def trigger(
    end: Callable[[World], Outcome], why: Why, *names: str, error: str | None = None, is_profile: bool = False
) -> Any:
    """A trigger with its rows: what ends sessions, what refuses a token, and what user-info says."""
    marks = [row(TABLE, name) for name in names]
    if error is not None:
        marks.append(row(ERRORS, f"invalid_grant: {error}"))
    if is_profile:
        marks.append(row("User-info", error or ""))
    return pytest.param(end, why, marks=marks, id=end.__name__)


TRIGGERS = [
    trigger(
        change_password,
        Why.PASSWORD_CHANGED,
        "user changes password",
        error="user changed password",
        is_profile=True,
    ),
    trigger(
        change_phone,
        Why.PHONE_CHANGED,
        "user changes telephone number",
        error="user changed telephone number",
    ),
    trigger(change_phone_as_administrator, Why.PHONE_CHANGED),
    trigger(
        reset_by_administrator,
        Why.PASSWORD_RESET_BY_ADMINISTRATOR,
        "password reset by administrator",
        error="password reset",
    ),
    trigger(
        recover_by_text_message,
        Why.PASSWORD_RESET_BY_TEXT_MESSAGE,
        "password reset by text-message recovery",
        error="password reset",
    ),
    trigger(disable, Why.USER_DISABLED, "user disabled", error="user disabled", is_profile=True),
    trigger(delete, Why.USER_DELETED, "user deleted", error="user deleted", is_profile=True),
    trigger(
        enter_wrong_passwords,
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY,
        "current password entered wrongly repeatedly",
    ),
    trigger(
        force_out,
        Why.USER_FORCED_OUT,
        "user force-logged-out by an administrator",
        error="user force-logged-out",
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
    world.when(refresh(world.basic(), pair)).then_refused(Why.SESSION_ENDED, error="invalid_grant")
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
    world.given(e.UserEnabled(caller=e.Operator(), user_id=world.user_ids["alice"]))
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


@pytest.mark.parametrize(
    "entries, ends",
    [
        ("wwww", False),
        ("wwwww", True),
        ("wwww-w", True),
        ("w.wwww", False),
        ("wwwwrw", False),
        ("wwoow", True),
    ],
    ids=["four", "five", "just inside", "only those within count", "a right one between", "two sessions"],
)
def test_five_wrong_entries_within_fifteen_minutes_end_everything(entries: str, ends: bool) -> None:
    """w: wrong, o: wrong in another login session, r: right; a dot waits for 15 minutes, a dash not quite."""
    world = given()
    pair, one, other = world.tokens(), world.login(), world.login()
    replies = []
    for entry in entries:
        match entry:
            case "." | "-":
                world.wait(15 * 60 - (0.001 if entry == "-" else 0))
            case "r":
                world.when(password_change(one, new="right")).then(Done)
                pair = world.tokens()
            case _:
                replies.append(world.when(password_change(one if entry == "w" else other, old="wrong")))
    for outcome in replies[:-1]:
        outcome.then_refused(Why.CURRENT_PASSWORD_WRONG, changes=["update user"])
    last = Why.CURRENT_PASSWORD_WRONG_REPEATEDLY if ends else Why.CURRENT_PASSWORD_WRONG
    replies[-1].then_refused(last, changes=["update user"])
    assert world.is_active(pair.refresh_token) is not ends
    if ends:
        world.when(password_change(one)).then_refused(Why.NOT_SIGNED_IN)


def test_wrong_passwords_at_sign_in_end_nothing() -> None:
    world = given()
    pair = world.tokens()
    for _ in range(20):
        world.wait(1000)
        world.sign_in(password="wrong").then_refused(Why.SIGN_IN_WRONG, changes=["update user"])
    assert world.is_active(pair.refresh_token)
