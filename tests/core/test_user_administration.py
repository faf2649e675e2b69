"""Administrators change accounts: the answer, writes and facts of each decision."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ostiary_core import SPECIFICATION, Instant, Why, events as e
from ostiary_core.clients.client import make_built_in_client
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Change, Decision, Delete, Insert, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import names_of
from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import ALL_PERMISSIONS
from ostiary_core.model.records import Record, Role, TextCodePurpose, User, revise
from ostiary_core.model.reply import BatchDone, BatchRefused, Done, Refused, UserKnown
from ostiary_core.model.user import new_password_faults
from tests.rows import row
from tests.support import asks
from tests.support.story import START, World, client, given, refusal_for, user

PHONE, NEW_PHONE = "+8613800000000", "+8613900000001"
DONE = Decision(Done())
Make = Callable[..., e.Event]
Values = dict[str, Any]


@pytest.fixture
def world() -> World:
    """A keeper with every permission, alice who may change accounts, and bob."""
    roles = asks.role("keeper", *ALL_PERMISSIONS), asks.role("clerk", "iam.user.update"), asks.role("guest")
    people = user("keeper", roles=("keeper",)), user(phone=PHONE, roles=("clerk",)), user("bob")
    return given(client(), *roles, *people)


def decide(world: World, make: Make, by: str = "keeper", **asked: Any) -> Decision:
    return world.decide(make, by, **asked)


def user_in(decision: Decision) -> User:
    assert isinstance(decision.reply, UserKnown)
    return decision.reply.user


def fact_of(kind: FactKind, of: User, by: str | None, told: Values, why: Why | None = None) -> Fact:
    """Make a fact; `told` has each field before and after."""
    changes = tuple(FieldChange(name, *values) for name, values in told.items())
    return Fact(kind=kind, user_id=of.user_id, actor_id=by, why=why, changes=changes)


def count_holders(world: World, **moved: tuple[int, int]) -> tuple[Change, ...]:
    """Change the numbers of a role's holders and of its enabled holders by so many."""
    changes = []
    for name, (holders, enabled) in moved.items():
        role = world.role(name)
        holders, enabled = role.holders + holders, role.enabled_holders + enabled
        changes.append(Update(role, revise(role, holders=holders, enabled_holders=enabled)))
    return tuple(changes)


def test_the_first_administrator_comes_once_and_with_what_is_built_in() -> None:
    world = World()

    def create(username: str) -> Decision:
        given: Values = {"username": username, "password_hash": "a hash", "must_change_password": False}
        return world.when(e.FirstAdministratorCreated(entropy=asks.fresh_entropy(), **given)).decision

    assert create("a:b") == refusal_for(Why.FIELDS_INVALID, FieldFault("username", FieldRule.USERNAME))
    role_of_that_name = decide(world, e.RoleRegistered, "", fields={"code": "super_admin", "name": "x"})
    assert role_of_that_name == refusal_for(Why.ALREADY_TAKEN, FieldFault("code", Why.ALREADY_TAKEN))
    world.given(user()).sign_in().then_refused(Why.SIGN_IN_WRONG, facts=[FactKind.SIGN_IN_FAILED])
    assert create("Alice") == refusal_for(Why.ALREADY_TAKEN)
    created = create("root")
    values: Values = {"username": "root", "name": "root", "password_hash": "a hash"}
    values |= {"must_change_password": False, "role_ids": ("super_admin",), "created_at": START}
    root = User(user_id=user_in(created).user_id, updated_at=START, **values)
    values = {"role_id": "super_admin", "name": "Super administrator", "permissions": ALL_PERMISSIONS}
    role = Role(built_in=True, holders=1, enabled_holders=1, **values)
    records: list[Record] = [root, *names_of(root), role]
    records += [make_built_in_client(client_id, START) for client_id in ("console", "mobile")]
    values = {"username": "root", "name": "root", "enabled": True, "mustChangePassword": False}
    told = {name: (None, value) for name, value in {**values, "roleIds": ("super_admin",)}.items()}
    facts = (fact_of(FactKind.USER_REGISTERED, root, None, told),)
    assert created == Decision(UserKnown(root), tuple(map(Insert, records)), facts)
    assert create("another") == refusal_for(Why.ADMINISTRATOR_EXISTS)


def test_an_account_is_registered_with_its_names_and_counted_as_a_holder(world: World) -> None:
    register = partial(e.UserRegistered, password_hash="a hash", entropy=asks.fresh_entropy())
    change = partial(e.UserChanged, user_id=world.user_ids["bob"])
    chosen: Values = {"username": "Carol", "name": "C", "phone": NEW_PHONE, "enabled": False}
    more = {"locale": "en-US", "timezone": "UTC"}
    roles = count_holders(world, clerk=(1, 0), guest=(1, 0))
    fields = {**chosen, **more, "roleIds": ["clerk", "guest"]}
    registered = decide(world, register, fields=fields)
    values: Values = {"password_hash": "a hash", "must_change_password": True, **chosen, **more}
    values |= {"role_ids": ("clerk", "guest"), "created_at": world.now, "updated_at": world.now}
    carol = User(user_id=user_in(registered).user_id, **values)
    chosen |= {"phone": "***01", "mustChangePassword": True, "roleIds": ("clerk", "guest"), **more}
    told = {name: (None, value) for name, value in chosen.items()}
    facts = (fact_of(FactKind.USER_REGISTERED, carol, world.user_ids["keeper"], told),)
    names = map(Insert, names_of(carol))
    assert registered == Decision(UserKnown(carol), (Insert(carol), *names, *roles), facts)
    taken = [FieldFault(name, Why.ALREADY_TAKEN) for name in ("username", "phone")]
    assert decide(world, register, fields=fields) == refusal_for(Why.ALREADY_TAKEN, *taken)
    assert decide(world, change, fields={"phone": PHONE}) == refusal_for(Why.ALREADY_TAKEN, taken[1])
    missing = refusal_for(Why.PERMISSION_MISSING)
    assert decide(world, change, "alice", fields={"roleIds": ["keeper"]}) == missing
    unknown: Values = {"username": "dave", "name": "D", "roleIds": ["guest", "nosuch"]}
    for make in (register, change):
        fault = FieldFault("roleIds.1", FieldRule.ROLE)
        assert decide(world, make, fields=unknown) == refusal_for(Why.FIELDS_INVALID, fault)


@row("Session and tokens", "password reset by administrator")
@row("Session and tokens", "user force-logged-out by an administrator")
@row("Session and tokens", "user disabled")
@row("Session and tokens", "user deleted")
@row("Token-service errors", "invalid_grant: password reset")
@row("Token-service errors", "invalid_grant: user force-logged-out")
@row("Token-service errors", "invalid_grant: user disabled")
@row("Token-service errors", "invalid_grant: user deleted")
@row("User-info", "user disabled")
@row("User-info", "user deleted")
def test_each_act_on_an_account_has_its_answer_writes_and_facts(world: World) -> None:
    """End sessions without a write for each (READINGS 9), and leave other users' sessions alone."""
    user_id, by = world.user_ids["alice"], world.user_ids["keeper"]
    decide_on_alice, bobs = partial(decide, world, user_id=user_id), world.tokens("bob")

    def expect(
        make: Make, kind: FactKind | None, why: Why | None, told: Values, *more: Change, **values: Any
    ) -> None:
        world.wait(1)
        name = world.user().username
        pair, code = (world.tokens(name), world.code(name)) if why else (None, None)
        world.sign_in(name, "wrong")
        before, decision = world.user(), decide_on_alice(make)
        ending = {"epoch": before.epoch + 1, "epoch_why": why, "epoch_at": world.now} if why else {}
        after = revise(before, **{"updated_at": world.now, **ending, **values})
        own_why = why if kind is FactKind.PASSWORD_SET else None
        facts = [fact_of(kind, after, by, told, own_why)] if kind else []
        facts += [fact_of(FactKind.USER_SESSIONS_ENDED, after, by, {}, why)] if why else []
        is_shown = kind in (FactKind.USER_CHANGED, FactKind.USER_ENABLED, FactKind.USER_DISABLED)
        reply = UserKnown(after) if is_shown else Done()
        assert decision == Decision(reply, (Update(before, after), *more), tuple(facts))
        if pair is not None:
            world.assert_ended(pair)
            world.when(asks.redeem(world.basic(), code)).then_refused(Why.CODE_VOID)
        assert world.all_active(bobs)

    def change(**fields: object) -> Make:
        return partial(e.UserChanged, fields=fields)

    (name, phone), (new_name, new_phone) = (
        names_of(each) for each in (world.user(), revise(world.user(), username="Al", phone=NEW_PHONE))
    )
    assert decide_on_alice(e.UserRequested) == Decision(UserKnown(world.user()))
    nothing: list[Make] = [e.UserEnabled, change(name="Alice")]
    unchanged = Decision(UserKnown(world.user(), is_unchanged=True))
    assert [decide_on_alice(make) for make in nothing] == [unchanged] * 2
    expect(e.UserForcedOut, None, Why.USER_FORCED_OUT, {})
    told: Values = {"username": ("alice", "Al"), "roleIds": (("clerk",), ("guest", "clerk"))}
    make, more = change(username="Al", roleIds=["guest", "clerk"]), count_holders(world, guest=(1, 1))
    values: Values = {"username": "Al", "role_ids": ("guest", "clerk")}
    expect(make, FactKind.USER_CHANGED, None, told, Delete(name), Insert(new_name), *more, **values)
    told = {"phone": ("***00", "***01"), "roleIds": (("guest", "clerk"), ("guest",))}
    make, more = change(phone=NEW_PHONE, roleIds=["guest"]), count_holders(world, clerk=(-1, -1))
    values, why = {"phone": NEW_PHONE, "role_ids": ("guest",)}, Why.PHONE_CHANGED
    expect(make, FactKind.USER_CHANGED, why, told, Delete(phone), Insert(new_phone), *more, **values)
    told, more = {"enabled": (True, False)}, count_holders(world, guest=(0, -1))
    expect(e.UserDisabled, FactKind.USER_DISABLED, Why.USER_DISABLED, told, *more, enabled=False)
    assert decide_on_alice(e.UserDisabled) == Decision(UserKnown(world.user(), is_unchanged=True))
    told, more = {"enabled": (False, True)}, count_holders(world, guest=(0, 1))
    expect(e.UserEnabled, FactKind.USER_ENABLED, None, told, *more, enabled=True)
    reset = partial(e.PasswordResetByAdministrator, new_password_hash=asks.hash_of("right"))
    why = Why.PASSWORD_RESET_BY_ADMINISTRATOR
    told = {"mustChangePassword": (False, True)}
    values = {"password_hash": asks.hash_of("right"), "must_change_password": True}
    expect(reset, FactKind.PASSWORD_SET, why, told, **values)
    world.given(asks.user_change(user_id, mustChangePassword=False))
    was = {"username": "Al", "name": "Alice", "phone": "***01", "enabled": True, "mustChangePassword": False}
    told = {field: (value, None) for field, value in {**was, "roleIds": ("guest",)}.items()}
    more = (Delete(new_name), Delete(new_phone), *count_holders(world, guest=(-1, -1)))
    at = Instant(world.now + 1_000)
    erased = {"password_hash": None, "phone": None, "last_sign_in_at": 0}
    values = {"enabled": False, "deleted_at": at, **erased}
    expect(e.UserDeleted, FactKind.USER_DELETED, Why.USER_DELETED, told, *more, **values)
    for make in (e.UserRequested, e.UserEnabled, e.UserDisabled, e.UserDeleted, e.UserForcedOut, reset):
        assert decide_on_alice(make) == decide(world, make, user_id="nosuch") == refusal_for(Why.NOT_FOUND)


def test_nothing_that_a_user_chose_or_asked_for_outlives_the_account(world: World) -> None:
    caller, (alice, before) = world.caller(), (world.user_ids["alice"], world.user())
    world.given(
        e.LocaleChosen(caller=caller, locale="zh-CN"),
        e.TimezoneChosen(caller=caller, timezone="Asia/Shanghai"),
        e.AvatarChosen(caller=caller, avatar_url="/avatars/alice"),
        e.TextCodeRequested(
            caller=caller, purpose=TextCodePurpose.CHANGE_PHONE, phone=NEW_PHONE, entropy=asks.fresh_entropy()
        ),
        e.UserDeleted(caller=e.Operator(), user_id=alice),
    )
    chosen = ("locale", "timezone", "avatar_url", "text_codes_asked_at")
    assert {name: getattr(world.user(), name) for name in chosen} == {
        name: getattr(before, name) for name in chosen
    }


def test_an_unlock_is_in_the_trail_and_changes_nothing(world: World) -> None:
    unlocked = decide(world, e.UserUnlocked, user_id=world.user_ids["bob"])
    fact = fact_of(FactKind.USER_UNLOCKED, world.user("bob"), world.user_ids["keeper"], {})
    assert (unlocked.changes, unlocked.facts) == ((), (fact,))


def test_administrators_change_numbers_of_others_and_not_their_own(world: World) -> None:
    own = decide(world, partial(e.UserChanged, user_id=world.user_ids["keeper"], fields={"phone": NEW_PHONE}))
    assert own == Decision(Refused(Why.OWN_ACCOUNT_ALONE, (FieldFault("phone", Why.OWN_ACCOUNT_ALONE),)))
    of_alice = partial(e.UserChanged, user_id=world.user_ids["alice"], fields={"phone": NEW_PHONE})
    assert user_in(decide(world, of_alice)).epoch_why is Why.PHONE_CHANGED


def test_administrators_cannot_give_a_new_account_permissions_that_they_lack(world: World) -> None:
    world.given(asks.role("registrar", "iam.user.create"), user("registrar", roles=("registrar",)))
    for role, is_refused in (("keeper", True), ("registrar", False), ("guest", False)):
        fields = {"username": f"a{role}", "name": "A", "roleIds": [role]}
        register = partial(e.UserRegistered, password_hash="a hash", entropy=asks.fresh_entropy())
        made = decide(world, register, "registrar", fields=fields)
        assert (made == refusal_for(Why.PERMISSION_MISSING)) is is_refused


def test_a_batch_may_put_another_super_administrator_in_the_last_ones_place(world: World) -> None:
    world.given(user("second", roles=("super_admin",)))
    second, root = (world.user_ids[name] for name in ("second", "root"))
    caller = e.Operator()
    world.given(e.UserDisabled(caller=caller, user_id=second))
    change = (e.UserDisabled(caller=caller, user_id=root), e.UserEnabled(caller=caller, user_id=second))
    assert world.when(e.BatchRequested(events=change[:1])).then(BatchRefused).refusals == (
        (0, Refused(Why.LAST_ADMINISTRATOR)),
    )
    world.when(e.BatchRequested(events=change)).then(BatchDone)


def test_there_is_always_an_enabled_super_administrator(world: World) -> None:
    def ask(name: str, make: Make) -> Decision:
        return decide(world, make, "", user_id=world.user_ids[name])

    strip = partial(e.UserChanged, fields={"roleIds": []})
    world.given(*(user(name, roles=("super_admin",)) for name in ("second", "third")))
    for make, moved in ((e.UserDisabled, (0, -1)), (strip, (-1, 0))):
        for name in ("second", "third"):
            assert count_holders(world, super_admin=moved) == ask(name, make).changes[1:]
        for on_last in (e.UserDisabled, e.UserDeleted, strip):
            assert ask("root", on_last) == refusal_for(Why.LAST_ADMINISTRATOR)
    assert ask("root", partial(e.UserChanged, fields={"name": "Root"})).changes
    world.given(*(user(name, roles=("super_admin",)) for name in ("fourth", "fifth")))
    assert decide(world, strip, "fifth", user_id=world.user_ids["fourth"]).changes
    assert ask("root", e.UserDeleted).reply == Done()


def test_a_row_of_a_sheet_registers_or_changes_an_account(world: World) -> None:
    def row(
        by: str = "keeper", own: str | None = None, foreign: str | None = None, /, **asked: Any
    ) -> Decision:
        given = {"password_hash": own, "foreign_hash": foreign, "entropy": asks.fresh_entropy()}
        given |= {name: asked.pop(name) for name in ("faults", "replace") if name in asked}
        return decide(world, partial(e.UserImported, replace=True), by, fields=asked, **given)

    rows: tuple[Any, ...] = (
        ("a", ("own", "foreign"), {}, ("own", False)),
        ("b", ("own", None), {}, ("own", True)),
        ("c", (None, "foreign"), {"mustChangePassword": True}, ("foreign", True)),
    )
    for username, hashes, asked, kept in rows:
        made = user_in(row("keeper", *hashes, username=username, name="New", **asked))
        assert (made.username, made.password_hash, made.must_change_password) == (username, *kept)
    taken = refusal_for(Why.ALREADY_TAKEN, FieldFault("username", Why.ALREADY_TAKEN))
    assert row(replace=False, username="A", name="New") == taken
    assert row("keeper", None, "own", username="a", name="New") == row(username="a") == DONE
    assert row("alice", username="keeper", name="Keeper") == row("alice", username="root") == DONE
    missing = refusal_for(Why.PERMISSION_MISSING)
    assert row("alice", username="keeper", name="K") == row("bob", username="a") == missing
    immutable = refusal_for(Why.FIELDS_INVALID, FieldFault("password", FieldRule.IMMUTABLE))
    assert row("keeper", "other", None, username="a") == immutable
    # A foreign hash for an account that is there is ignored, valid or not; beside a password it is refused.
    hash_faults = [FieldFault("passwordHash", rule) for rule in (FieldRule.PASSWORD_HASH, FieldRule.STRING)]
    assert row("keeper", None, "other", username="a") == row(username="a", faults=tuple(hash_faults)) == DONE
    twice = FieldFault("passwordHash", FieldRule.PASSWORD_TWICE)
    assert row(username="a", faults=(twice,)) == refusal_for(Why.FIELDS_INVALID, twice)
    for path, rule in (("password", FieldRule.PASSWORD), ("timezone", FieldRule.TIMEZONE)):
        fault, zone = FieldFault(path, rule), {"timezone": "Mars/Base"}
        for username in ("a", "d"):
            invalid = row(faults=(fault,), username=username, name="N", **zone)
            assert invalid == refusal_for(Why.FIELDS_INVALID, fault)
    two = FieldFault("name", FieldRule.REQUIRED), FieldFault("timezone", FieldRule.TIMEZONE)
    assert row(username="a", name="", timezone="X", faults=two[1:]) == refusal_for(Why.FIELDS_INVALID, *two)
    assert row(username=7, name="N") == refusal_for(
        Why.FIELDS_INVALID, FieldFault("username", FieldRule.STRING)
    )
    changed, told = row(username="a", name="Newer"), {"name": ("New", "Newer")}
    fact = fact_of(FactKind.USER_CHANGED, user_in(changed), world.user_ids["keeper"], told)
    assert changed.facts == (fact,)


def test_names_older_than_a_rule_stay_until_they_are_changed(world: World) -> None:
    bob = world.user("bob")
    assert bob is not None
    world.store.write([Update(bob, revise(bob, username="b\u3164b", name="\u2800", phone="1"))])
    change = partial(decide, world, e.UserChanged, user_id=bob.user_id)
    sent = {"username": "b\u3164b", "name": "\u2800", "phone": "1", "locale": "en-US"}
    assert user_in(change(fields=sent)).locale == "en-US"
    assert user_in(change(fields={"name": "\u2764\ufe0f Bob"})).name == "\u2764\ufe0f Bob"
    for path, value, rule in (
        ("username", "bo\u2764\ufe0fb", FieldRule.USERNAME),
        ("name", "Bob\ufe0f", FieldRule.STRING),
        ("phone", "2", FieldRule.PHONE),
    ):
        assert change(fields={path: value}) == refusal_for(Why.FIELDS_INVALID, FieldFault(path, rule))


def test_every_bad_field_of_an_account_is_named_and_the_longest_are_taken(world: World) -> None:
    change = partial(decide, world, e.UserChanged, user_id=world.user_ids["bob"])
    longest = {"username": "u" * 64, "name": "n" * 100, "locale": "en-US", "timezone": "UTC"}
    full = user_in(change(fields=longest))
    cleared = user_in(change(fields={"locale": None, "timezone": None}))
    assert cleared == revise(full, locale=None, timezone=None)
    for path, value, rule in (
        ("username", "", FieldRule.REQUIRED),
        ("username", "a b", FieldRule.USERNAME),
        ("username", "u" * 65, FieldRule.TOO_LONG),
        ("name", "n" * 101, FieldRule.TOO_LONG),
        ("phone", "110", FieldRule.PHONE),
        ("enabled", False, FieldRule.IMMUTABLE),
        ("roleIds", [str(number) for number in range(101)], FieldRule.TOO_LONG),
        ("timezone", "../etc", FieldRule.TIMEZONE),
    ):
        assert change(fields={path: value}) == refusal_for(Why.FIELDS_INVALID, FieldFault(path, rule))
    unspoken = FieldFault("locale", FieldRule.LOCALE, SPECIFICATION.locales)
    assert change(fields={"locale": "fr"}) == refusal_for(Why.FIELDS_INVALID, unspoken)
    unknown = tuple(FieldFault(f"roleIds.{place}", FieldRule.ROLE) for place in range(100))
    many = [str(number) for number in range(100)]
    assert change(fields={"roleIds": many}) == refusal_for(Why.FIELDS_INVALID, *unknown)
    bob = world.user("bob")
    seen: dict[str, Any] = {"id": bob.user_id, "secondFactor": False, "avatarUrl": None, "lastSignInAt": None}
    seen |= {"createdAt": iso_time(bob.created_at), "updatedAt": iso_time(bob.updated_at)}
    assert change(fields={**seen, "enabled": True}) == Decision(UserKnown(bob, is_unchanged=True))
    for name in seen:
        fault = FieldFault(name, FieldRule.IMMUTABLE)
        assert change(fields={name: "x"}) == refusal_for(Why.FIELDS_INVALID, fault)
    for length, is_good in ((7, False), (8, True), (256, True), (257, False)):
        faults = new_password_faults("new", "p" * length, "current")
        assert faults == (() if is_good else (FieldFault("new", FieldRule.PASSWORD),))
    same = FieldFault("new", FieldRule.PASSWORD_UNCHANGED)
    assert new_password_faults("new", "the same one", "the same one") == (same,)
