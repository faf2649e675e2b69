"""What administrators do with clients and roles, decision by decision: answer, each write, and the fact."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ostiary_core import Instant, Secret, Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision, Delete, Insert, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.record_type import RESERVED
from ostiary_core.model.records import Client, GrantType, Record, Role, Table, revise
from ostiary_core.model.reply import ClientKnown, Done, Refused, RoleKnown, SecretIssued
from tests.rows import row
from tests.support import asks
from tests.support.story import START, World, client, given, user, without_refusals

DONE = Decision(Done())
NEW_CLIENT: dict[str, Any] = {
    "clientId": "shop",
    "name": "New",
    "grantTypes": ["client_credentials"],
    "scopes": ["user.read"],
}
NEW_ROLE: dict[str, Any] = {"code": "auditor", "name": "Auditor", "permissions": ["iam.user.list"]}
P = Permission


@pytest.fixture
def world() -> World:
    """A client and a role, and three callers: the operator, who has every permission, and who has none."""
    everything = [one.value for one in Permission]
    return given(
        client(),
        client("other"),
        e.RoleRegistered(
            caller=e.Operator(), fields={"code": "keeper", "name": "Keeper", "permissions": everything}
        ),
        e.RoleRegistered(
            caller=e.Operator(), fields={"code": "clerk", "name": "Clerk", "permissions": ["iam.user.list"]}
        ),
        user("keeper", roles=("keeper",)),
        user("nobody"),
        user("clerk", roles=("clerk",)),
    )


def caller(world: World, name: str) -> e.Caller:
    return asks.caller_of(world.login(name)) if name else e.Operator()


def decide(world: World, make: Callable[..., e.Event], name: str = "", **asked: Any) -> Decision:
    return without_refusals(world.when(make(caller=caller(world, name), **asked)).decision)


def the(world: World, table: Table, name: str) -> Record:
    [record] = world.store.fetch(table, [name])
    return record


def role_of(world: World, name: str) -> Role:
    role = the(world, Table.ROLE, name)
    assert isinstance(role, Role)
    return role


def refusal_for(why: Why, *faults: FieldFault) -> Decision:
    return Decision(Refused(why, faults))


CLIENT, ROLE = {"client_id": "app"}, {"role_id": "clerk"}
Guarded = tuple[Callable[..., e.Event], dict[str, Any], Permission | tuple[Permission, ...]]
GUARDED: list[Guarded] = [
    (e.ClientRegistered, {"fields": NEW_CLIENT, "entropy": asks.fresh_entropy()}, P.CLIENT_CREATE),
    (e.ClientRequested, CLIENT, (P.CLIENT_LIST, P.CLIENT_UPDATE, P.CLIENT_DELETE)),
    (e.ClientChanged, {**CLIENT, "fields": {"name": "N"}}, P.CLIENT_UPDATE),
    (e.ClientEnabled, CLIENT, P.CLIENT_UPDATE),
    (e.ClientDisabled, CLIENT, P.CLIENT_UPDATE),
    (e.ClientForcedOut, CLIENT, P.CLIENT_UPDATE),
    (e.ClientDeleted, CLIENT, P.CLIENT_DELETE),
    (e.ClientSecretReset, {**CLIENT, "entropy": asks.fresh_entropy()}, P.CLIENT_UPDATE),
    (e.OldSecretEnded, CLIENT, P.CLIENT_UPDATE),
    (
        e.ClientImported,
        {"fields": {"clientId": "app"}, "replace": True, "entropy": asks.fresh_entropy()},
        P.CLIENT_UPDATE,
    ),
    (e.RoleRegistered, {"fields": NEW_ROLE}, P.ROLE_CREATE),
    (e.RoleRequested, ROLE, (P.ROLE_LIST, P.ROLE_UPDATE, P.ROLE_DELETE)),
    (e.RoleChanged, {**ROLE, "fields": {"name": "N"}}, P.ROLE_UPDATE),
    (e.RoleDeleted, ROLE, P.ROLE_DELETE),
    (e.RoleImported, {"fields": {"code": "clerk"}, "replace": True}, P.ROLE_UPDATE),
]


@row("Client registration", "permission oauth.client.create")
@row("Authentication", "administrator at /api/oauth/clients: Bearer with permission")
@pytest.mark.parametrize("make, asked, enough", GUARDED, ids=lambda value: getattr(value, "__name__", ""))
def test_each_asks_for_its_own_permission(
    world: World,
    make: Callable[..., e.Event],
    asked: dict[str, Any],
    enough: Permission | tuple[Permission, ...],
) -> None:
    """Or for one of several, where each is enough."""

    def allow(permissions: Iterable[Permission]) -> None:
        held = {"permissions": sorted({each.value for each in permissions})}
        world.given(e.RoleChanged(caller=e.Operator(), role_id="keeper", fields=held))

    assert decide(world, make, "nobody", **asked) == refusal_for(Why.PERMISSION_MISSING)
    each_enough = enough if isinstance(enough, tuple) else (enough,)
    allow(set(Permission) - set(each_enough))
    assert decide(world, make, "keeper", **asked) == refusal_for(Why.PERMISSION_MISSING)
    for permission in each_enough:
        allow((permission, Permission.USER_LIST))
        decision = decide(world, make, "keeper", **asked)
        assert not isinstance(decision.reply, Refused) or decision.reply.why is Why.STILL_REFERENCED
        assert {fact.actor_id for fact in decision.facts} <= {world.user_ids["keeper"]}


def test_a_client_is_registered_with_a_secret_once(world: World) -> None:
    registered = decide(world, e.ClientRegistered, fields=NEW_CLIENT, entropy=asks.fresh_entropy())
    made = world.client("shop")
    assert isinstance(registered.reply, SecretIssued)
    assert registered == Decision(
        SecretIssued(made, registered.reply.secret), (Insert(made),), registered.facts
    )
    assert made.secret_digest == registered.reply.secret.digest
    assert (made.created_at, made.updated_at, made.enabled, made.built_in) == (
        world.now,
        world.now,
        True,
        False,
    )
    again = Decision(Refused(Why.ALREADY_TAKEN, (FieldFault("clientId", Why.ALREADY_TAKEN),)))
    for taken in ("shop", "console"):
        fields = {**NEW_CLIENT, "clientId": taken}
        assert decide(world, e.ClientRegistered, fields=fields, entropy=asks.fresh_entropy()) == again
    own = {**NEW_CLIENT, "clientId": "mobile"}
    unprepared = decide(World(), e.ClientRegistered, fields=own, entropy=asks.fresh_entropy())
    assert unprepared == again, "before the first administrator came, too"
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="shop"))
    assert decide(world, e.ClientRegistered, fields=NEW_CLIENT, entropy=asks.fresh_entropy()) == again


def test_a_client_is_shown_changed_enabled_disabled_and_deleted(world: World) -> None:
    def expect(make: Callable[..., e.Event], kind: FactKind, why: Why | None = None, **asked: Any) -> None:
        before = world.client()
        world.wait(1)
        decision = decide(world, make, client_id="app", **asked)
        after = world.client()
        known = Done() if kind is FactKind.CLIENT_DELETED else ClientKnown(after)
        [told] = decision.facts
        fact = Fact(kind=kind, client_id="app", why=why, changes=told.changes)
        assert decision == Decision(known, (Update(before, after),), (fact,))
        assert (after.updated_at, after.created_at) == (world.now, before.created_at)
        assert (after.epoch, after.epoch_why) == (before.epoch + (why is not None), why or before.epoch_why)

    unchanged = Decision(ClientKnown(world.client()))
    assert decide(world, e.ClientRequested, client_id="app") == unchanged
    assert decide(world, e.ClientEnabled, client_id="app") == unchanged
    assert decide(world, e.ClientChanged, client_id="app", fields={}) == unchanged
    expect(e.ClientChanged, FactKind.CLIENT_CHANGED, fields={"name": "Another"})
    assert world.client().name == "Another"
    expect(e.ClientForcedOut, FactKind.CLIENT_SESSIONS_ENDED, Why.CLIENT_FORCED_OUT)
    assert world.client().enabled
    expect(e.ClientDisabled, FactKind.CLIENT_DISABLED, Why.CLIENT_DISABLED)
    assert decide(world, e.ClientDisabled, client_id="app") == Decision(ClientKnown(world.client()))
    expect(e.ClientEnabled, FactKind.CLIENT_ENABLED)
    expect(e.ClientDeleted, FactKind.CLIENT_DELETED, Why.CLIENT_DELETED)
    assert (world.client().enabled, world.client().deleted_at) == (False, world.now)
    for make in (e.ClientRequested, e.ClientDisabled, e.ClientDeleted):
        assert decide(world, make, client_id="app") == refusal_for(Why.NOT_FOUND)
        assert decide(world, make, client_id="nosuch") == refusal_for(Why.NOT_FOUND)
    assert decide(world, e.ClientRequested, client_id="console").reply == ClientKnown(world.client("console"))


@row("Client registration", "built-in client protected")
@row("Other OAuth-related codes", "B4010")
def test_built_in_clients_are_protected_from_the_operator_too(world: World) -> None:
    """READINGS 33: both of them."""
    given_one: Callable[..., e.Event] = partial(e.ClientSecretReplaced, digest=Secret("another").digest)
    asked = [(make, fields) for make, fields, _ in GUARDED if fields.get("client_id") == "app"]
    for make, fields in (*asked, (given_one, CLIENT)):
        if make in (e.ClientRequested, e.OldSecretEnded):
            continue
        for built_in in ("console", "mobile"):
            refusal = decide(world, make, **{**fields, "client_id": built_in})
            assert refusal == refusal_for(Why.BUILT_IN_PROTECTED), (make, built_in)


def test_the_backends_own_clients_are_made_once_and_nobody_authenticates_as_one(world: World) -> None:
    console = world.client("console")
    assert console == Client(
        client_id="console",
        name="console",
        secret_digest=None,
        redirect_uris=(),
        scopes=(),
        auto_approve_scopes=(),
        enabled=True,
        grant_types=(GrantType.REFRESH_TOKEN,),
        built_in=True,
        created_at=START,
        updated_at=START,
        **{name: getattr(console, name) for name in ("access_token_seconds", "refresh_token_seconds")},
    )


def test_a_row_of_a_sheet_registers_or_changes_a_client_and_is_refused_where_it_may_not_replace(
    world: World,
) -> None:
    def row(by: str = "", /, *, may_replace: bool = True, **fields: Any) -> Decision:
        return decide(
            world, e.ClientImported, by, fields=fields, replace=may_replace, entropy=asks.fresh_entropy()
        )

    registered = row(**NEW_CLIENT)
    assert isinstance(registered.reply, SecretIssued)
    assert registered.changes == (Insert(world.client("shop")),)
    taken = Decision(Refused(Why.ALREADY_TAKEN, (FieldFault("clientId", Why.ALREADY_TAKEN),)))
    assert row(may_replace=False, **NEW_CLIENT) == taken
    assert row(**NEW_CLIENT) == DONE
    assert row("nobody", **NEW_CLIENT) == refusal_for(Why.PERMISSION_MISSING)
    before = world.client("shop")
    changed = row("keeper", clientId="shop", name="Newer")
    renamed = FieldChange("name", "New", "Newer")
    actor = world.user_ids["keeper"]
    assert changed == Decision(
        ClientKnown(world.client("shop")),
        (Update(before, world.client("shop")),),
        (Fact(kind=FactKind.CLIENT_CHANGED, client_id="shop", actor_id=actor, changes=(renamed,)),),
    )
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="shop"))
    assert row(**NEW_CLIENT) == taken
    assert isinstance(row(clientId=7).reply, Refused)
    assert row(clientId="console", name="console", grantTypes=["refresh_token"]) == DONE
    assert row(clientId="console", name="other") == refusal_for(Why.BUILT_IN_PROTECTED)


def test_a_secret_is_reset_with_or_without_the_old_one_and_its_use_is_noted(world: World) -> None:
    reset_to: Callable[..., e.Event] = partial(e.ClientSecretReset, client_id="app")

    def reset(keep: int) -> Decision:
        return decide(world, reset_to, fields={"keepOldForSeconds": keep}, entropy=asks.fresh_entropy())

    app = world.client()
    for digest, seconds in ((app.secret_digest, 60), (Secret("x").digest, 0)):
        assert digest is not None
        used = e.ClientSecretUsed(client_id="app", digest=digest, used_at=Instant(world.now + seconds))
        noted = revise(app, secret_used_at=world.now)
        assert world.when(used).decision == (Decision(Done(), (Update(app, noted),)) if seconds else DONE)
    counted = e.WrongSecretsCounted(client_id="app", times=3, last_at=Instant(world.now - 5))
    for times in (3, 6):
        before = world.client()
        after = revise(before, wrong_secrets=times, wrong_secret_at=Instant(world.now - 5))
        assert world.when(counted).decision == Decision(Done(), (Update(before, after),))
    late = e.WrongSecretsCounted(client_id="app", times=1, last_at=Instant(world.now + 5))
    world.given(late, counted)
    assert (world.client().wrong_secrets, world.client().wrong_secret_at) == (10, world.now)
    for keep, kind in ((60, FactKind.CLIENT_SECRET_ADDED), (0, FactKind.CLIENT_SECRET_RESET)):
        present = world.client().secret_digest
        assert present is not None
        world.given(e.ClientSecretUsed(client_id="app", digest=present, used_at=world.now))
        before = world.client()
        world.wait(1)
        decision = reset(keep)
        assert isinstance(decision.reply, SecretIssued)
        after = revise(
            before,
            secret_digest=decision.reply.secret.digest,
            secret_used_at=None,
            old_secret_digest=before.secret_digest if keep else None,
            old_secret_until=Instant(world.now + 60_000) if keep else None,
            old_secret_used_at=before.secret_used_at if keep else None,
            wrong_secrets=0,
            wrong_secret_at=None,
            updated_at=world.now,
        )
        reply = SecretIssued(after, decision.reply.secret)
        assert decision == Decision(reply, (Update(before, after),), (Fact(kind=kind, client_id="app"),))
    assert decide(world, e.OldSecretEnded, client_id="app") == Decision(ClientKnown(world.client()))
    for keep in (-1, 1, 59, 2_592_001):
        overlap = FieldFault("keepOldForSeconds", FieldRule.OVERLAP)
        assert reset(keep) == refusal_for(Why.FIELDS_INVALID, overlap)
    first = world.client().secret_digest
    reset(2_592_000)
    second = world.client().secret_digest
    assert second is not None
    world.given(e.ClientSecretUsed(client_id="app", digest=second, used_at=world.now)).wait(60)
    reset(60)
    old, present = world.client().old_secret_digest, world.client().secret_digest
    for digest, waited, field in (
        (first, 0, None),
        *((old, 0, "old_secret_used_at"), (old, 59.999, None), (old, 0.001, "old_secret_used_at")),
        *((present, 0, "secret_used_at"), (present, 59.999, None), (present, 0.001, "secret_used_at")),
    ):
        world.wait(waited)
        before = world.client()
        assert digest is not None
        used = e.ClientSecretUsed(client_id="app", digest=digest, used_at=world.now)
        writes = () if field is None else (Update(before, revise(before, **{field: world.now})),)
        assert world.when(used).decision == Decision(Done(), writes)
    assert decide(world, e.OldSecretEnded, client_id="app") == Decision(ClientKnown(world.client())), "over"
    reset(60)
    before = world.client()
    after = revise(
        before, old_secret_digest=None, old_secret_until=None, old_secret_used_at=None, updated_at=world.now
    )
    assert decide(world, e.OldSecretEnded, client_id="app") == Decision(
        ClientKnown(after),
        (Update(before, after),),
        (Fact(kind=FactKind.CLIENT_OLD_SECRET_ENDED, client_id="app"),),
    )
    world.wait(60).given(e.ClientDeleted(caller=e.Operator(), client_id="app"))
    present = world.client().secret_digest
    assert present is not None
    used = e.ClientSecretUsed(client_id="app", digest=present, used_at=world.now)
    for name in ("app", "nosuch", "console"):
        assert world.when(replace(counted, client_id=name)).decision == DONE
        assert world.when(replace(used, client_id=name)).decision == DONE


def test_a_role_is_registered_changed_shown_and_deleted(world: World) -> None:
    registered = decide(world, e.RoleRegistered, fields=NEW_ROLE)
    auditor = role_of(world, "auditor")
    new = (FieldChange("name", None, "Auditor"), FieldChange("permissions", None, ("iam.user.list",)))
    fact = Fact(kind=FactKind.ROLE_REGISTERED, role_id="auditor", changes=new)
    assert registered == Decision(RoleKnown(auditor), (Insert(auditor),), (fact,))
    assert (auditor.name, auditor.permissions, auditor.built_in, auditor.holders) == (
        *("Auditor", ("iam.user.list",)),
        *(False, 0),
    )
    assert decide(world, e.RoleRegistered, fields=NEW_ROLE) == refusal_for(
        Why.ALREADY_TAKEN, FieldFault("code", Why.ALREADY_TAKEN)
    )
    unchanged = Decision(RoleKnown(auditor))
    assert decide(world, e.RoleRequested, role_id="auditor") == unchanged
    assert decide(world, e.RoleChanged, role_id="auditor", fields={"code": "auditor"}) == unchanged
    changed = decide(world, e.RoleChanged, role_id="auditor", fields={"permissions": []})
    after = revise(auditor, permissions=())
    emptied = FieldChange("permissions", ("iam.user.list",), ())
    fact = Fact(kind=FactKind.ROLE_CHANGED, role_id="auditor", changes=(emptied,))
    assert changed == Decision(RoleKnown(after), (Update(auditor, after),), (fact,))
    shown = decide(world, e.RoleChanged, role_id="auditor", fields={"name": "B"}, shown={"name": "A"})
    assert shown == refusal_for(Why.CHANGED_MEANWHILE, FieldFault("name", Why.CHANGED_MEANWHILE))
    assert decide(world, e.RoleDeleted, role_id="clerk") == refusal_for(Why.STILL_REFERENCED)
    deleted = decide(world, e.RoleDeleted, role_id="auditor")
    was = (FieldChange("name", "Auditor", None),)
    fact = Fact(kind=FactKind.ROLE_DELETED, role_id="auditor", changes=was)
    assert deleted == Decision(Done(), (Delete(after),), (fact,))
    for make in (e.RoleRequested, e.RoleDeleted):
        assert decide(world, make, role_id="auditor") == refusal_for(Why.NOT_FOUND)
    assert decide(world, e.RoleDeleted, role_id="super_admin") == refusal_for(Why.ROLE_PROTECTED)
    assert decide(world, e.RoleRequested, role_id="super_admin").reply == RoleKnown(
        role_of(world, "super_admin")
    )


@pytest.mark.parametrize(
    "fields, path, rule",
    [
        ({"name": "X"}, "code", FieldRule.REQUIRED),
        ({"code": "x"}, "name", FieldRule.REQUIRED),
        ({"code": "Upper", "name": "X"}, "code", FieldRule.ROLE_CODE),
        ({"code": "1x", "name": "X"}, "code", FieldRule.ROLE_CODE),
        (
            {"code": "x", "name": "X", "permissions": ["iam.user.list", "nosuch"]},
            "permissions.1",
            FieldRule.PERMISSION,
        ),
        ({"code": "x" * 65, "name": "X"}, "code", FieldRule.TOO_LONG),
        ({"code": "x", "name": "X" * 101}, "name", FieldRule.TOO_LONG),
        ({"code": "x", "name": "X", "colour": "red"}, "colour", FieldRule.UNKNOWN),
    ],
)
def test_a_bad_field_of_a_role_is_named(
    world: World, fields: dict[str, object], path: str, rule: FieldRule
) -> None:
    event = e.RoleRegistered(caller=e.Operator(), fields=fields)
    assert world.when(event).then_faults() == {path: rule}


def test_the_longest_role_there_is_and_one_whose_code_would_change(world: World) -> None:
    longest = {"code": "x" * 64, "name": "X" * 100, "id": "x", "builtIn": False}
    world.given(e.RoleRegistered(caller=e.Operator(), fields=longest))
    event = e.RoleChanged(caller=e.Operator(), role_id="clerk", fields={"code": "other"})
    assert list(world.when(event).then_faults()) == ["code"]


def test_nobody_puts_more_into_a_role_than_they_hold(world: World) -> None:
    held = [P.ROLE_CREATE.value, P.ROLE_UPDATE.value, "iam.user.list"]
    world.given(e.RoleChanged(caller=e.Operator(), role_id="clerk", fields={"permissions": held}))
    mine = {"code": "mine", "name": "Mine", "permissions": ["iam.user.list"]}
    more = [*held, P.ROLE_DELETE.value]
    missing = refusal_for(Why.PERMISSION_MISSING)
    assert decide(world, e.RoleRegistered, "clerk", fields={**mine, "permissions": more}) == missing
    made = decide(world, e.RoleRegistered, "clerk", fields=mine)
    actor = world.user_ids["clerk"]
    assert [(fact.kind, fact.actor_id) for fact in made.facts] == [(FactKind.ROLE_REGISTERED, actor)]
    assert decide(world, e.RoleChanged, "clerk", role_id="mine", fields={"permissions": more}) == missing
    assert decide(world, e.RoleChanged, "clerk", role_id="keeper", fields={"permissions": []}) == missing
    # Whoever has every permission by another role is no super administrator.
    assert decide(world, e.UserForcedOut, "keeper", user_id=world.user_ids["root"]) == missing
    narrower = decide(world, e.RoleChanged, "clerk", role_id="mine", fields={"permissions": []})
    assert [(fact.kind, fact.actor_id) for fact in narrower.facts] == [(FactKind.ROLE_CHANGED, actor)]


def test_a_row_of_a_sheet_registers_or_changes_a_role(world: World) -> None:
    def row(by: str = "", /, *, may_replace: bool = True, **fields: Any) -> Decision:
        return decide(world, e.RoleImported, by, fields=fields, replace=may_replace)

    made = row(**NEW_ROLE)
    assert made.changes == (Insert(role_of(world, "auditor")),)
    assert row(may_replace=False, **NEW_ROLE) == refusal_for(
        Why.ALREADY_TAKEN, FieldFault("code", Why.ALREADY_TAKEN)
    )
    assert row(**NEW_ROLE) == DONE
    assert row("nobody", **NEW_ROLE) == refusal_for(Why.PERMISSION_MISSING)
    before = role_of(world, "auditor")
    changed = row("keeper", code="auditor", name="Auditors")
    after = revise(before, name="Auditors")
    renamed = (FieldChange("name", "Auditor", "Auditors"),)
    actor = world.user_ids["keeper"]
    fact = Fact(kind=FactKind.ROLE_CHANGED, role_id="auditor", actor_id=actor, changes=renamed)
    assert changed == Decision(RoleKnown(after), (Update(before, after),), (fact,))
    assert isinstance(row(code=7).reply, Refused)
    everything = [one.value for one in Permission]
    assert row(code=SUPER_ADMINISTRATOR, permissions=everything) == DONE
    assert row(code=SUPER_ADMINISTRATOR, permissions=[]) == refusal_for(Why.ROLE_PROTECTED)
    built_in = role_of(world, SUPER_ADMINISTRATOR)
    world.store.write([Update(built_in, revise(built_in, permissions=tuple(everything[:-1])))])
    assert row(code=SUPER_ADMINISTRATOR, permissions=everything) == DONE, "written by an earlier version"


def test_words_of_the_paths_are_no_identifiers(world: World) -> None:
    for word in RESERVED:
        fields = {**NEW_CLIENT, "clientId": word}
        registered = e.ClientRegistered(caller=e.Operator(), fields=fields, entropy=asks.fresh_entropy())
        assert world.when(registered).then_faults() == {"clientId": FieldRule.RESERVED}
        role = e.RoleRegistered(caller=e.Operator(), fields={"code": word, "name": "x"})
        assert world.when(role).then_faults() == {"code": FieldRule.RESERVED}


def test_the_same_values_in_another_order_change_nothing(world: World) -> None:
    two = ["iam.role.list", "iam.user.list"]
    world.given(e.RoleRegistered(caller=e.Operator(), fields={**NEW_ROLE, "permissions": two}))
    auditor = role_of(world, "auditor")
    for permissions, is_same in ((two[::-1], True), ([two[0], two[0]], None), (two[:1], False)):
        decision = decide(world, e.RoleChanged, role_id="auditor", fields={"permissions": permissions})
        assert isinstance(decision.reply, Refused) is (is_same is None)
        assert (decision == Decision(RoleKnown(auditor))) is (is_same is True)
