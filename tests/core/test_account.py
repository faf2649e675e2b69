"""Signing in and out, and the login session ("Authentication", READINGS 12, 23-25)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from ostiary_core import SPECIFICATION, Secret, Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.instant import Arrival, later
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.records import Role, Session, SessionKind, revise
from ostiary_core.model.reply import AccountKnown, Done, LoginIssued, PasswordOnFile, Profile, Refused
from ostiary_core.oauth.inherited_endings import with_next_epoch
from tests.rows import row
from tests.support import asks
from tests.support.asks import caller_of, login_refresh, password_change, profile
from tests.support.story import World, client, given, user

MAY_END = (Permission.ONLINE_KILL.value,)
CLERK = asks.role("clerk", *MAY_END)


def next_pair(world: World, login: LoginIssued) -> LoginIssued:
    changes = ["insert refresh token", "update session"]
    return world.when(login_refresh(login)).then(LoginIssued, changes=changes, facts=[FactKind.PAIR_ROTATED])


# --- signing in


def test_signing_in_starts_a_login_session_of_half_an_hour_and_seven_days_however_often_refreshed() -> None:
    """READINGS 25."""
    world = given()
    login = world.login()
    assert login.tokens.expires_in_seconds == 1800
    started = world.the_session(SessionKind.LOGIN)
    assert (started.user_agent, started.source) == (asks.BROWSER, "203.0.113.7")
    world.wait(1799.999)
    world.when(profile(login.tokens.access_token)).then(Profile)
    world.wait(0.001)
    world.when(profile(login.tokens.access_token)).then_refused(Why.NOT_SIGNED_IN)
    for _ in range(6):
        world.wait(86_400)
        login = next_pair(world, login)
    world.wait(86_400 - 1800 - 1)
    login = next_pair(world, login)
    world.wait(0.001)
    world.when(login_refresh(login)).then_refused(Why.NOT_SIGNED_IN)


@pytest.mark.parametrize("username", ["nobody", "", "\0", "\ud800", "x" * 100_000])
def test_an_unknown_name_and_a_wrong_password_are_answered_alike(world: World, username: str) -> None:
    fact = Fact(kind=FactKind.SIGN_IN_FAILED)
    assert world.sign_in(username).decision == Decision(Refused(Why.SIGN_IN_WRONG), (), (fact,))
    fact = Fact(kind=FactKind.SIGN_IN_FAILED, user_id=world.user().user_id, user_agent=asks.BROWSER)
    assert world.sign_in("alice", "wrong").decision == Decision(Refused(Why.SIGN_IN_WRONG), (), (fact,))


def test_a_password_that_was_verified_against_another_hash_does_nothing(world: World) -> None:
    """Change the password while the runtime hashes."""
    for against in (asks.hash_of("older"), None):
        world.when(asks.sign_in(against=against)).then_refused(Why.PASSWORD_CHANGED_MEANWHILE)
    login = world.login()
    world.given(password_change(login, new="newer"))
    world.when(password_change(login, new="newest")).then_refused(Why.PASSWORD_CHANGED_MEANWHILE)
    world.given(replace(user("bob"), password_hash=None))
    world.when(asks.sign_in("bob", "any")).then_refused(Why.PASSWORD_CHANGED_MEANWHILE)


def test_a_sign_in_may_bring_a_newer_hash_of_the_same_password_which_ends_nothing(world: World) -> None:
    world.login()

    def attempt(*, matches: bool) -> e.SignInAttempted:
        made_anew = asks.hash_of("right, made anew")
        against = asks.hash_of("right" if matches else "older")
        return asks.sign_in(against=against, password_matches=matches, new_password_hash=made_anew)

    world.when(attempt(matches=False)).then_refused(Why.SIGN_IN_WRONG)
    before = world.user("alice")
    started = ["insert session", "insert refresh token"]
    world.when(attempt(matches=True)).then(LoginIssued, changes=["update user", *started])
    after = world.user("alice")
    assert after == revise(before, password_hash=asks.hash_of("right, made anew"), last_sign_in_at=world.now)
    login = world.sign_in(password="right, made anew").then(
        LoginIssued, changes=["update user", *started], facts=[FactKind.SESSION_STARTED]
    )
    asked = world.when(e.PasswordHashRequested(of=caller_of(login))).reply
    assert asked == PasswordOnFile(asks.hash_of("right, made anew"))


# --- the login session


@row("Authentication rules", "2 auth/refresh takes no OAuth refresh token")
def test_the_backends_refresh_takes_no_third_partys_token(world: World) -> None:
    pair, code, login = world.tokens(), world.code(), world.login()
    before = world.everything()
    others = (pair.refresh_token, pair.access_token, world.machine_token(), code, login.tokens.access_token)
    for token in others:
        assert token is not None
        world.when(login_refresh(token)).then_refused(Why.NOT_SIGNED_IN)
    assert before.items() <= world.everything().items()
    assert world.all_active(pair)


def test_a_retry_of_a_login_session_that_may_have_come_in_time_is_not_signed_out(world: World) -> None:
    """READINGS 46."""
    login = world.login()
    following = next_pair(world, login)
    world.wait(40)
    arrival = Arrival(later(world.now, -20), world.now)
    world.when(login_refresh(login, arrival=arrival)).then_refused(Why.ARRIVAL_UNKNOWN, facts=[])
    next_pair(world, following)


def test_an_account_is_shown_with_what_it_may_do() -> None:
    """Read roles of an earlier version too: one lacks every permission and one is gone."""
    world = given(CLERK, user(roles=("clerk",)), user("bob", must_change_password=True))
    role = world.role(SUPER_ADMINISTRATOR)
    world.store.write([Update(role, revise(role, permissions=()))])
    world.store.write([Update(world.user(), revise(world.user(), role_ids=("clerk", "gone")))])
    alice = world.caller()
    clerk = Role(role_id="clerk", name="Clerk", permissions=MAY_END, holders=1, enabled_holders=1, revision=2)
    session_id = world.the_session("login").session_id
    shown = AccountKnown(user=world.user(), roles=(clerk,), permissions=MAY_END, session_id=session_id)
    operator = AccountKnown(user=None, roles=(), permissions=ALL_PERMISSIONS, session_id=None)
    root, bob = world.caller("root"), world.caller("bob")
    for caller, permission, reply in (
        (alice, None, shown),
        (alice, Permission.ONLINE_KILL, shown),
        (alice, Permission.AUDIT_READ, Refused(Why.PERMISSION_MISSING)),
        (bob, Permission.AUDIT_READ, Refused(Why.PASSWORD_MUST_CHANGE)),
        (e.SignedIn(access_token=Secret("nonsense")), None, Refused(Why.NOT_SIGNED_IN)),
        (e.Operator(), Permission.AUDIT_READ, operator),
    ):
        assert world.when(e.AccountRequested(caller=caller, permission=permission)).reply == reply
    assert world.when(e.AccountRequested(caller=bob)).then(AccountKnown).user == world.user("bob")
    assert world.when(e.AccountRequested(caller=root)).then(AccountKnown).permissions == ALL_PERMISSIONS


@row("Session and tokens", "user changes password")
@row("Token-service errors", "invalid_grant: user changed password")
@row("User-info", "user changed password")
def test_a_password_is_changed_by_entering_the_current_one(world: World) -> None:
    pair, must_change = world.tokens(), {"mustChangePassword": True}
    world.given(e.UserChanged(caller=e.Operator(), user_id=world.user().user_id, fields=must_change))
    login = world.login()
    assert login.must_change_password
    before, session, why = world.user(), world.sessions()[-1], Why.PASSWORD_CHANGED
    fact = partial(Fact, user_id=before.user_id)
    counted = revise(before, wrong_passwords_at=(world.now,))
    wrong = (fact(kind=FactKind.CURRENT_PASSWORD_WRONG),)
    refusal = Decision(Refused(Why.CURRENT_PASSWORD_WRONG), (Update(before, counted),), wrong)
    assert world.when(password_change(login, old="wrong")).decision == refusal
    ended = with_next_epoch(counted, why, world.now)
    changed = replace(ended, password_hash=asks.hash_of("newer"), must_change_password=False)
    kept = revise(session, epochs=session.epochs._replace(user=changed.epoch), proved_at=world.now)
    facts = (
        fact(kind=FactKind.PASSWORD_SET, why=why, changes=(FieldChange("mustChangePassword", True, False),)),
        fact(kind=FactKind.USER_SESSIONS_ENDED, why=why),
    )
    done = Decision(Done(), (Update(counted, changed), Update(session, kept)), facts)
    assert world.when(password_change(login)).decision == done
    world.assert_ended(pair)
    assert not world.login(password="newer").must_change_password


def test_preferences_are_set_unless_the_password_must_be_changed_first() -> None:
    world = given(user(), user("bob", must_change_password=True))
    alice, bob = world.caller(), world.caller("bob")
    chosen: tuple[tuple[Callable[..., e.Event], str, str, str], ...] = (
        (e.LocaleChosen, "locale", "locale", "zh-CN"),
        (e.TimezoneChosen, "timezone", "timezone", "Asia/Tokyo"),
        (e.AvatarChosen, "avatar_url", "avatarUrl", "/files/x"),
    )
    for make, attribute, field, value in chosen:
        world.wait(1)
        before = world.user()
        after = revise(before, **{"updated_at": world.now, attribute: value})
        told = (FieldChange(field, None, value),)
        fact = Fact(kind=FactKind.PREFERENCES_SET, user_id=before.user_id, changes=told)
        done = Decision(Done(), (Update(before, after),), (fact,))
        assert world.when(make(caller=alice, **{attribute: value})).decision == done
        assert world.when(make(caller=alice, **{attribute: value})).decision == Decision(Done()), "as it is"
        world.when(make(caller=bob, **{attribute: value})).then_refused(Why.PASSWORD_MUST_CHANGE)
    no_zone = FieldFault("timezone", FieldRule.TIMEZONE)
    unspoken = FieldFault("locale", FieldRule.LOCALE, SPECIFICATION.locales)
    for event, fault in (
        (e.LocaleChosen(caller=alice, locale="fr"), unspoken),
        (e.TimezoneChosen(caller=alice, timezone="../etc/passwd"), no_zone),
        (e.TimezoneChosen(caller=alice, timezone="Mars/Base", faults=(no_zone,)), no_zone),
    ):
        assert world.when(event).decision == Decision(Refused(Why.FIELDS_INVALID, (fault,)))


# --- the current password, entered wrongly (READINGS 24)


@row("Session and tokens", "current password entered wrongly repeatedly")
@pytest.mark.parametrize(
    "entries, ends",
    {"wwww": False, "wwwww": True, "wwww-w": True, "w.wwww": False, "wwwwrw": False, "wwoow": True}.items(),
    ids=["four", "five", "just inside", "only those within count", "a right one between", "two sessions"],
)
def test_five_wrong_entries_within_fifteen_minutes_end_everything(entries: str, ends: bool) -> None:
    """Enter passwords: w wrong, o wrong elsewhere, r right; a dot waits for 15 minutes, a dash not quite."""
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
    told = [FactKind.CURRENT_PASSWORD_WRONG, *([FactKind.USER_SESSIONS_ENDED] if ends else [])]
    replies[-1].then_refused(last, changes=["update user"], facts=told)
    assert world.is_active(pair.refresh_token) is not ends
    if ends:
        assert (world.user().epoch_why, world.user().epoch_at) == (last, world.now)
        world.when(password_change(one)).then_refused(Why.NOT_SIGNED_IN)


# --- sessions that are ended


def expect_ending(world: World, session: Session, why: Why, actor_id: str | None = None) -> Decision:
    after = revise(session, ended_at=world.now, ended_why=why)
    whose = (actor_id, session.user_id, session.client_id, session.session_id)
    return Decision(Done(), (Update(session, after),), (Fact(FactKind.SESSION_ENDED, *whose, why),))


def test_a_session_is_ended_by_its_own_user() -> None:
    world = given(client(), user(), user("bob"))
    bob = world.caller("bob")
    bobs = world.the_session("login")
    world.tokens()
    world.machine_token()
    alice, session = world.caller(), world.the_session()

    def end(caller: e.SignedIn, ended: Session = session) -> Decision:
        return world.when(e.OwnSessionEnded(caller=caller, session_id=ended.session_id)).decision

    not_found, nobody = Decision(Refused(Why.NOT_FOUND)), Decision(Refused(Why.NOT_SIGNED_IN))
    for other in (bobs, world.the_session("client_credentials"), replace(session, session_id="nosuch")):
        assert end(alice, other) == not_found
    assert end(bob) == not_found
    assert end(alice) == expect_ending(world, session, Why.SIGNED_OUT)
    assert end(alice) == not_found
    assert world.when(e.SignedOut(caller=bob)).decision == expect_ending(world, bobs, Why.SIGNED_OUT)
    assert world.when(e.SignedOut(caller=bob)).decision == end(bob) == nobody


@row("Session and tokens", "one session force-logged-out")
@row("Session (grant)", "client-credentials session force-terminable only by a super administrator")
def test_a_machine_session_is_forced_out_only_by_a_super_administrator() -> None:
    world = given(client(), CLERK, user(), user("clerk", roles=("clerk",)))
    world.tokens()
    world.machine_token()
    clerk, root = world.caller("clerk"), world.caller("root")
    own, machine = world.the_session(), world.the_session("client_credentials")

    def force_out(session_id: str, caller: e.Caller) -> Decision:
        return world.when(e.SessionForcedOut(caller=caller, session_id=session_id)).decision

    not_found = Decision(Refused(Why.NOT_FOUND))
    assert force_out(machine.session_id, clerk) == force_out("nosuch", root) == not_found
    why = Why.SESSION_FORCED_OUT
    assert force_out(own.session_id, clerk) == expect_ending(world, own, why, world.user_ids["clerk"])
    assert force_out(own.session_id, clerk) == not_found
    assert force_out(machine.session_id, root) == expect_ending(world, machine, why, world.user_ids["root"])
    world.machine_token()
    second = world.sessions()[-1]
    assert force_out(second.session_id, e.Operator()) == expect_ending(world, second, why, COMMAND_LINE)


def test_sessions_with_which_more_may_be_administered_are_not_ended_by_fewer_permissions() -> None:
    world = given(
        client(), CLERK, user(), user("clerk", roles=("clerk",)), user("boss", roles=("super_admin",))
    )
    world.tokens("boss")
    boss, alice, clerk = (world.login(name) for name in ("boss", "alice", "clerk"))
    world.given(asks.personal_token(boss, permissions=MAY_END))
    sessions = {(each.kind, each.user_id): each.session_id for each in world.sessions()}
    for kind, of, is_refused in (
        (SessionKind.LOGIN, boss, True),
        (SessionKind.PERSONAL_TOKEN, boss, True),
        (SessionKind.AUTHORIZATION_CODE, boss, False),
        (SessionKind.LOGIN, alice, False),
    ):
        session_id = sessions[kind, of.user_id]
        ending = world.when(e.SessionForcedOut(caller=caller_of(clerk), session_id=session_id))
        if is_refused:
            ending.then_refused(Why.PERMISSION_MISSING, facts=[FactKind.REFUSED])
        else:
            ending.then(Done)


def test_signing_out_elsewhere_ends_all_but_this_session_and_wrong_passwords_still_count() -> None:
    world = given()
    here, elsewhere = world.login(), world.login()
    world.when(password_change(here, old="wrong")).then_refused(
        Why.CURRENT_PASSWORD_WRONG, changes=["update user"]
    )
    counted = world.user().wrong_passwords_at
    done = world.when(e.OtherSessionsEnded(caller=caller_of(here)))
    done.then(Done, changes=["update session", "update user"], facts=[FactKind.USER_SESSIONS_ENDED])
    user = world.user()
    assert (user.epoch_why, user.epoch_at) == (Why.SIGNED_OUT_ELSEWHERE, world.now)
    assert user.wrong_passwords_at == counted
    world.when(e.AccountRequested(caller=caller_of(here))).then(AccountKnown)
    world.when(e.AccountRequested(caller=caller_of(elsewhere))).then_refused(Why.NOT_SIGNED_IN)
