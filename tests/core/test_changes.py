"""The audit trail shows no more of a value than it may, and of a long list the part that changed."""

from ostiary_core.model.changes import CUT, LONGEST_VALUE, FieldChange
from tests.support import asks
from tests.support.story import World, given, user


def test_the_trail_shows_the_last_two_digits_of_a_telephone_number() -> None:
    world = given(user(phone="+8613812345678"))
    for phone, told in (("99978", ("***78", "***78")), (None, ("***78", None))):
        world.given(asks.user_change(world.user_ids["alice"], phone=phone))
        changes = next(entry.changes for entry in reversed(world.store.audit()) if entry.changes)
        assert changes == (FieldChange("phone", *told),)


def test_the_trail_shows_what_changed_in_a_long_list_and_marks_what_it_leaves_out(world: World) -> None:
    """Keep entries short: fifty addresses of 2,000 characters, before and after, would be 200,000."""
    home = "https://app.example/callback"
    many = [f"https://app.example/{place:02}/{'x' * 1_900}" for place in range(50)]
    for uris in (many, [*many[:-1], home], many[-3:]):
        world.given(asks.client_change(redirectUris=uris))
    first, moved, fewer = (entry.changes for entry in world.store.audit()[-3:])
    assert first == (FieldChange("redirectUris", (home,), (*many[:2], CUT)),)
    assert moved == (FieldChange("redirectUris", (many[-1], CUT), (home, CUT)),)
    assert fewer == (FieldChange("redirectUris", (*many[:2], CUT), (many[-1], CUT)),)
    assert len(f"{many[0]}{many[1]}{CUT}") <= LONGEST_VALUE
