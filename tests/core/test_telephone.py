"""Codes by text message: their recipients, how often they are sent, their use, and what is written."""

from dataclasses import replace

import pytest

from ostiary_core import Secret, Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision, Delete, Insert, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.identifiers import phone_identifier
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.policy import SPECIFICATION, TextRecoveryFor
from ostiary_core.model.records import Table, TextCode, TextCodePurpose, revise
from ostiary_core.model.reply import Done, LoginIssued, Refused, TextCodeDrawn
from tests.rows import row
from tests.support import asks
from tests.support.story import START, World, client, given, user

PHONE, OTHER, NOBODYS = "+8613800000000", "+8613900000000", "+8613700000000"
RECOVERY, CHANGE = TextCodePurpose.RESET_PASSWORD, TextCodePurpose.CHANGE_PHONE
DAY = 24 * 60 * 60


@pytest.fixture
def world() -> World:
    return given(client(), user(phone=PHONE), user("bob", phone=OTHER))


def request_code(
    purpose: TextCodePurpose, phone: str, login: LoginIssued | None = None
) -> e.TextCodeRequested:
    caller = None if login is None else asks.caller_of(login)
    return e.TextCodeRequested(caller=caller, purpose=purpose, phone=phone, entropy=asks.fresh_entropy())


def ask(world: World, purpose: TextCodePurpose, phone: str, login: LoginIssued | None = None) -> Decision:
    return world.when(request_code(purpose, phone, login)).decision


def code_of(decision: Decision) -> Secret:
    assert isinstance(decision.reply, TextCodeDrawn)
    assert decision.reply.code is not None
    return decision.reply.code


def find_code(world: World, purpose: TextCodePurpose, phone: str) -> TextCode:
    [record] = world.store.fetch(Table.TEXT_CODE, [(purpose.value, phone)])
    assert isinstance(record, TextCode)
    return record


def recover(world: World, code: Secret | str, phone: str = PHONE) -> Decision:
    code = Secret(code) if isinstance(code, str) else code
    event = e.PasswordResetByTextMessage(phone=phone, code=code, new_password_hash=asks.hash_of("new"))
    return world.when(event).decision


def move(world: World, login: LoginIssued, code: Secret, phone: str = NOBODYS) -> Decision:
    return world.when(asks.phone_change(login, phone, code)).decision


def wrong(user_id: str | None, *changes: Update | Delete) -> Decision:
    return Decision(
        Refused(Why.TEXT_CODE_WRONG), changes, (Fact(kind=FactKind.TEXT_CODE_WRONG, user_id=user_id),)
    )


def test_a_code_is_sent_only_to_numbers_that_it_may_concern_and_every_answer_is_alike(world: World) -> None:
    assert world.when(request_code(RECOVERY, "110")).then_faults() == {"phone": FieldRule.PHONE}
    assert ask(world, RECOVERY, NOBODYS) == Decision(TextCodeDrawn(None))
    assert ask(world, CHANGE, NOBODYS) == Decision(Refused(Why.NOT_SIGNED_IN))
    sent = ask(world, RECOVERY, PHONE)
    code = find_code(world, RECOVERY, PHONE)
    fact = Fact(kind=FactKind.TEXT_CODE_SENT, user_id=world.user_ids["alice"])
    assert sent == Decision(TextCodeDrawn(code_of(sent), world.user()), (Insert(code),), (fact,))
    assert (code.issued_at, code.counting_since, code.sent_count, code.wrong_tries) == (START, START, 1, 0)
    login, before = world.login(), world.user()
    assert ask(world, CHANGE, OTHER, login) == Decision(TextCodeDrawn(None), (Update(before, world.user()),))
    assert world.user() == revise(before, text_codes_asked_at=(START,))
    sent = ask(world, CHANGE, NOBODYS, login)
    assert sent.reply == TextCodeDrawn(code_of(sent), world.user())
    assert [type(change) for change in sent.changes] == [Update, Insert]
    assert world.user().text_codes_asked_at == (START, START)
    assert ask(world, CHANGE, NOBODYS, login).reply == TextCodeDrawn(None), "so soon"


def test_a_number_is_sent_a_code_a_minute_and_ten_a_day(world: World) -> None:
    for number in range(SPECIFICATION.text_codes_a_day):
        sent = ask(world, RECOVERY, PHONE)
        code = find_code(world, RECOVERY, PHONE)
        assert (code.sent_count, code.issued_at, code.counting_since) == (number + 1, world.now, START)
        assert code.revision == 2 * number + 1, "a wrong try revises it too"
        assert isinstance(sent.changes[0], Update) is (number > 0)
        recover(world, "wrong")
        world.wait(59.999)
        assert ask(world, RECOVERY, PHONE) == Decision(TextCodeDrawn(None))
        world.wait(0.001)
        assert find_code(world, RECOVERY, PHONE).wrong_tries == 1
    world.now = Instant(later(START, DAY) - 1)
    assert ask(world, RECOVERY, PHONE) == Decision(TextCodeDrawn(None))
    world.wait(0.001)
    latest = code_of(ask(world, RECOVERY, PHONE))
    code = find_code(world, RECOVERY, PHONE)
    assert (code.sent_count, code.counting_since, code.wrong_tries) == (1, world.now, 0)
    assert recover(world, latest).reply == Done()


def test_an_account_asks_for_twenty_a_day_and_learns_how_long_to_wait(world: World) -> None:
    login = world.login()
    for number in range(SPECIFICATION.text_codes_asked_a_day):
        code_of(ask(world, CHANGE, f"+86137{number:08}", login))
        world.wait(1)
    for waited, wait_seconds in ((0, DAY - 20), (0.001, DAY - 20), (0.999, DAY - 21)):
        world.wait(waited)
        refusal = Decision(Refused(Why.TEXT_CODES_TOO_FREQUENT, wait_seconds=wait_seconds))
        assert ask(world, CHANGE, NOBODYS, login) == refusal
    world.now = Instant(later(START, DAY) - 1)
    login = world.login()
    assert ask(world, CHANGE, NOBODYS, login) == Decision(
        Refused(Why.TEXT_CODES_TOO_FREQUENT, wait_seconds=1)
    )
    world.wait(0.001)
    code_of(ask(world, CHANGE, NOBODYS, login))
    assert len(world.user().text_codes_asked_at) == 20, "the first no longer counts"
    world.now = START  # the clock is set back by a day: what lies no further ahead counts on
    login = world.login()
    assert ask(world, CHANGE, OTHER, login).reply == Refused(
        Why.TEXT_CODES_TOO_FREQUENT, wait_seconds=DAY + 1
    )
    world.now = Instant(START - 1)
    login = world.login()
    assert ask(world, CHANGE, OTHER, login).reply == TextCodeDrawn(None)


@pytest.mark.parametrize("seconds, is_good", [(599.999, True), (600, False)])
def test_a_code_is_good_for_ten_minutes(world: World, seconds: float, is_good: bool) -> None:
    code = code_of(ask(world, RECOVERY, PHONE))
    world.wait(seconds)
    assert (recover(world, code).reply == Done()) is is_good


def test_a_code_is_for_its_number_and_purpose_and_a_wrong_one_is_counted(world: World) -> None:
    alice = world.user_ids["alice"]
    assert recover(world, "123456", NOBODYS) == wrong(None)
    assert recover(world, "123456") == wrong(alice)
    code = code_of(ask(world, RECOVERY, PHONE))
    code_of(ask(world, RECOVERY, OTHER))
    assert recover(world, code, OTHER).reply == Refused(Why.TEXT_CODE_WRONG)
    for tries in range(SPECIFICATION.text_code_tries):
        before = find_code(world, RECOVERY, PHONE)
        counted = wrong(alice, Update(before, revise(before, wrong_tries=tries + 1)))
        assert recover(world, f"{code.reveal()} ") == counted
    assert recover(world, code) == wrong(alice), "worthless by now"


@row("Session and tokens", "password reset by text-message recovery")
@row("Token-service errors", "invalid_grant: password reset")
def test_recovery_sets_the_password_and_ends_everything_once(world: World) -> None:
    pair, login = world.tokens(), world.login()
    world.given(asks.user_change(world.user().user_id, mustChangePassword=True))
    code = code_of(ask(world, RECOVERY, PHONE))
    before, spent = world.user(), find_code(world, RECOVERY, PHONE)
    recovered, why = recover(world, code), Why.PASSWORD_RESET_BY_TEXT_MESSAGE
    alice, told = world.user(), (FieldChange("mustChangePassword", True, False),)
    facts = (
        Fact(kind=FactKind.PASSWORD_SET, user_id=alice.user_id, why=why, changes=told),
        Fact(kind=FactKind.USER_SESSIONS_ENDED, user_id=alice.user_id, why=why),
    )
    assert recovered == Decision(Done(), (Delete(spent), Update(before, alice)), facts)
    assert (alice.password_hash, alice.must_change_password) == (asks.hash_of("new"), False)
    assert (alice.epoch, alice.epoch_why, alice.epoch_at) == (before.epoch + 1, why, world.now)
    world.assert_ended(pair)
    assert world.when(e.AccountRequested(caller=asks.caller_of(login))).reply == Refused(Why.NOT_SIGNED_IN)
    assert recover(world, code) == wrong(alice.user_id), "one use"


def test_a_code_dies_with_its_account_and_is_not_counted_for_a_new_holder_of_the_number(world: World) -> None:
    alice, bob = world.user_ids["alice"], world.user_ids["bob"]
    code = code_of(ask(world, RECOVERY, PHONE))
    dead = find_code(world, RECOVERY, PHONE)
    world.given(e.UserDisabled(caller=e.Operator(), user_id=alice))
    assert recover(world, code) == wrong(alice)
    world.wait(60)
    code = code_of(ask(world, RECOVERY, PHONE))
    drawn_since = find_code(world, RECOVERY, PHONE)
    assert (drawn_since.epochs.user, drawn_since.sent_count) == (dead.epochs.user + 1, 2)
    assert recover(world, code) == wrong(alice, Delete(drawn_since)), "disabled still"
    world.given(e.UserEnabled(caller=e.Operator(), user_id=alice))
    code = code_of(ask(world, RECOVERY, PHONE))
    for user_id, phone in ((alice, None), (bob, PHONE)):
        world.given(asks.user_change(user_id, phone=phone))
        holder = None if phone is None else user_id
        for entered in (code, "wrong"):
            assert recover(world, entered) == wrong(holder), "no change"


@row("Session and tokens", "user changes telephone number")
@row("Token-service errors", "invalid_grant: user changed telephone number")
def test_a_new_number_takes_the_place_of_the_old_one_and_the_login_session_lives_on(world: World) -> None:
    pair, login = world.tokens(), world.login()
    assert move(world, login, Secret("123456")) == wrong(world.user_ids["alice"])
    code = code_of(ask(world, CHANGE, NOBODYS, login))
    before, spent, why = world.user(), find_code(world, CHANGE, NOBODYS), Why.PHONE_CHANGED
    session = world.sessions()[-1]
    moved, alice = move(world, login, code), world.user()
    old, new = (phone_identifier(each, alice.user_id) for each in (PHONE, NOBODYS))
    kept = revise(session, epochs=session.epochs._replace(user=alice.epoch))
    writes = (Delete(spent), Delete(old), Insert(new), Update(before, alice), Update(session, kept))
    told = (FieldChange("phone", f"***{PHONE[-2:]}", f"***{NOBODYS[-2:]}"),)
    facts = (
        Fact(kind=FactKind.PHONE_SET, user_id=alice.user_id, why=why, changes=told),
        Fact(kind=FactKind.USER_SESSIONS_ENDED, user_id=alice.user_id, why=why),
    )
    assert moved == Decision(Done(), writes, facts)
    assert (alice.phone, alice.epoch, alice.epoch_why) == (NOBODYS, before.epoch + 1, why)
    world.assert_ended(pair)
    world.given(e.AccountRequested(caller=asks.caller_of(login)))


def test_a_number_that_was_taken_meanwhile_is_refused_and_a_first_number_is_set() -> None:
    world = given(user(), user("bob"))
    logins = {name: world.login(name) for name in ("alice", "bob")}
    code = code_of(ask(world, CHANGE, NOBODYS, logins["alice"]))
    moved = move(world, logins["alice"], code)
    assert [type(change) for change in moved.changes] == [Delete, Insert, Update, Update]
    world.wait(60)
    assert ask(world, CHANGE, NOBODYS, logins["bob"]).reply == TextCodeDrawn(None)
    code = code_of(ask(world, CHANGE, OTHER, logins["bob"]))
    world.given(asks.user_change(world.user_ids["alice"], phone=OTHER))
    assert move(world, logins["bob"], code, OTHER) == Decision(Refused(Why.ALREADY_TAKEN))
    world.given(e.SignedOut(caller=asks.caller_of(logins["bob"])))
    assert move(world, logins["bob"], code, OTHER) == Decision(Refused(Why.NOT_SIGNED_IN))


@pytest.mark.parametrize(
    "allowed, of_alice, of_bob",
    [
        (TextRecoveryFor.EVERYBODY, True, True),
        (TextRecoveryFor.WITH_SECOND_FACTOR, True, False),
        (TextRecoveryFor.NOBODY, False, False),
    ],
)
def test_the_policy_says_whose_password_a_text_message_may_set(
    world: World, allowed: TextRecoveryFor, of_alice: bool, of_bob: bool
) -> None:
    before = world.user()
    world.store.write([Update(before, revise(before, has_second_factor=True))])
    codes = {phone: code_of(ask(world, RECOVERY, phone)) for phone in (PHONE, OTHER)}
    world.wait(60)
    world.policy = world.store.policy = replace(SPECIFICATION, text_recovery=allowed)
    for phone, may_recover in ((PHONE, of_alice), (OTHER, of_bob), (NOBODYS, False)):
        asked = ask(world, RECOVERY, phone).reply
        recovered = recover(world, codes.get(phone, Secret("000000")), phone).reply
        if allowed is TextRecoveryFor.NOBODY:
            assert asked == recovered == Refused(Why.TEXT_RECOVERY_OFF)
            continue
        assert isinstance(asked, TextCodeDrawn)
        assert (asked.code is not None) is may_recover
        if not may_recover:
            assert recovered == Refused(Why.TEXT_CODE_WRONG)
