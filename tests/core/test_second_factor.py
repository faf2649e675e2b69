"""The second factor: set up, asked for at sign-in, waits after wrong codes, recovery codes, removal."""

from base64 import b32decode
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ostiary_core import SPECIFICATION, Instant, Secret, Why, events as e
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.instant import later
from ostiary_core.model.one_time_password import one_time_password, step_at
from ostiary_core.model.policy import SecondFactorFor
from ostiary_core.model.records import SecondFactor, Table
from ostiary_core.model.reply import (
    Done,
    LoginIssued,
    RecoveryCodesDrawn,
    Refused,
    SecondFactorAsked,
    SecondFactorKnown,
    SecondFactorOffered,
    UserKnown,
)
from ostiary_core.model.sign_in_ticket import Ticket, read_ticket
from tests.support import asks
from tests.support.asks import caller_of, hash_of
from tests.support.story import Outcome, World, client, given

POLICY = replace(SPECIFICATION, second_factor_key=bytes(range(32)))
MINUTE = 60
NO_CODE = Secret("000000")


@dataclass
class Holder:
    """A user with an authenticator, and the browser in which the user is signed in."""

    world: World
    login: LoginIssued | None = None
    offered: SecondFactorOffered | None = None
    username: str = "alice"

    @property
    def user_id(self) -> str:
        return self.world.user_ids[self.username]

    @property
    def caller(self) -> e.SignedIn:
        assert self.login is not None
        return caller_of(self.login)

    def code(self, steps_aside: int = 0) -> Secret:
        """Return the code that the authenticator shows so many steps after this one."""
        assert self.offered is not None
        secret = b32decode(self.offered.secret.reveal())
        return Secret(one_time_password(secret, step_at(self.world.now) + steps_aside))

    def recovery_code(self, number: int = 0) -> Secret:
        assert self.offered is not None
        return self.offered.recovery_codes[number]

    def begin(self, password: str = "right") -> Outcome:
        return self._ask(e.SecondFactorBegun, **_prove(password), entropy=asks.fresh_entropy())

    def set_up(self, steps_aside: int = 0) -> "Holder":
        """Sign in, unless it is done, and take a second factor into use by the code of this step."""
        self.login = self.login or self.world.login(self.username)
        self.offered = self.begin().then(SecondFactorOffered)
        self.confirm(self.code(steps_aside)).then(Done)
        return self

    def confirm(self, code: Secret) -> Outcome:
        return self._ask(e.SecondFactorConfirmed, code=code)

    def remove(self, code: Secret, password: str = "right") -> Outcome:
        return self._ask(e.SecondFactorRemoved, **_prove(password), code=code)

    def renew(self, code: Secret, password: str = "right") -> Outcome:
        return self._ask(e.RecoveryCodesRenewed, **_prove(password), code=code, entropy=asks.fresh_entropy())

    def ask_how_many_are_left(self) -> Outcome:
        return self._ask(e.SecondFactorRequested)

    def _ask(self, kind: type[Any], **fields: Any) -> Outcome:
        return self.world.when(kind(caller=self.caller, user_id=self.user_id, **fields))

    def ticket(self, *, set_up_required: bool = False) -> Ticket:
        asked = self.world.sign_in().then(SecondFactorAsked, changes=[], facts=[FactKind.SECOND_FACTOR_ASKED])
        assert asked.set_up_required is set_up_required
        ticket = read_ticket(asked.ticket.reveal())
        assert ticket is not None
        return ticket

    def enter(self, ticket: Ticket, code: Secret) -> Outcome:
        return self.world.when(
            e.SecondFactorEntered(
                ticket=ticket,
                code=code,
                user_agent=asks.BROWSER,
                source="203.0.113.7",
                entropy=asks.fresh_entropy(),
            )
        )

    def enter_wrong(self, ticket: Ticket, code: Secret = NO_CODE) -> None:
        """Enter a wrong or spent code: it is counted, and recorded as a failed sign-in."""
        self.enter(ticket, code).then_refused(
            Why.SIGN_IN_CODE_WRONG, changes=["update second factor"], facts=[FactKind.SIGN_IN_FAILED]
        )

    def begin_at_sign_in(self, ticket: Ticket) -> Outcome:
        return self.world.when(e.SecondFactorBegunAtSignIn(ticket=ticket, entropy=asks.fresh_entropy()))

    def is_signed_in(self) -> bool:
        return not isinstance(self.world.when(e.AccountRequested(caller=self.caller)).reply, Refused)

    def expect_ending(self, why: Why) -> None:
        """Expect that all sessions of the user ended just now, for this reason."""
        user = self.world.user()
        assert (user.epoch_why, user.epoch_at) == (why, self.world.now)

    def find_stored(self) -> SecondFactor | None:
        [*records] = self.world.store.fetch(Table.SECOND_FACTOR, [self.user_id])
        return records[0] if records and isinstance(records[0], SecondFactor) else None

    def factor(self) -> SecondFactor:
        found = self.find_stored()
        assert found is not None
        return found


def _prove(password: str) -> dict[str, Any]:
    return {"verified_against": hash_of("right"), "password_matches": password == "right"}


@pytest.fixture
def alice() -> Holder:
    """A user with a second factor, whose code of the present step is still good."""
    return Holder(given(policy=POLICY)).set_up(-1)


@pytest.fixture
def keeper() -> Holder:
    """A user with a second factor who may change accounts."""
    may_change = asks.role("keeper", "iam.user.update")
    return Holder(given(may_change, asks.user(roles=("keeper",)), policy=POLICY)).set_up()


# --- setting up


def test_no_code_is_asked_for_until_a_first_one_confirms_the_offer() -> None:
    world = given(policy=POLICY)
    alice = Holder(world, world.login())
    alice.confirm(NO_CODE).then_refused(Why.NOT_FOUND)
    alice.begin("wrong").then_refused(Why.CURRENT_PASSWORD_WRONG, changes=["update user"])
    first = alice.begin().then(SecondFactorOffered, changes=["insert second factor"], facts=[])
    alice.offered = alice.begin().then(SecondFactorOffered, changes=["update second factor"], facts=[])
    assert first.secret.reveal() != alice.offered.secret.reveal()
    elsewhere, kept = Holder(world, world.login()), alice.factor()
    assert (kept.revision, len(kept.recovery_digests), kept.confirmed_at) == (2, 10, None)
    wrong = alice.confirm(alice.recovery_code())
    wrong.then_refused(Why.SECOND_FACTOR_WRONG, changes=["update second factor"])
    assert wrong.decision.facts == (Fact(FactKind.SECOND_FACTOR_WRONG, user_id=alice.user_id),)
    confirmed = alice.confirm(alice.code())
    confirmed.then(Done, changes=["update second factor", "update session", "update user"])
    told = [(FactKind.SECOND_FACTOR_SET, Why.SECOND_FACTOR_SET_UP)]
    told += [(FactKind.USER_SESSIONS_ENDED, Why.SECOND_FACTOR_SET_UP)]
    assert [(fact.kind, fact.why) for fact in confirmed.decision.facts] == told
    alice.expect_ending(Why.SECOND_FACTOR_SET_UP)
    assert (alice.factor().confirmed_at, alice.factor().wrong_codes_at) == (world.now, ())
    assert (alice.is_signed_in(), elsewhere.is_signed_in()) == (True, False)
    alice.begin().then_refused(Why.SECOND_FACTOR_EXISTS)
    alice.confirm(alice.code(1)).then_refused(Why.SECOND_FACTOR_EXISTS)


def test_an_offer_is_of_the_user_who_is_signed_in(alice: Holder) -> None:
    alice.world.given(asks.user("bob"))
    Holder(alice.world, alice.world.login("bob")).begin().then_refused(Why.NOT_SIGNED_IN)


# --- at sign-in


def test_a_code_with_a_ticket_signs_in_once(alice: Holder) -> None:
    ticket, confirmed_at, why = alice.ticket(), alice.factor().confirmed_at, Why.SIGN_IN_CODE_WRONG
    wrong = alice.enter(ticket, NO_CODE)
    wrong.then_refused(why, changes=["update second factor"])
    fact = Fact(FactKind.SIGN_IN_FAILED, user_id=alice.user_id, why=why, user_agent=asks.BROWSER)
    assert wrong.decision.facts == (fact,)
    alice.world.wait(1)
    entered = alice.enter(ticket, alice.code())
    login = entered.then(
        LoginIssued,
        changes=["insert refresh token", "insert session", "update second factor", "update user"],
        facts=[FactKind.SESSION_STARTED],
    )
    [fact] = entered.decision.facts
    assert (fact.user_id, fact.user_agent) == (alice.user_id, asks.BROWSER)
    assert alice.world.user().last_sign_in_at == alice.world.now
    assert Holder(alice.world, login).is_signed_in()
    assert alice.is_signed_in(), "a sign-in ends nothing"
    assert alice.factor().confirmed_at == confirmed_at
    alice.enter(ticket, alice.code(1)).then_refused(Why.SIGN_IN_EXPIRED)


@pytest.mark.parametrize("used", [0, 1])
def test_a_used_ticket_ends_those_before_it_and_none_after_it(alice: Holder, used: int) -> None:
    """Let a user sign in in two browsers at once: the earlier ticket must be used first."""
    tickets = []
    for _ in range(2):
        tickets.append(alice.ticket())
        alice.world.wait(1)
    alice.enter(tickets[used], alice.code()).then(LoginIssued)
    assert isinstance(alice.enter(tickets[1 - used], alice.code(1)).reply, LoginIssued) is (used == 0)


@pytest.mark.parametrize(
    "used, entered, is_right", [(0, 0, False), (0, 1, True), (1, 0, False), (1, 1, False), (0, 2, False)]
)
def test_a_step_that_was_used_and_those_before_it_are_used_up(
    alice: Holder, used: int, entered: int, is_right: bool
) -> None:
    alice.enter(alice.ticket(), alice.code(used)).then(LoginIssued)
    alice.world.wait(0.001)  # a ticket is of an instant
    assert isinstance(alice.enter(alice.ticket(), alice.code(entered)).reply, LoginIssued) is is_right


@pytest.mark.parametrize("waited, is_good", [(5 * MINUTE - 0.001, True), (5 * MINUTE, False)])
def test_a_ticket_is_good_for_five_minutes(alice: Holder, waited: float, is_good: bool) -> None:
    ticket = alice.ticket()
    alice.world.wait(waited)
    if is_good:
        alice.enter(ticket, alice.code()).then(LoginIssued)
        return
    for outcome in (alice.enter(ticket, alice.code()), alice.begin_at_sign_in(ticket)):
        outcome.then_refused(Why.SIGN_IN_EXPIRED)


def test_a_ticket_ends_with_everything_else_of_its_user_and_cannot_be_made_up(alice: Holder) -> None:
    ticket = alice.ticket()
    for forged in (
        replace(ticket, signature=bytes(32)),
        replace(ticket, issued_at=Instant(alice.world.now + 1)),
        replace(ticket, user_id="nobody"),
        replace(ticket, username="bob"),
    ):
        alice.enter(forged, alice.code()).then_refused(Why.SIGN_IN_EXPIRED)
    assert alice.login is not None
    alice.world.given(asks.password_change(alice.login))
    alice.enter(ticket, alice.code()).then_refused(Why.SIGN_IN_EXPIRED)


def test_a_right_password_with_another_hash_of_it_keeps_the_hash_before_the_code_is_asked_for(
    alice: Holder,
) -> None:
    asked = alice.world.when(asks.sign_in(new_password_hash="a stronger hash"))
    asked.then(SecondFactorAsked, changes=["update user"])
    fact = Fact(FactKind.SECOND_FACTOR_ASKED, user_id=alice.user_id, user_agent=asks.BROWSER)
    assert asked.decision.facts == (fact,)
    user = alice.world.user()
    assert (user.password_hash, user.last_sign_in_at) == ("a stronger hash", alice.world.now)


@pytest.mark.parametrize("required", [SecondFactorFor.EVERYBODY, SecondFactorFor.ADMINISTRATORS])
def test_a_user_who_must_have_a_second_factor_sets_it_up_with_the_ticket(required: SecondFactorFor) -> None:
    policy = replace(POLICY, require_second_factor=required)
    role = asks.role("desk", "audit.read")
    roles = ("desk",) if required is SecondFactorFor.ADMINISTRATORS else ()
    world = given(client(), role, asks.user(roles=roles), asks.user("bob"), policy=policy)
    alice = Holder(world)
    ticket = alice.ticket(set_up_required=True)
    alice.enter(ticket, NO_CODE).then_refused(Why.SIGN_IN_EXPIRED)
    alice.offered = alice.begin_at_sign_in(ticket).then(SecondFactorOffered, changes=["insert second factor"])
    alice.enter_wrong(ticket, alice.recovery_code())
    entered = alice.enter(ticket, alice.code())
    alice.login = entered.then(
        LoginIssued,
        changes=["insert refresh token", "insert session", "update second factor", "update user"],
        facts=[FactKind.SECOND_FACTOR_SET, FactKind.USER_SESSIONS_ENDED, FactKind.SESSION_STARTED],
    )
    set_up, ended, _ = entered.decision.facts
    alice.expect_ending(Why.SECOND_FACTOR_SET_UP)
    assert (set_up.why, ended.why, ended.user_id) == (*[Why.SECOND_FACTOR_SET_UP] * 2, alice.user_id)
    assert alice.is_signed_in()
    alice.begin_at_sign_in(ticket).then_refused(Why.SIGN_IN_EXPIRED)
    world.wait(0.001)
    alice.begin_at_sign_in(alice.ticket()).then_refused(Why.SECOND_FACTOR_EXISTS)
    is_asked = isinstance(world.sign_in("bob").reply, SecondFactorAsked)
    assert is_asked is (required is SecondFactorFor.EVERYBODY)
    alice.remove(alice.code(1)).then(Done, changes=["delete second factor", "update user"])
    assert not alice.is_signed_in(), "who must have one goes on without none"


# --- wrong codes


def test_five_wrong_codes_within_a_quarter_of_an_hour_make_one_wait(alice: Holder) -> None:
    ticket = alice.ticket()
    begun = alice.world.now
    alice.enter_wrong(ticket)
    for asked in (alice.remove, alice.renew):
        alice.world.wait(MINUTE)
        asked(NO_CODE).then_refused(Why.SECOND_FACTOR_WRONG, changes=["update second factor"])
    alice.world.wait(MINUTE)
    for _ in range(2):
        ticket = alice.ticket()
        alice.enter_wrong(ticket, Secret("no code at all"))
    for code in (alice.code(), alice.recovery_code()):
        outcome = alice.enter(ticket, code)
        outcome.then_refused(Why.SIGN_INS_TOO_FREQUENT, facts=[])
        assert isinstance(outcome.reply, Refused)
        assert outcome.reply.wait_seconds == 12 * MINUTE
    alice.world.wait(12 * MINUTE - 0.001)
    alice.enter(alice.ticket(), alice.code()).then_refused(Why.SIGN_INS_TOO_FREQUENT)
    alice.world.wait(0.001)
    assert alice.world.now == begun + 15 * MINUTE * 1_000
    alice.enter_wrong(alice.ticket())
    alice.enter(alice.ticket(), alice.code()).then_refused(Why.SIGN_INS_TOO_FREQUENT)


@pytest.mark.parametrize("by_recovery_code", [False, True])
def test_a_right_code_takes_the_wrong_ones_back(alice: Holder, by_recovery_code: bool) -> None:
    for number in range(2):
        ticket = alice.ticket()
        for _ in range(4):
            alice.enter_wrong(ticket)
        right = alice.recovery_code(number) if by_recovery_code else alice.code(number)
        alice.enter(ticket, right).then(LoginIssued)
        alice.world.wait(0.001)


# --- recovery codes, removal, another key


def test_a_recovery_code_works_once_however_it_is_typed_and_until_there_are_new_ones(alice: Holder) -> None:
    typed = Secret(f" {alice.recovery_code().reveal().upper().replace('-', ' ')} ")
    used = [FactKind.RECOVERY_CODE_USED]
    alice.enter(alice.ticket(), typed).then(LoginIssued, facts=[*used, FactKind.SESSION_STARTED])
    alice.world.wait(0.001)
    alice.enter_wrong(alice.ticket(), alice.recovery_code())
    alice.renew(alice.recovery_code(1), "wrong").then_refused(
        Why.CURRENT_PASSWORD_WRONG, changes=["update user"]
    )
    renewed = alice.renew(alice.recovery_code(1))
    fresh = renewed.then(
        RecoveryCodesDrawn, changes=["update second factor"], facts=[*used, FactKind.RECOVERY_CODES_RENEWED]
    )
    assert [fact.user_id for fact in renewed.decision.facts] == [alice.user_id] * 2
    assert alice.is_signed_in(), "new codes end nothing"
    alice.enter_wrong(alice.ticket(), alice.recovery_code(2))
    assert len({code.reveal() for code in fresh.recovery_codes}) == 10
    alice.enter(alice.ticket(), fresh.recovery_codes[9]).then(LoginIssued)
    alice.renew(alice.code()).then(RecoveryCodesDrawn, facts=[FactKind.RECOVERY_CODES_RENEWED])


def test_the_owner_learns_how_many_recovery_codes_are_left(alice: Holder) -> None:
    for left in (10, 9):
        assert (
            alice.ask_how_many_are_left().then(SecondFactorKnown, changes=[], facts=[]).recovery_codes_left
            == left
        )
        alice.enter(alice.ticket(), alice.recovery_code(left - 1)).then(LoginIssued)
        alice.world.wait(0.001)
    alice.remove(alice.code()).then(Done)
    alice.ask_how_many_are_left().then_refused(Why.NOT_FOUND, facts=[])


def test_removal_ends_every_other_session_and_nothing_is_asked_for_any_more(alice: Holder) -> None:
    elsewhere = alice.enter(alice.ticket(), alice.recovery_code(1)).then(LoginIssued)
    wrong, why = alice.remove(alice.recovery_code(), "wrong"), Why.SECOND_FACTOR_REMOVED
    wrong.then_refused(Why.CURRENT_PASSWORD_WRONG, changes=["update user"])
    removed = alice.remove(alice.recovery_code())
    removed.then(Done, changes=["delete second factor", "update session", "update user"])
    told = [(FactKind.RECOVERY_CODE_USED, None), (FactKind.SECOND_FACTOR_REMOVED, why)]
    told += [(FactKind.USER_SESSIONS_ENDED, why)]
    assert [(fact.kind, fact.why) for fact in removed.decision.facts] == told
    alice.expect_ending(why)
    assert (alice.is_signed_in(), Holder(alice.world, elsewhere).is_signed_in()) == (True, False)
    assert alice.find_stored() is None
    alice.world.sign_in().then(LoginIssued)
    for _ in range(2):
        for asked in (alice.remove, alice.renew):
            asked(alice.recovery_code(2)).then_refused(Why.NOT_FOUND)
        alice.begin().then(SecondFactorOffered)


def test_under_another_key_only_recovery_codes_work(alice: Holder) -> None:
    alice.world.policy = alice.world.store.policy = replace(POLICY, second_factor_key=bytes(range(1, 33)))
    alice.enter(alice.ticket(), alice.code()).then_refused(Why.SECOND_FACTOR_KEY_DIFFERENT, facts=[])
    alice.enter(alice.ticket(), alice.recovery_code()).then(LoginIssued)


# --- by an administrator


def test_an_administrator_resets_the_second_factor_of_another_which_ends_everything(keeper: Holder) -> None:
    def reset(caller: e.Caller) -> Outcome:
        return keeper.world.when(e.SecondFactorReset(caller=caller, user_id=keeper.user_id))

    reset(keeper.caller).then_refused(Why.OWN_ACCOUNT_ALONE, facts=[FactKind.REFUSED])
    done = reset(e.Operator())
    done.then(
        Done,
        changes=["delete second factor", "update user"],
        facts=[FactKind.SECOND_FACTOR_REMOVED, FactKind.USER_SESSIONS_ENDED],
    )
    assert {fact.why for fact in done.decision.facts} == {Why.SECOND_FACTOR_RESET_BY_ADMINISTRATOR}
    assert not keeper.is_signed_in()
    keeper.login = keeper.world.login()
    keeper.begin().then(SecondFactorOffered)
    reset(e.Operator()).then(Done, changes=[], facts=[])
    assert keeper.find_stored() is not None, "nothing was confirmed, and nothing is asked for"


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_a_second_factor_is_deleted_with_its_user(alice: Holder, is_confirmed: bool) -> None:
    if not is_confirmed:
        alice.remove(alice.recovery_code()).then(Done)
        alice.begin().then(SecondFactorOffered)
    deleted = alice.world.when(e.UserDeleted(caller=e.Operator(), user_id=alice.user_id))
    deleted.then(Done)
    assert "delete second factor" in deleted.changes
    assert (alice.find_stored(), alice.world.user().has_second_factor) == (None, False)


def test_an_unlock_takes_wrong_codes_back_but_not_ones_own(keeper: Holder) -> None:
    def unlock(*changes: str) -> None:
        unlocked = keeper.world.when(e.UserUnlocked(caller=e.Operator(), user_id=keeper.user_id))
        unlocked.then(Done, changes=changes, facts=[FactKind.USER_UNLOCKED])

    def waits_until(user_id: str = keeper.user_id) -> Instant | None:
        asked = e.UserRequested(caller=e.Operator(), user_id=user_id)
        return keeper.world.when(asked).then(UserKnown).code_waits_until

    unlock()
    ticket = keeper.ticket()
    for _ in range(5):
        keeper.enter_wrong(ticket)
    assert waits_until(keeper.world.user_ids["root"]) is None
    assert waits_until() == later(keeper.world.now, 15 * MINUTE)
    own = e.UserUnlocked(caller=keeper.caller, user_id=keeper.user_id)
    keeper.world.when(own).then_refused(Why.OWN_ACCOUNT_ALONE, facts=[FactKind.REFUSED])
    keeper.enter(ticket, keeper.code(1)).then_refused(Why.SIGN_INS_TOO_FREQUENT)
    unlock("update second factor")
    assert waits_until() is None
    keeper.enter(ticket, keeper.code(1)).then(LoginIssued)
