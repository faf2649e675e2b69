"""Every published fault that is listed has its test."""

from pathlib import Path

from tests.advisories.published import PUBLISHED, SHOWN_BY, proofs_of

TESTS = Path(__file__).parents[1]


def test_every_published_fault_has_a_test() -> None:
    assert [identifier for identifier in PUBLISHED if not proofs_of(identifier)] == []
    for file, tests in SHOWN_BY.items():
        text = (TESTS / file).read_text(encoding="utf-8")
        for name, shown in tests.items():
            assert f"def {name}(" in text, file
            assert set(shown.split(", ")) <= set(PUBLISHED), name
