"""Personal access tokens: how they are made, what they may do, when use is noted, how they end."""

from dataclasses import replace
from typing import Any

import pytest

from ostiary_core import SPECIFICATION, Secret, Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import AccountKnown, Done, LoginIssued, PersonalTokenIssued, Refused
from tests.support import asks
from tests.support.asks import caller_of
from tests.support.story import World, client, given, user

DAY = 86_400
HELD = (Permission.CLIENT_LIST.value, Permission.ROLE_LIST.value)
"""Permissions of the clerk."""


@pytest.fixture
def world() -> World:
    return given(client(), asks.role("clerk", *HELD), user("clerk", roles=("clerk",)), user())


def creation(login: LoginIssued, **changed: object) -> e.PersonalTokenCreated:
    return asks.personal_token(login, **{"permissions": [HELD[1], HELD[0]], **changed})


def account_of(world: World, token: Secret, **asked: Any) -> AccountKnown | None:
    """Return what a program learns with a token; None if it is refused."""
    reply = world.when(e.AccountRequested(caller=e.SignedIn(access_token=token), **asked)).reply
    assert isinstance(reply, AccountKnown | Refused)
    return reply if isinstance(reply, AccountKnown) else None


def test_a_token_is_a_session_that_holds_what_was_chosen_and_the_trail_says_so(world: World) -> None:
    created = world.when(creation(world.login("clerk")))
    issued = created.then(PersonalTokenIssued, changes=["insert session", "update user"])
    made = world.the_session(SessionKind.PERSONAL_TOKEN)
    assert issued.session == made
    assert (made.client_id, made.user_id, made.label) == ("console", world.user_ids["clerk"], "deploys")
    assert (made.scopes, made.access_scopes) == (HELD, HELD)
    assert (made.user_agent, made.source) == (asks.BROWSER, "203.0.113.7")
    assert (made.started_at, made.access_digest) == (world.now, issued.token.digest)
    assert made.access_expires_at == made.expires_at == world.now + 30 * DAY * 1_000
    assert created.decision.facts == (
        Fact(
            FactKind.PERSONAL_TOKEN_CREATED,
            user_id=made.user_id,
            client_id="console",
            session_id=made.session_id,
            user_agent=asks.BROWSER,
            scopes=HELD,
            changes=(
                FieldChange("name", None, "deploys"),
                FieldChange("permissions", None, HELD),
                FieldChange("expiresInDays", None, 30),
            ),
        ),
    )
    known = account_of(world, issued.token, permission=Permission.CLIENT_LIST)
    assert known is not None
    assert (known.roles, known.permissions, known.session_id) == ((), HELD, made.session_id)
    assert account_of(world, issued.token, permission=Permission.USER_LIST) is None
    world.when(asks.profile(issued.token)).then_refused(Why.NOT_SIGNED_IN)


@pytest.mark.parametrize(
    "changed, faults",
    [
        ({"name": ...}, {"name": FieldRule.REQUIRED}),
        ({"name": "x" * 100}, {}),
        ({"name": "x" * 101}, {"name": FieldRule.TOO_LONG}),
        ({"permissions": []}, {"permissions": FieldRule.REQUIRED}),
        ({"permissions": [HELD[0], "everything"]}, {"permissions.1": FieldRule.PERMISSION}),
        ({"expiresInDays": ...}, {"expiresInDays": FieldRule.REQUIRED}),
        ({"expiresInDays": 0}, {"expiresInDays": FieldRule.TOKEN_LIFETIME}),
        ({"expiresInDays": 1}, {}),
        ({"expiresInDays": 365}, {}),
        ({"expiresInDays": 366}, {"expiresInDays": FieldRule.TOKEN_LIFETIME}),
    ],
)
def test_a_token_has_a_name_permissions_and_a_number_of_days(
    world: World, changed: dict[str, object], faults: dict[str, FieldRule]
) -> None:
    created = world.when(creation(world.login("clerk"), **changed))
    if faults:
        assert created.then_faults() == faults
    else:
        created.then(PersonalTokenIssued)


def test_a_user_makes_no_token_with_more_permissions_and_a_token_makes_none(world: World) -> None:
    more = [*HELD, Permission.USER_LIST.value]
    world.when(creation(world.login("clerk"), permissions=more)).then_refused(Why.PERMISSION_MISSING)
    world.when(creation(world.login("alice"))).then_refused(Why.PERMISSION_MISSING)
    login = world.login("clerk")
    issued = world.when(creation(login)).then(PersonalTokenIssued)
    by_token = replace(creation(login), caller=e.SignedIn(access_token=issued.token))
    world.when(by_token).then_refused(Why.NOT_SIGNED_IN)


def test_the_use_of_a_token_is_noted_once_a_minute_and_a_logins_never(world: World) -> None:
    login = world.login("clerk")
    token = world.when(creation(login)).then(PersonalTokenIssued).token
    used = e.PersonalTokenUsed(caller=e.SignedIn(access_token=token))
    for waited, is_news in ((0, True), (59.999, False), (0.001, True)):
        world.wait(waited)
        known = account_of(world, token)
        assert known is None, "one's own account is not for tokens"
        known = account_of(world, token, permission=Permission.CLIENT_LIST)
        assert known is not None
        assert known.is_use_news is is_news
        world.when(used).then(Done, changes=["update session"] if is_news else [], facts=[])
    assert world.the_session(SessionKind.PERSONAL_TOKEN).rotated_at == world.now
    of_login = account_of(world, login.tokens.access_token)
    assert of_login is not None
    assert (of_login.is_use_news, [role.role_id for role in of_login.roles]) == (False, ["clerk"])
    world.when(e.PersonalTokenUsed(caller=caller_of(login))).then_refused(Why.NOT_SIGNED_IN)


def test_the_holder_ends_a_token_which_is_no_signing_out(world: World) -> None:
    login, other = world.login("clerk"), world.login("clerk")
    issued = world.when(creation(login)).then(PersonalTokenIssued)
    sessions = {session.access_digest: session.session_id for session in world.sessions()}
    for digest, why in (
        (issued.token.digest, Why.PERSONAL_TOKEN_ENDED),
        (other.tokens.access_token.digest, Why.SIGNED_OUT),
    ):
        ending = world.when(e.OwnSessionEnded(caller=caller_of(login), session_id=sessions[digest]))
        counted = ["update user"] if why is Why.PERSONAL_TOKEN_ENDED else []
        ending.then(Done, changes=["update session", *counted], facts=[FactKind.SESSION_ENDED])
        assert ending.decision.facts[0].why is why
    assert account_of(world, issued.token, permission=Permission.CLIENT_LIST) is None


def test_a_token_is_no_super_administrator_and_acts_on_others_but_not_on_its_holder(world: World) -> None:
    may = [Permission.USER_UPDATE.value]
    issued = world.when(creation(world.login("root"), permissions=may)).then(PersonalTokenIssued)
    assert account_of(world, issued.token, as_super_administrator=True) is None
    caller = e.SignedIn(access_token=issued.token)
    world.given(
        asks.role("keeper", *may), user("keeper", roles=("keeper",)), user("boss", roles=("super_admin",))
    )
    own = world.when(creation(world.login("keeper"), permissions=may)).then(PersonalTokenIssued)
    for name, by, is_refused in (
        *(("alice", caller, False), ("root", caller, True), ("boss", caller, True)),
        *(("alice", e.SignedIn(access_token=own.token), False), ("keeper", caller, False)),
    ):
        outcome = world.when(e.UserForcedOut(caller=by, user_id=world.user_ids[name]))
        assert isinstance(outcome.reply, Refused) is is_refused, name
    own = world.when(creation(world.login("keeper"), permissions=may)).then(PersonalTokenIssued)
    world.when(
        e.UserForcedOut(caller=e.SignedIn(access_token=own.token), user_id=world.user_ids["keeper"])
    ).then_refused(Why.TOKEN_PERMISSION_MISSING)


def test_of_two_tokens_made_in_one_turn_at_the_bound_one_is_refused(world: World) -> None:
    login = world.login("clerk")
    for _ in range(99):
        world.when(creation(login)).then(PersonalTokenIssued)
    first, second = world.store.turn([creation(login), creation(login)], world.now)
    assert isinstance(first.reply, PersonalTokenIssued)
    assert second == Decision(Refused(Why.TOO_MANY_TOKENS))


def test_tokens_that_ended_in_any_way_count_no_more() -> None:
    policy = replace(SPECIFICATION, personal_tokens_at_most=1)
    world = given(asks.role("clerk", *HELD), user("clerk", roles=("clerk",)), policy=policy)
    login = world.login("clerk")

    def make(**changed: object) -> PersonalTokenIssued:
        return world.when(creation(login, **changed)).then(PersonalTokenIssued)

    made = make(expiresInDays=1)
    world.when(creation(login)).then_refused(Why.TOO_MANY_TOKENS, changes=[])
    world.when(e.OwnSessionEnded(caller=caller_of(login), session_id=made.session.session_id)).then(Done)
    make(expiresInDays=1)
    world.wait(24 * 60 * 60)
    login = world.login("clerk")
    made = make()
    world.when(e.SessionForcedOut(caller=e.Operator(), session_id=made.session.session_id)).then(Done)
    make()
    world.when(e.OtherSessionsEnded(caller=caller_of(login))).then(Done)
    make()
    world.when(e.EverybodyForcedOut(caller=e.Operator(), client_ids=("console",))).then(Done)
    login = world.login("clerk")
    make()
