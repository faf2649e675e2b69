"""Two administrators change one record: each keeps what the other left alone, the rest is refused."""

from typing import Any

import pytest

from ostiary_core.events import ClientChanged, Operator, RoleChanged, UserChanged
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.records import GrantType
from ostiary_core.model.reply import ClientKnown, Refused, RoleKnown, UserKnown
from ostiary_core.model.why import Why
from tests.support import asks
from tests.support.story import Outcome, World, client, given

Json = dict[str, Any]

HOME = "https://app.example/callback"
SHOWN: Json = {"name": "app", "redirectUris": [HOME], "accessTokenTtl": 1800}


@pytest.fixture
def world() -> World:
    app = client(name="app", redirectUris=[HOME])
    return given(app, asks.user("alice", phone="12345"), asks.role("clerk"))


def change(world: World, shown: object, **fields: object) -> Outcome:
    event: Any = ClientChanged
    return world.when(event(caller=Operator(), client_id="app", fields=fields, shown=shown))


def faults(outcome: Outcome) -> dict[str, object]:
    outcome.then_refused(Why.CHANGED_MEANWHILE)
    assert isinstance(outcome.reply, Refused)
    return {fault.path: fault.rule for fault in outcome.reply.faults}


def test_a_value_sent_as_it_was_shown_does_not_undo_the_change_of_another(world: World) -> None:
    world.given(asks.client_change(name="Renamed"))
    change(world, SHOWN, **{**SHOWN, "accessTokenTtl": 600}).then(ClientKnown)
    assert (world.client().name, world.client().access_token_seconds) == ("Renamed", 600)


def test_fields_that_both_changed_are_refused_and_named(world: World) -> None:
    world.given(asks.client_change(name="Renamed", redirectUris=["https://new.example/"]))
    sent = {"name": "Another", "redirectUris": [HOME, "https://other.example/"], "accessTokenTtl": 600}
    assert faults(change(world, SHOWN, **sent)) == {
        "name": Why.CHANGED_MEANWHILE,
        "redirectUris": Why.CHANGED_MEANWHILE,
    }
    assert world.client().access_token_seconds == 1800


def test_both_may_have_meant_the_same(world: World) -> None:
    world.given(asks.client_change(name="Renamed"))
    change(world, SHOWN, name="Renamed").then(ClientKnown, changes=(), facts=())


def test_a_change_that_says_nothing_of_what_was_shown_stands_for_itself(world: World) -> None:
    """Take the values as they are, as `PUT` does."""
    world.given(asks.client_change(name="Renamed"))
    change(world, None, name="app").then(ClientKnown, changes=["update client"])
    change(world, {}, name="Once more").then(ClientKnown, changes=["update client"])


def test_a_bad_value_is_named_without_another_change(world: World) -> None:
    assert "accessTokenTtl" in change(world, SHOWN, **{**SHOWN, "accessTokenTtl": 1}).then_faults()


def test_a_shown_value_that_may_no_longer_be_set_is_left_as_it_stands(world: World) -> None:
    """Take away a client's addresses together with the grant that needs them."""
    shown = {"redirectUris": [HOME], "grantTypes": ["authorization_code"]}
    world.given(asks.client_change(redirectUris=[], grantTypes=["client_credentials"]))
    change(world, shown, **shown, name="Renamed").then(ClientKnown)
    assert world.client().grant_types == (GrantType.CLIENT_CREDENTIALS,)
    assert faults(change(world, shown, grantTypes=["refresh_token"])) == {"grantTypes": Why.CHANGED_MEANWHILE}


def test_a_value_that_is_not_changed_is_not_judged(world: World) -> None:
    """Leave a zone that the runtime no longer knows."""
    event = UserChanged(
        caller=Operator(),
        user_id=world.user_ids["alice"],
        fields={"timezone": "Old/Zone", "name": "Alice B."},
        faults=(FieldFault("timezone", FieldRule.TIMEZONE),),
        shown={"timezone": "Old/Zone", "name": "Alice"},
    )
    world.when(event).then(UserKnown, changes=["update user"])


def test_accounts_and_roles_are_changed_by_two_in_the_same_way(world: World) -> None:
    alice = {"caller": Operator(), "user_id": world.user_ids["alice"]}
    clerk = {"caller": Operator(), "role_id": "clerk"}
    account = {"name": "Alice", "phone": "12345", "roleIds": []}
    role = {"name": "Clerk", "permissions": []}
    kind: Any
    for kind, whose, shown, meanwhile, known in (
        (UserChanged, alice, account, {"phone": None, "roleIds": ["clerk"]}, UserKnown),
        (RoleChanged, clerk, role, {"permissions": ["iam.user.list"]}, RoleKnown),
    ):
        world.given(kind(**whose, fields=meanwhile))
        world.when(kind(**whose, fields={**shown, "name": "Renamed"}, shown=shown)).then(known)
        both = {"phone": "99999"} if kind is UserChanged else {"permissions": ["iam.role.list"]}
        refused = world.when(kind(**whose, fields={**shown, "name": "Renamed", **both}, shown=shown))
        assert faults(refused) == dict.fromkeys(both, Why.CHANGED_MEANWHILE)
    user = world.user()
    assert (user.name, user.phone, user.role_ids) == ("Renamed", None, ("clerk",))
    stored = world.role("clerk")
    assert (stored.name, stored.permissions) == ("Renamed", ("iam.user.list",))
