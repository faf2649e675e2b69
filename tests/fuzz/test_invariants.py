"""The list of invariants names each one apart."""

from fuzz.shared.invariants import INVARIANTS


def test_the_invariants_are_numbered_and_named_apart() -> None:
    assert [one.number for one in INVARIANTS] == list(range(1, len(INVARIANTS) + 1))
    assert len({one.name for one in INVARIANTS}) == len(INVARIANTS)
