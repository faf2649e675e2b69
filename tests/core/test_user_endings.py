"""What ends everything a user has open: each trigger its own test ("Session and tokens", READINGS 9, 24)."""

from collections.abc import Callable, Iterator
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


def by_operator(event: Callable[..., e.Event], **fields: object) -> Callable[[World], Outcome]:
    return lambda world: world.when(event(caller=e.Operator(), user_id=world.user_ids["alice"], **fields))


def recover_by_text_message(world: World) -> Outcome:
    code = text_code(world, TextCodePurpose.RESET_PASSWORD, PHONE)
    return world.when(
        e.PasswordResetByTextMessage(phone=PHONE, code=code, new_password_hash=asks.hash_of("newer"))
    )


def enter_wrong_passwords(world: World) -> Outcome:
    login = world.login()
    for _ in range(4):
        world.when(password_change(login, old="wrong")).then_refused(
            Why.CURRENT_PASSWORD_WRONG, changes=["update user"], facts=[FactKind.CURRENT_PASSWORD_WRONG]
        )
    return world.when(password_change(login, old="wrong"))


def text_code(world: World, purpose: TextCodePurpose, phone: str) -> Secret:
    caller = signed_in(world.login()) if purpose is TextCodePurpose.CHANGE_PHONE else None
    event = e.TextCodeRequested(caller=caller, purpose=purpose, phone=phone, entropy=asks.fresh_entropy())
    drawn = world.when(event).then(TextCodeDrawn).code
    assert drawn is not None
    return drawn


USERINFO_ROWS = {"user changed password", "user disabled", "user deleted"}
_TRIGGERS: list[tuple[Callable[[World], Outcome], Why, str, str]] = [
    # What was done, what the end is called, the row of sessions, and the row of errors and of user-info.
    (change_password, Why.PASSWORD_CHANGED, "user changes password", "user changed password"),
    (change_phone, Why.PHONE_CHANGED, "user changes telephone number", "user changed telephone number"),
    (by_operator(e.UserChanged, fields={"phone": NEW_PHONE}), Why.PHONE_CHANGED, "", ""),
    (
        by_operator(e.PasswordResetByAdministrator, new_password_hash=asks.hash_of("newer")),
        Why.PASSWORD_RESET_BY_ADMINISTRATOR,
        "password reset by administrator",
        "password reset",
    ),
    (
        recover_by_text_message,
        Why.PASSWORD_RESET_BY_TEXT_MESSAGE,
        "password reset by text-message recovery",
        "password reset",
    ),
    (by_operator(e.UserDisabled), Why.USER_DISABLED, "user disabled", "user disabled"),
    (by_operator(e.UserDeleted), Why.USER_DELETED, "user deleted", "user deleted"),
    (
        enter_wrong_passwords,
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY,
        "current password entered wrongly repeatedly",
        "",
    ),
    (
        by_operator(e.UserForcedOut),
        Why.USER_FORCED_OUT,
        "user force-logged-out by an administrator",
        "user force-logged-out",
    ),
]


def marked() -> Iterator[Any]:
    for act, why, ends, error in _TRIGGERS:
        marks = [row("Session and tokens", ends)] if ends else []
        marks += [row("Token-service errors", f"invalid_grant: {error}")] if error else []
        marks += [row("User-info", error)] if error in USERINFO_ROWS else []
        yield pytest.param(act, why, marks=marks, id=ends or "telephone number by an administrator")


@pytest.mark.parametrize("trigger, why", list(marked()))
def test_all_oauth_sessions_and_codes_of_the_user_end(trigger: Callable[[World], Outcome], why: Why) -> None:
    """READINGS 9: none of them is written, so many cost what one costs; they are of an older epoch."""
    world = given(client(), client("other"), user(phone=PHONE), user("bob"))
    pair, other_pair = world.tokens(), world.tokens(client_id="other")
    code = world.code()
    bobs_pair, bobs_code, machine_token = world.tokens("bob"), world.code("bob"), world.machine_token()

    oauth = [session for session in world.sessions() if session.client_id == "app"]

    outcome = trigger(world)

    assert not {"update code", "delete refresh token", "delete session"} & set(outcome.changes)
    assert outcome.changes.count("update session") <= 1, "the login session in which it happened"
    assert [session for session in world.sessions() if session.client_id == "app"] == oauth
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
