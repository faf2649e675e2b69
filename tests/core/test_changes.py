"""What the audit trail says of a changed value: never more than it may, and what changed of a long one."""

from ostiary_core.model.changes import CUT, LONGEST_VALUE, FieldChange
from tests.support import asks
from tests.support.story import World, given, user


def test_of_a_telephone_number_the_last_two_digits_are_told() -> None:
    world = given(user(phone="+8613812345678"))
    for phone, told in (("99978", ("***78", "***78")), (None, ("***78", None))):
        world.given(asks.user_change(world.user_ids["alice"], phone=phone))
        changes = next(entry.changes for entry in reversed(world.store.audit()) if entry.changes)
        assert changes == (FieldChange("phone", *told),)


def test_of_a_long_list_what_changed_is_told_and_what_is_left_out_shows(world: World) -> None:
    """Fifty addresses of two thousand characters are two hundred thousand, before and after."""
    home = "https://app.example/callback"
    many = [f"https://app.example/{place:02}/{'x' * 1_900}" for place in range(50)]
    for uris in (many, [*many[:-1], home], many[-3:]):
        world.given(asks.client_change(redirectUris=uris))
    first, moved, fewer = (entry.changes for entry in world.store.audit()[-3:])
    assert first == (FieldChange("redirectUris", (home,), (*many[:2], CUT)),)
    assert moved == (FieldChange("redirectUris", (many[-1], CUT), (home, CUT)),)
    assert fewer == (FieldChange("redirectUris", (*many[:2], CUT), (many[-1], CUT)),)
    assert len(f"{many[0]}{many[1]}{CUT}") <= LONGEST_VALUE
