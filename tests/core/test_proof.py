"""Users prove who they are again before they give power, in every session of their own (READINGS 57)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ostiary_core import SPECIFICATION, Refused, Secret, Why, decide, events as e, keys, load
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.instant import later
from ostiary_core.model.permissions import ALL_PERMISSIONS
from ostiary_core.model.policy import SecondFactorFor
from ostiary_core.model.reply import AccountKnown, IdentityConfirmed, LoginIssued, PersonalTokenIssued
from tests.core.test_second_factor import Holder
from tests.support import asks
from tests.support.asks import caller_of, hash_of
from tests.support.story import World, client, given, user

POLICY = replace(SPECIFICATION, second_factor_key=bytes(range(32)))
WINDOW = POLICY.proof_seconds
Act = Callable[[World, e.Caller], e.Event]


def _about_bob(kind: type[Any], **fields: Any) -> Act:
    return lambda world, caller: kind(caller=caller, user_id=world.user_ids["bob"], **fields)


def _register(**fields: Any) -> Act:
    return lambda world, caller: e.UserRegistered(
        caller=caller,
        fields={"username": "carol", "name": "C", **fields},
        password_hash="a hash",
        entropy=asks.fresh_entropy(),
    )


def _import(*, replacing: bool, **fields: Any) -> Act:
    return lambda world, caller: e.UserImported(
        caller=caller,
        fields={"name": "B", **fields},
        replace=replacing,
        password_hash=None if replacing else "a hash",
        entropy=asks.fresh_entropy(),
    )


def _change_role(**fields: Any) -> Act:
    return lambda world, caller: e.RoleChanged(caller=caller, role_id="guest", fields=fields)


POWERFUL: dict[str, Act] = {
    "reset a password": _about_bob(e.PasswordResetByAdministrator, new_password_hash="another"),
    "invite": lambda world, caller: e.InvitationMade(
        caller=caller, user_id=world.user_ids["bob"], entropy=asks.fresh_entropy()
    ),
    "reset a second factor": _about_bob(e.SecondFactorReset),
    "change a number": _about_bob(e.UserChanged, fields={"phone": "+8613900000001"}),
    "give a role": _about_bob(e.UserChanged, fields={"roleIds": ["clerk", "guest"]}),
    "register with roles": _register(roleIds=["guest"]),
    "import a user with roles": _import(replacing=False, username="dora", roleIds=["guest"]),
    "import a role for a user": _import(replacing=True, username="bob", roleIds=["clerk", "guest"]),
    "change what a role may do": _change_role(permissions=["audit.read"]),
    "import what a role may do": lambda world, caller: e.RoleImported(
        caller=caller, fields={"code": "guest", "permissions": ["audit.read"]}, replace=True
    ),
}
WITHOUT_POWER: dict[str, Act] = {
    "rename": _about_bob(e.UserChanged, fields={"name": "Robert"}),
    "take a role away": _about_bob(e.UserChanged, fields={"roleIds": []}),
    "disable": _about_bob(e.UserDisabled),
    "force out": _about_bob(e.UserForcedOut),
    "unlock": _about_bob(e.UserUnlocked),
    "register without roles": _register(),
    "name a role": _change_role(name="Visitor"),
    "register a role": lambda world, caller: e.RoleRegistered(
        caller=caller, fields={"code": "reader", "name": "R", "permissions": ["audit.read"]}
    ),
}


@pytest.fixture
def world() -> World:
    """A keeper with every permission, bob with one role and a second factor."""
    made = given(
        client(),
        *(asks.role("keeper", *ALL_PERMISSIONS), asks.role("clerk", "iam.user.update"), asks.role("guest")),
        *(user("keeper", roles=("keeper",)), user("bob", roles=("clerk",), phone="+8613800000000")),
        policy=POLICY,
    )
    Holder(made, username="bob").set_up()
    return made


def prove(
    world: World, login: LoginIssued, password: str | None = "right", code: str | None = None
) -> Decision:
    name = next(name for name, user_id in world.user_ids.items() if user_id == login.user_id)
    return world.when(
        e.IdentityProved(
            caller=caller_of(login),
            user_id=world.user_ids[name],
            verified_against=None if password is None else hash_of("right"),
            password_matches=password == "right",
            code=None if code is None else Secret(code),
        )
    ).decision


def why_refused(world: World, act: Act, caller: e.Caller) -> Why | None:
    """Return why an act is refused, without doing it."""
    event = act(world, caller)
    reply = decide(event, load([keys(event)], world.store.fetch), world.now, world.policy).reply
    return reply.why if isinstance(reply, Refused) else None


@pytest.mark.parametrize("name", [*POWERFUL, *WITHOUT_POWER])
def test_power_is_given_within_fifteen_minutes_of_a_sign_in_or_a_proof(world: World, name: str) -> None:
    act = (POWERFUL | WITHOUT_POWER)[name]
    expected = Why.PROOF_REQUIRED if name in POWERFUL else None
    login = world.login("keeper")
    world.wait(WINDOW - 0.001)
    assert why_refused(world, act, caller_of(login)) is None
    world.wait(0.001)
    assert why_refused(world, act, caller_of(login)) is expected
    confirmed = prove(world, login)
    assert confirmed.reply == IdentityConfirmed(later(world.now, WINDOW))
    assert [fact.kind for fact in confirmed.facts] == [FactKind.IDENTITY_PROVED]
    world.given(e.OtherSessionsEnded(caller=caller_of(login)))
    login = world.when(asks.login_refresh(login)).then(LoginIssued)
    world.wait(WINDOW - 0.001)
    assert why_refused(world, act, caller_of(login)) is None
    world.wait(0.001)
    assert why_refused(world, act, caller_of(login)) is expected
    world.when(act(world, e.Operator()))


def test_a_personal_token_is_made_after_a_proof_alone(world: World) -> None:
    login = world.login("keeper")
    world.wait(WINDOW)
    world.when(asks.personal_token(login, permissions=["audit.read"])).then_refused(Why.PROOF_REQUIRED)
    prove(world, login)
    world.when(asks.personal_token(login, permissions=["audit.read"])).then(PersonalTokenIssued)


@pytest.mark.parametrize("name", POWERFUL)
def test_a_token_gives_power_only_where_that_was_chosen_by_name(world: World, name: str) -> None:
    login = world.login("keeper")
    power = "iam.user.credentials" if name in list(POWERFUL)[:4] else "iam.role.assign"
    other = "iam.role.assign" if power == "iam.user.credentials" else "iam.user.credentials"

    def token(*powers: str) -> e.SignedIn:
        made = world.when(asks.personal_token(login, permissions=[*ALL_PERMISSIONS, *powers]))
        return e.SignedIn(access_token=made.then(PersonalTokenIssued).token)

    assert why_refused(world, POWERFUL[name], token(other)) is Why.TOKEN_POWER_MISSING
    who = token(power)
    world.wait(WINDOW * 10)
    assert why_refused(world, POWERFUL[name], who) is None
    proof = e.IdentityProved(
        caller=who, user_id=world.user_ids["keeper"], verified_against=hash_of("right"), password_matches=True
    )
    world.when(proof).then_refused(Why.NOT_SIGNED_IN)


def test_a_proof_is_the_sessions_own_and_a_refresh_neither_renews_nor_loses_it(world: World) -> None:
    login, other = world.login("keeper"), world.login("keeper")
    world.wait(WINDOW - 1)
    prove(world, login)
    assert why_refused(world, POWERFUL["give a role"], caller_of(other)) is None
    world.wait(WINDOW - 1)
    login = world.when(asks.login_refresh(login)).then(LoginIssued)
    other = world.when(asks.login_refresh(other)).then(LoginIssued)
    assert why_refused(world, POWERFUL["give a role"], caller_of(login)) is None
    assert why_refused(world, POWERFUL["give a role"], caller_of(other)) is Why.PROOF_REQUIRED
    world.wait(1)
    assert why_refused(world, POWERFUL["give a role"], caller_of(login)) is Why.PROOF_REQUIRED


def test_the_fifth_wrong_proof_ends_everything(world: World) -> None:
    login = world.login("keeper")
    for _ in range(4):
        assert prove(world, login, "wrong").reply == Refused(Why.CURRENT_PASSWORD_WRONG)
    assert prove(world, login, "wrong").reply == Refused(Why.CURRENT_PASSWORD_WRONG_REPEATEDLY)
    assert why_refused(world, WITHOUT_POWER["rename"], caller_of(login)) is Why.NOT_SIGNED_IN


def test_a_second_factor_alone_proves_its_user_and_five_wrong_codes_end_everything(world: World) -> None:
    login = world.login("keeper")
    keeper = Holder(world, login, username="keeper").set_up()
    world.wait(WINDOW)
    refused = prove(world, login).reply
    assert isinstance(refused, Refused)
    assert [(fault.path, fault.rule) for fault in refused.faults] == [("code", FieldRule.REQUIRED)]
    code = keeper.code().reveal()
    proved = prove(world, login, None, code)
    assert proved.reply == IdentityConfirmed(later(world.now, WINDOW))
    [session_id] = [each.session_id for each in world.sessions() if each.user_id == keeper.user_id]
    fact = Fact(FactKind.IDENTITY_PROVED, user_id=keeper.user_id, session_id=session_id)
    assert proved.facts == (fact,)
    by_recovery_code = prove(world, login, None, keeper.recovery_code().reveal())
    assert [fact.kind for fact in by_recovery_code.facts] == [FactKind.RECOVERY_CODE_USED, fact.kind]
    for wrong_codes in range(1, 5):
        wrong = prove(world, login, None, code)
        assert wrong.reply == Refused(Why.SECOND_FACTOR_WRONG)
        assert [fact.kind for fact in wrong.facts] == [FactKind.SECOND_FACTOR_WRONG]
        assert world.user("keeper").wrong_passwords_at == (world.now,) * wrong_codes
        assert keeper.factor().wrong_codes_at == (world.now,) * wrong_codes
    last = prove(world, login, None, code)
    assert last.reply == Refused(Why.CURRENT_PASSWORD_WRONG_REPEATEDLY)
    assert [fact.kind for fact in last.facts] == [FactKind.SECOND_FACTOR_WRONG, FactKind.USER_SESSIONS_ENDED]
    assert why_refused(world, WITHOUT_POWER["rename"], caller_of(login)) is Why.NOT_SIGNED_IN


def test_a_code_that_comes_while_its_user_waits_is_not_counted(world: World) -> None:
    login = world.login("keeper")
    keeper = Holder(world, login, username="keeper").set_up()
    for _ in range(5):
        keeper.remove(Secret("no code"))
    assert prove(world, login, None, "no code") == Decision(
        Refused(Why.SIGN_INS_TOO_FREQUENT, wait_seconds=15 * 60)
    )
    assert world.user("keeper").wrong_passwords_at == ()


def test_a_second_factor_that_was_only_offered_is_not_asked_for(world: World) -> None:
    login = world.login("keeper")
    Holder(world, login, username="keeper").begin()
    assert prove(world, login).reply == IdentityConfirmed(later(world.now, WINDOW))


def test_without_a_second_factor_a_password_is_asked_for(world: World) -> None:
    refused = prove(world, world.login("keeper"), None, "123456").reply
    assert isinstance(refused, Refused)
    assert [(fault.path, fault.rule) for fault in refused.faults] == [("password", FieldRule.REQUIRED)]


def test_a_proof_is_never_asked_for_where_the_policy_says_so() -> None:
    people = user("keeper", roles=("keeper",)), user("bob")
    policy = replace(POLICY, proof_seconds=0)
    world = given(asks.role("keeper", *ALL_PERMISSIONS), asks.role("guest"), *people, policy=policy)
    login = world.login("keeper")
    made = world.when(asks.personal_token(login, permissions=list(ALL_PERMISSIONS)))
    token = made.then(PersonalTokenIssued).token
    world.wait(WINDOW)
    for caller in (caller_of(login), e.SignedIn(access_token=token)):
        assert why_refused(world, POWERFUL["reset a password"], caller) is None


def test_a_user_who_must_set_up_a_second_factor_first_proves_nothing_before(world: World) -> None:
    login = world.login("keeper")
    world.policy = world.store.policy = replace(POLICY, require_second_factor=SecondFactorFor.ADMINISTRATORS)
    assert prove(world, login).reply == Refused(Why.SECOND_FACTOR_REQUIRED)
    Holder(world, login, username="keeper").set_up()
    assert prove(world, login, "right", None).reply != Refused(Why.SECOND_FACTOR_REQUIRED)


def test_the_account_says_whether_a_proof_comes_first(world: World) -> None:
    asked = e.AccountRequested(caller=caller_of(world.login("keeper")))
    assert not world.when(asked).then(AccountKnown).must_prove_identity
    world.wait(WINDOW)
    assert world.when(asked).then(AccountKnown).must_prove_identity
