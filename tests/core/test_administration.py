"""Administrators change clients and roles: the answer, writes and facts of each decision."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from ostiary_core import Secret, Why, events as e
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision, Delete, Insert, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.record_type import RESERVED
from ostiary_core.model.records import Client, GrantType, Role, revise
from ostiary_core.model.reply import ClientKnown, Done, Refused, RoleKnown, SecretIssued, UserKnown
from tests.rows import row
from tests.support import asks
from tests.support.story import START, World, client, given, refusal_for, user

DONE = Decision(Done())
Told = dict[str, tuple[Any, Any]]
GRANTS = ("authorization_code", "refresh_token", "client_credentials")
NEW_CLIENT: dict[str, Any] = {
    "clientId": "shop",
    "name": "New",
    "grantTypes": ["client_credentials"],
    "scopes": ["user.read"],
}
NEW_ROLE: dict[str, Any] = {"code": "auditor", "name": "Auditor", "permissions": ["iam.user.list"]}
CODE_TAKEN = refusal_for(Why.ALREADY_TAKEN, FieldFault("code", Why.ALREADY_TAKEN))
P = Permission


@pytest.fixture
def world() -> World:
    """Clients, roles, and callers with every permission, with one and with none."""
    roles = asks.role("keeper", *Permission), asks.role("clerk", "iam.user.list")
    people = user("keeper", roles=("keeper",)), user("nobody"), user("clerk", roles=("clerk",))
    return given(client(), client("other"), *roles, *people)


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
    """Try each permission alone if one of several is enough."""

    def allow(permissions: Iterable[Permission]) -> None:
        held = {"permissions": sorted({each.value for each in permissions})}
        world.given(e.RoleChanged(caller=e.Operator(), role_id="keeper", fields=held))

    assert world.decide(make, "nobody", **asked) == refusal_for(Why.PERMISSION_MISSING)
    each_enough = enough if isinstance(enough, tuple) else (enough,)
    allow(set(Permission) - set(each_enough))
    assert world.decide(make, "keeper", **asked) == refusal_for(Why.PERMISSION_MISSING)
    for permission in each_enough:
        allow((permission, Permission.USER_LIST))
        decision = world.decide(make, "keeper", **asked)
        assert not isinstance(decision.reply, Refused) or decision.reply.why is Why.STILL_REFERENCED
        assert {fact.actor_id for fact in decision.facts} <= {world.user_ids["keeper"]}


@row("Client", "client secret")
@row("Client registration", "one-time plain secret")
def test_a_client_is_registered_with_a_secret_once(world: World) -> None:
    def register(world: World, client_id: str = "shop") -> Decision:
        fields = {**NEW_CLIENT, "clientId": client_id}
        return world.decide(e.ClientRegistered, fields=fields, entropy=asks.fresh_entropy())

    registered, made = register(world), world.client("shop")
    assert isinstance(registered.reply, SecretIssued)
    secret = registered.reply.secret
    assert registered == Decision(SecretIssued(made, secret), (Insert(made),), registered.facts)
    assert (made.secret_digest, made.enabled, made.built_in) == (secret.digest, True, False)
    assert made.created_at == made.updated_at == world.now
    again = refusal_for(Why.ALREADY_TAKEN, FieldFault("clientId", Why.ALREADY_TAKEN))
    assert register(world) == register(world, "console") == again
    assert register(World(), "mobile") == again, "before the first administrator came, too"
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="shop"))
    assert register(world) == again


def test_a_client_is_shown_changed_enabled_disabled_and_deleted(world: World) -> None:
    app: Callable[..., Decision] = partial(world.decide, client_id="app")

    def expect(
        make: Callable[..., e.Event], kind: FactKind, told: Told, why: Why | None = None, **asked: Any
    ) -> None:
        before = world.wait(1).client()
        decision, after = app(make, **asked), world.client()
        known = Done() if kind is FactKind.CLIENT_DELETED else ClientKnown(after)
        changes = tuple(FieldChange(name, *values) for name, values in told.items())
        fact = Fact(kind, COMMAND_LINE, client_id="app", why=why, changes=changes)
        assert decision == Decision(known, (Update(before, after),), (fact,))
        assert (after.updated_at, after.created_at) == (world.now, before.created_at)
        assert (after.epoch, after.epoch_why) == (before.epoch + (why is not None), why or before.epoch_why)

    unchanged = Decision(ClientKnown(world.client()))
    assert app(e.ClientRequested) == app(e.ClientEnabled) == app(e.ClientChanged, fields={}) == unchanged
    fields = {"name": "Another", "accessTokenTtl": 600, "refreshTokenTtl": 604_800, "grantTypes": GRANTS[:1]}
    told: Told = {"name": ("The client app", "Another"), "grantTypes": (GRANTS, GRANTS[:1])}
    told |= {"accessTokenTtl": (1800, 600)}
    expect(e.ClientChanged, FactKind.CLIENT_CHANGED, told, fields=fields)
    assert (world.client().name, world.client().access_token_seconds) == ("Another", 600)
    expect(e.ClientForcedOut, FactKind.CLIENT_SESSIONS_ENDED, {}, Why.CLIENT_FORCED_OUT)
    assert world.client().enabled
    told = {"enabled": (True, False)}
    expect(e.ClientDisabled, FactKind.CLIENT_DISABLED, told, Why.CLIENT_DISABLED)
    assert app(e.ClientDisabled) == Decision(ClientKnown(world.client()))
    expect(e.ClientEnabled, FactKind.CLIENT_ENABLED, {"enabled": (False, True)})
    was: dict[str, object] = {
        "name": "Another",
        "redirectUris": ("https://app.example/callback",),
        "grantTypes": GRANTS[:1],
    }
    was |= {"scopes": ("user.read",), "accessTokenTtl": 600, "refreshTokenTtl": 604_800, "enabled": True}
    told = {name: (value, None) for name, value in was.items()}
    expect(e.ClientDeleted, FactKind.CLIENT_DELETED, told, Why.CLIENT_DELETED)
    assert (world.client().enabled, world.client().deleted_at) == (False, world.now)
    for make in (e.ClientRequested, e.ClientDisabled, e.ClientDeleted):
        assert app(make) == world.decide(make, client_id="nosuch") == refusal_for(Why.NOT_FOUND)
    assert world.decide(e.ClientRequested, client_id="console").reply == ClientKnown(world.client("console"))


@row("Client registration", "built-in client protected")
@row("Other OAuth-related codes", "B4010")
def test_built_in_clients_are_protected_from_the_operator_too(world: World) -> None:
    """Protect both built-in clients (READINGS 33)."""
    given_one: Callable[..., e.Event] = partial(e.ClientSecretReplaced, digest=Secret("another").digest)
    asked = [(make, fields) for make, fields, _ in GUARDED if fields.get("client_id") == "app"]
    for make, fields in (*asked, (given_one, CLIENT)):
        for built_in in ("console", "mobile") if make is not e.ClientRequested else ():
            refusal = world.decide(make, **{**fields, "client_id": built_in})
            assert refusal == refusal_for(Why.BUILT_IN_PROTECTED), (make, built_in)


def test_the_built_in_clients_are_made_without_a_secret(world: World) -> None:
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


def test_a_row_of_a_sheet_registers_or_changes_a_client_unless_it_may_not_replace(world: World) -> None:
    def row(by: str = "", /, *, may_replace: bool = True, **fields: Any) -> Decision:
        asked = {"replace": may_replace, "entropy": asks.fresh_entropy()}
        return world.decide(e.ClientImported, by, fields=fields, **asked)

    registered = row(**NEW_CLIENT)
    assert isinstance(registered.reply, SecretIssued)
    assert registered.changes == (Insert(world.client("shop")),)
    taken = refusal_for(Why.ALREADY_TAKEN, FieldFault("clientId", Why.ALREADY_TAKEN))
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


def test_a_role_is_registered_changed_shown_and_deleted(world: World) -> None:
    registered = world.decide(e.RoleRegistered, fields=NEW_ROLE)
    auditor = world.role("auditor")
    new = (FieldChange("name", None, "Auditor"), FieldChange("permissions", None, ("iam.user.list",)))
    fact = Fact(FactKind.ROLE_REGISTERED, COMMAND_LINE, role_id="auditor", changes=new)
    assert registered == Decision(RoleKnown(auditor), (Insert(auditor),), (fact,))
    assert auditor == Role(role_id="auditor", name="Auditor", permissions=("iam.user.list",))
    assert world.decide(e.RoleRegistered, fields=NEW_ROLE) == CODE_TAKEN
    unchanged = Decision(RoleKnown(auditor))
    assert world.decide(e.RoleRequested, role_id="auditor") == unchanged
    assert world.decide(e.RoleChanged, role_id="auditor", fields={"code": "auditor"}) == unchanged
    changed = world.decide(e.RoleChanged, role_id="auditor", fields={"permissions": []})
    after = revise(auditor, permissions=())
    emptied = FieldChange("permissions", ("iam.user.list",), ())
    fact = Fact(FactKind.ROLE_CHANGED, COMMAND_LINE, role_id="auditor", changes=(emptied,))
    assert changed == Decision(RoleKnown(after), (Update(auditor, after),), (fact,))
    shown = world.decide(e.RoleChanged, role_id="auditor", fields={"name": "B"}, shown={"name": "A"})
    assert shown == refusal_for(Why.CHANGED_MEANWHILE, FieldFault("name", Why.CHANGED_MEANWHILE))
    assert world.decide(e.RoleDeleted, role_id="clerk") == refusal_for(Why.STILL_REFERENCED)
    deleted = world.decide(e.RoleDeleted, role_id="auditor")
    was = (FieldChange("name", "Auditor", None),)
    fact = Fact(FactKind.ROLE_DELETED, COMMAND_LINE, role_id="auditor", changes=was)
    assert deleted == Decision(Done(), (Delete(after),), (fact,))
    for make in (e.RoleRequested, e.RoleDeleted):
        assert world.decide(make, role_id="auditor") == refusal_for(Why.NOT_FOUND)
    assert world.decide(e.RoleDeleted, role_id="super_admin") == refusal_for(Why.ROLE_PROTECTED)
    built_in = RoleKnown(world.role("super_admin"))
    assert world.decide(e.RoleRequested, role_id="super_admin").reply == built_in


@pytest.mark.parametrize(
    "fields, path, rule",
    [
        ({"name": "X"}, "code", FieldRule.REQUIRED),
        ({"code": "x"}, "name", FieldRule.REQUIRED),
        ({"code": "Upper", "name": "X"}, "code", FieldRule.ROLE_CODE),
        ({"code": "1x", "name": "X"}, "code", FieldRule.ROLE_CODE),
        (NEW_ROLE | {"permissions": ["iam.user.list", "nosuch"]}, "permissions.1", FieldRule.PERMISSION),
        ({"code": "x" * 65, "name": "X"}, "code", FieldRule.TOO_LONG),
        ({"code": "x", "name": "X" * 101}, "name", FieldRule.TOO_LONG),
        ({"code": "x", "name": "X", "colour": "red"}, "colour", FieldRule.UNKNOWN),
    ],
)
def test_a_bad_field_of_a_role_is_named(
    world: World, fields: dict[str, object], path: str, rule: FieldRule
) -> None:
    assert world.when(e.RoleRegistered(caller=e.Operator(), fields=fields)).then_faults() == {path: rule}


def test_the_longest_role_there_is_and_one_whose_code_would_change(world: World) -> None:
    longest = {"code": "x" * 64, "name": "X" * 100, "id": "x", "builtIn": False}
    world.given(e.RoleRegistered(caller=e.Operator(), fields=longest))
    event = e.RoleChanged(caller=e.Operator(), role_id="clerk", fields={"code": "other"})
    assert list(world.when(event).then_faults()) == ["code"]


def test_administrators_cannot_give_a_role_permissions_that_they_lack(world: World) -> None:
    held = [P.ROLE_CREATE.value, P.ROLE_UPDATE.value, "iam.user.list"]
    world.given(e.RoleChanged(caller=e.Operator(), role_id="clerk", fields={"permissions": held}))
    mine = {"code": "mine", "name": "Mine", "permissions": ["iam.user.list"]}
    more = [*held, P.ROLE_DELETE.value]
    missing = refusal_for(Why.PERMISSION_MISSING)
    assert world.decide(e.RoleRegistered, "clerk", fields={**mine, "permissions": more}) == missing
    made = world.decide(e.RoleRegistered, "clerk", fields=mine)
    actor = world.user_ids["clerk"]
    assert [(fact.kind, fact.actor_id) for fact in made.facts] == [(FactKind.ROLE_REGISTERED, actor)]
    assert world.decide(e.RoleChanged, "clerk", role_id="mine", fields={"permissions": more}) == missing
    assert world.decide(e.RoleChanged, "clerk", role_id="keeper", fields={"permissions": []}) == missing
    # Every permission by another role makes no super administrator.
    root, clerk = (world.user_ids[name] for name in ("root", "clerk"))
    assert world.decide(e.UserForcedOut, "keeper", user_id=root) == missing
    assert world.decide(e.UserForcedOut, "keeper", user_id=clerk).changes
    for user_id, told in ((root, (P.USER_UPDATE, P.USER_DELETE)), (clerk, ())):
        known = world.decide(e.UserRequested, "keeper", user_id=user_id).reply
        assert isinstance(known, UserKnown)
        assert known.out_of_reach == told
    for role, out_of_reach in (("mine", ()), ("keeper", (P.ROLE_UPDATE,))):
        shown = world.decide(e.RoleRequested, "clerk", role_id=role)
        assert shown == Decision(RoleKnown(world.role(role), out_of_reach))
    narrower = world.decide(e.RoleChanged, "clerk", role_id="mine", fields={"permissions": []})
    assert [(fact.kind, fact.actor_id) for fact in narrower.facts] == [(FactKind.ROLE_CHANGED, actor)]


def test_a_row_of_a_sheet_registers_or_changes_a_role(world: World) -> None:
    def row(by: str = "", /, *, may_replace: bool = True, **fields: Any) -> Decision:
        return world.decide(e.RoleImported, by, fields=fields, replace=may_replace)

    assert row(**NEW_ROLE).changes == (Insert(world.role("auditor")),)
    assert row(may_replace=False, **NEW_ROLE) == CODE_TAKEN
    assert row(**NEW_ROLE) == DONE
    assert row("nobody", **NEW_ROLE) == refusal_for(Why.PERMISSION_MISSING)
    before = world.role("auditor")
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
    built_in = world.role(SUPER_ADMINISTRATOR)
    world.store.write([Update(built_in, revise(built_in, permissions=tuple(everything[:-1])))])
    assert row(code=SUPER_ADMINISTRATOR, permissions=everything) == DONE, "written by an earlier version"


def test_words_of_the_paths_are_no_identifiers(world: World) -> None:
    for word in RESERVED:
        fields = {**NEW_CLIENT, "clientId": word}
        registered = e.ClientRegistered(caller=e.Operator(), fields=fields, entropy=asks.fresh_entropy())
        assert world.when(registered).then_faults() == {"clientId": FieldRule.RESERVED}
        assert world.when(asks.role(word)).then_faults() == {"code": FieldRule.RESERVED}


def test_the_same_values_in_another_order_change_nothing(world: World) -> None:
    two = ["iam.role.list", "iam.user.list"]
    world.given(asks.role("auditor", *two))
    auditor = world.role("auditor")
    for permissions, is_same in ((two[::-1], True), ([two[0], two[0]], None), (two[:1], False)):
        decision = world.decide(e.RoleChanged, role_id="auditor", fields={"permissions": permissions})
        assert isinstance(decision.reply, Refused) is (is_same is None)
        assert (decision == Decision(RoleKnown(auditor))) is (is_same is True)
