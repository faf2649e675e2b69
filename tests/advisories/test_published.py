"""Every published fault that is listed has its test."""

from pathlib import Path

from tests.advisories.published import BY_ROW, BY_TEST, PUBLISHED, proofs_of, rows_of
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
