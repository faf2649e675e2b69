"""Every published fault that is listed has its test."""

from pathlib import Path

from tests.advisories.published import PUBLISHED

TESTS = Path(__file__).parents[1]


def test_every_published_fault_has_a_test() -> None:
    for identifier, fault in PUBLISHED.items():
        assert fault.shown_by, identifier
        for shown in fault.shown_by:
            file, _, name = shown.partition("::")
            assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), (identifier, shown)
