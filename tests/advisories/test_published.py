"""Every published fault has its test, and every row of others' lists its test or its reason."""

import re
from pathlib import Path

import pytest

from tests.advisories.published import BY_ROW, BY_TEST, LISTS, PUBLISHED, identifiers_of, proofs_of, rows_of
from tests.rows.specification import TABLES

TESTS = Path(__file__).parents[1]


def test_every_published_fault_has_a_test_that_there_is() -> None:
    assert [identifier for identifier in PUBLISHED if not proofs_of(identifier) + rows_of(identifier)] == []
    for faults in (*BY_ROW.values(), *BY_TEST.values()):
        assert set(faults.split(", ")) <= set(PUBLISHED), faults
    assert [(table, name) for table, name in BY_ROW if name not in {row.name for row in TABLES[table]}] == []
    for test in BY_TEST:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), test


THREAT_MODEL = (TESTS.parent / "docs/threat-model.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("heading", [*LISTS, "OAuch", "Formal analyses"])
def test_every_row_of_a_list_has_a_test_that_there_is_or_a_reason(heading: str) -> None:
    sources = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    tests = {name for source in sources for name in re.findall(r"def test_(\w+)\(", source)}
    tests |= {path.stem for path in TESTS.rglob("transcripts/*.txt")}
    [section] = re.findall(rf"^## {heading}$(.*?)^## ", THREAT_MODEL, re.MULTILINE | re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    named = []
    for identifiers, _attack, here, *shown in rows:
        named += identifiers.split(", ")
        proofs = re.findall(r"`(\w+)`", "".join(shown))
        assert proofs or "**" in here, identifiers
        assert set(proofs) <= tests, identifiers
    assert len(named) == len(set(named)) > 10
    assert heading not in LISTS or set(named) == set(identifiers_of(LISTS[heading]))
