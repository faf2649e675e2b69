"""Rows of sheets: a row that says what stands changes nothing, whoever it is about; words of the paths are no
identifiers."""

import pytest

from ostiary_core import events as e
from ostiary_core.model.decision import Update
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.identifiers import RESERVED
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.records import Role, Table, revised
from ostiary_core.model.reply import Done
from ostiary_core.model.why import Why
from tests.core import asks
from tests.core.story import World, client, given


def row_of_client(**fields: object) -> e.ClientImported:
    return e.ClientImported(caller=e.Operator(), fields=fields, replace=True, entropy=asks.fresh_entropy())


def row_of_role(**fields: object) -> e.RoleImported:
    return e.RoleImported(caller=e.Operator(), fields=fields, replace=True)


def row_of_user(**fields: object) -> e.UserImported:
    return e.UserImported(
        caller=e.Operator(), fields=fields, replace=True, password_hash=None, entropy=asks.fresh_entropy()
    )


@pytest.fixture
def world() -> World:
    return given(client(), asks.user("alice", phone="12345"))


def test_a_row_that_says_what_stands_changes_nothing(world: World) -> None:
    app = world.client()
    world.when(
        row_of_client(
            clientId="app",
            name=app.name,
            redirectUris=list(app.redirect_uris),
            enabled=True,
            accessTokenTtl=app.access_token_seconds,
        )
    ).then(Done, changes=(), facts=())
    world.when(row_of_user(username="alice", phone="12345", roleIds=[])).then(Done, changes=(), facts=())


def test_the_built_in_records_come_back_as_they_are_and_no_other_way(world: World) -> None:
    everything = [permission.value for permission in Permission]
    world.when(row_of_client(clientId="console", name="console", grantTypes=["refresh_token"])).then(
        Done, changes=(), facts=()
    )
    world.when(row_of_client(clientId="console", name="other")).then_refused(Why.BUILT_IN_PROTECTED)
    world.when(row_of_role(code=SUPER_ADMINISTRATOR, permissions=everything)).then(Done, changes=())
    world.when(row_of_role(code=SUPER_ADMINISTRATOR, permissions=[])).then_refused(Why.ROLE_PROTECTED)
    world.when(row_of_user(username="root")).then(Done, changes=())


def test_what_a_later_version_allows_is_in_the_built_in_role_too() -> None:
    """Its record was written when there were fewer permissions."""
    world = given()
    [role] = world.store.fetch(Table.ROLE, [SUPER_ADMINISTRATOR])
    assert isinstance(role, Role)
    everything = [permission.value for permission in Permission]
    world.store.write([Update(role, revised(role, permissions=tuple(everything[:-1])))])
    world.when(row_of_role(code=SUPER_ADMINISTRATOR, permissions=everything)).then(Done, changes=())


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_words_of_the_paths_are_no_identifiers(world: World, word: str) -> None:
    asked = e.ClientRegistered(
        caller=e.Operator(),
        fields={"clientId": word, "name": "x", "grantTypes": ["client_credentials"]},
        entropy=asks.fresh_entropy(),
    )
    assert world.when(asked).then_faults() == {"clientId": FieldRule.RESERVED}
    role = e.RoleRegistered(caller=e.Operator(), fields={"code": word, "name": "x"})
    assert world.when(role).then_faults() == {"code": FieldRule.RESERVED}
