"""What the audit trail says of a change: each field before and after, and never more than it may."""

from collections.abc import Callable

import pytest

from ostiary_core import events
from ostiary_core.model.changes import CUT, LONGEST_VALUE, FieldChange
from ostiary_core.model.fact import FactKind
from tests.support import asks
from tests.support.story import World, client, given

HOME = "https://app.example/callback"
OPERATOR = events.Operator()


@pytest.fixture
def world() -> World:
    world = given(client(name="app", redirectUris=[HOME]), asks.user("alice", phone="+8613812345678"))
    return world.given(events.RoleRegistered(caller=OPERATOR, fields={"code": "clerk", "name": "Clerk"}))


def of_app(make: Callable[..., events.Event], **asked: object) -> Callable[[World], events.Event]:
    return lambda world: make(caller=OPERATOR, client_id="app", **asked)


def of_alice(make: Callable[..., events.Event], **fields: object) -> Callable[[World], events.Event]:
    return lambda world: make(caller=OPERATOR, user_id=world.user_ids["alice"], **fields)


def change_alice(**fields: object) -> Callable[[World], events.Event]:
    return of_alice(events.UserChanged, fields=fields)


F = FactKind
GRANTS = ("authorization_code", "refresh_token", "client_credentials")
CHANGES: list[tuple[Callable[[World], events.Event], FactKind, dict[str, tuple[object, object]]]] = [
    (
        of_app(events.ClientChanged, fields={"redirectUris": [], "grantTypes": ["refresh_token"]}),
        F.CLIENT_CHANGED,
        {"redirectUris": ((HOME,), ()), "grantTypes": (GRANTS, ("refresh_token",))},
    ),
    (
        of_app(events.ClientChanged, fields={"accessTokenTtl": 600, "name": "app"}),
        F.CLIENT_CHANGED,
        {"accessTokenTtl": (1800, 600)},
    ),
    (of_app(events.ClientDisabled), F.CLIENT_DISABLED, {"enabled": (True, False)}),
    (of_app(events.ClientSecretReset, fields={}, entropy=asks.fresh_entropy()), F.CLIENT_SECRET_RESET, {}),
    (change_alice(phone="99978"), F.USER_CHANGED, {"phone": ("***78", "***78")}),
    (change_alice(phone=None), F.USER_CHANGED, {"phone": ("***78", None)}),
]


@pytest.mark.parametrize("event_in, kind, expected", CHANGES)
def test_a_change_says_each_field_before_and_after(
    world: World,
    event_in: Callable[[World], events.Event],
    kind: FactKind,
    expected: dict[str, tuple[object, object]],
) -> None:
    world.when(event_in(world))
    told = next(entry for entry in reversed(world.store.audit()) if entry.kind is kind)
    assert {name: (before, after) for name, before, after in told.changes} == expected


def test_of_a_long_list_what_changed_is_told_and_what_is_left_out_shows(world: World) -> None:
    """Fifty addresses of two thousand characters are two hundred thousand, before and after."""
    many = [f"https://app.example/{place:02}/{'x' * 1_900}" for place in range(50)]
    for uris in (many, [*many[:-1], HOME], many[-3:]):
        world.given(of_app(events.ClientChanged, fields={"redirectUris": uris})(world))
    first, moved, fewer = (entry.changes for entry in world.store.audit()[-3:])
    assert first == (FieldChange("redirectUris", (HOME,), (*many[:2], CUT)),)
    assert moved == (FieldChange("redirectUris", (many[-1], CUT), (HOME, CUT)),)
    assert fewer == (FieldChange("redirectUris", (*many[:2], CUT), (many[-1], CUT)),)
    assert len(f"{many[0]}{many[1]}{CUT}") <= LONGEST_VALUE
