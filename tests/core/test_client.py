"""What an administrator does with a client, and who may ("Client", "Client registration", READINGS 33)."""

from collections.abc import Callable

import pytest

from ostiary_core import Secret, Why
from ostiary_core import events as e
from ostiary_core.model.records import Table
from ostiary_core.model.reply import LoginIssued, SecretIssued, TokensIssued
from tests.core import asks
from tests.core.asks import client_change, machine, signed_in
from tests.core.story import World, client, given, user
from tests.rows import row

TABLE = "Client"


# --- enabled, deleted


def test_an_enabled_client_authenticates_again_with_the_same_secret() -> None:
    world = given()
    world.given(
        e.ClientDisabled(caller=e.Operator(), client_id="app"),
        e.ClientEnabled(caller=e.Operator(), client_id="app"),
    )
    world.when(machine(world.basic())).then(TokensIssued)


@pytest.mark.parametrize("kind", [e.ClientDisabled, e.ClientEnabled, e.ClientDeleted])
def test_a_deleted_client_is_not_found(kind: Callable[..., e.Event]) -> None:
    world = given()
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="app"))
    world.when(kind(caller=e.Operator(), client_id="app")).then_refused(Why.NOT_FOUND)
    world.when(client_change(name="N")).then_refused(Why.NOT_FOUND)


def test_disabling_twice_changes_nothing_the_second_time() -> None:
    world = given()
    world.given(e.ClientDisabled(caller=e.Operator(), client_id="app"))
    assert world.when(e.ClientDisabled(caller=e.Operator(), client_id="app")).changes == []


# --- who may


BUILT_IN_ACTIONS: list[Callable[[e.Caller, str], e.Event]] = [
    lambda caller, client_id: e.ClientChanged(caller=caller, client_id=client_id, fields={"name": "N"}),
    lambda caller, client_id: e.ClientEnabled(caller=caller, client_id=client_id),
    lambda caller, client_id: e.ClientDisabled(caller=caller, client_id=client_id),
    lambda caller, client_id: e.ClientDeleted(caller=caller, client_id=client_id),
    lambda caller, client_id: e.ClientSecretReset(
        caller=caller, client_id=client_id, entropy=asks.fresh_entropy()
    ),
]


@row("Client registration", "built-in client protected")
@row("Other OAuth-related codes", "B4010")
@pytest.mark.parametrize("client_id", ["console", "mobile"])
@pytest.mark.parametrize("action", BUILT_IN_ACTIONS)
def test_built_in_clients_are_protected(action: Callable[[e.Caller, str], e.Event], client_id: str) -> None:
    """READINGS 33: both of them, even from the operator."""
    given().when(action(e.Operator(), client_id)).then_refused(Why.BUILT_IN_PROTECTED)


def clerk(world: World, *permissions: str) -> LoginIssued:
    """A signed-in user with these permissions and no more."""
    world.given(
        e.RoleRegistered(
            caller=e.Operator(), fields={"code": "clerk", "name": "Clerk", "permissions": list(permissions)}
        ),
        user("clerk", roles=("clerk",)),
    )
    return world.login("clerk")


def registration(caller: e.Caller) -> e.ClientRegistered:
    return e.ClientRegistered(caller=caller, fields=client("newcomer").fields, entropy=asks.fresh_entropy())


@row("Client registration", "permission oauth.client.create")
@row("Authentication", "administrator at /api/oauth/clients: Bearer with permission")
def test_registering_takes_the_permission() -> None:
    world = given()
    login = clerk(world, "oauth.client.create")
    world.when(registration(signed_in(login))).then(SecretIssued)


@row("Client registration", "permission oauth.client.create")
def test_registering_without_the_permission_is_refused() -> None:
    world = given()
    login = clerk(world, "oauth.client.update", "oauth.client.delete", "oauth.client.list")
    world.when(registration(signed_in(login))).then_refused(Why.PERMISSION_MISSING)


def test_registering_with_a_password_that_must_change_is_refused() -> None:
    world = given(client(), user("root2", roles=("super_admin",), must_change_password=True))
    login = world.login("root2")
    world.when(registration(signed_in(login))).then_refused(Why.PASSWORD_MUST_CHANGE)


@pytest.mark.parametrize("action", BUILT_IN_ACTIONS)
def test_acting_on_a_client_takes_a_permission_of_its_own(action: Callable[[e.Caller, str], e.Event]) -> None:
    world = given()
    login = clerk(world, "oauth.client.create", "oauth.client.list")
    world.when(action(signed_in(login), "app")).then_refused(Why.PERMISSION_MISSING)
    world.when(action(signed_in(world.login("root")), "app"))


@row("Authentication rules", "2 a third-party token calls only user-info")
def test_a_third_partys_token_of_an_administrator_administers_nothing() -> None:
    world = given()
    pair, machine_token = world.tokens("root"), world.machine_token()
    assert pair.refresh_token is not None
    for token in (pair.access_token, pair.refresh_token, machine_token, Secret("x" * 43)):
        world.when(registration(e.SignedIn(access_token=token))).then_refused(Why.NOT_SIGNED_IN)
    assert len(world.store.records(Table.CLIENT)) == 3
