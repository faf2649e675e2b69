"""The generated page is current, and names everything it should."""

from pathlib import Path

from fuzz.rules.document import invariants_page
from fuzz.shared.invariants import INVARIANTS

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_invariants_is_current() -> None:
    assert (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8") == invariants_page(), (
        "run `make docs`"
    )


def test_the_invariants_are_numbered_and_named_apart() -> None:
    assert [one.number for one in INVARIANTS] == list(range(1, 22))
    assert len({one.name for one in INVARIANTS}) == len(INVARIANTS)
