"""A campaign over real processes prints a failure in few lines and finds a secret in any file."""

from pathlib import Path

import pytest

from fuzz.processes.failures import InvariantBroken, fail
from fuzz.processes.leaks import look_for_secrets
from fuzz.processes.server import NotServing
from fuzz.shared.campaign import Report
from fuzz.shared.invariants import SAME_PAIR


def test_a_failure_is_printed_in_few_lines_with_its_rule_and_what_happened_last() -> None:
    history = [f"{second} s " + "refresh session 1: tokens, " * 20 for second in range(50)]
    broken = InvariantBroken("client-1: one refresh brings two pairs", SAME_PAIR, history)
    others = [InvariantBroken("client-2: the same"), NotServing("a log\n" * 500)]
    report = Report()
    fail(report, BaseExceptionGroup("", [broken, *others]), "in fault 1", "once more:  a command")
    lines = report.stories[0]().splitlines()
    assert len(lines) <= 15
    assert all(len(line) < 120 for line in lines)
    assert lines[0] == "FAILED in fault 1"
    assert lines[1] == "3 same-pair: client-1: one refresh brings two pairs; and 2 more"
    assert SAME_PAIR.sentence in lines
    assert lines[-2].startswith("49 s refresh session 1: tokens")
    assert lines[-1] == "once more:  a command"
    assert len(report.violations) == 3


def test_an_error_of_the_machine_is_no_violation() -> None:
    report = Report()
    fail(report, OSError("no disk"), "in fault 1")
    assert report.violations == ()
    assert "OSError: no disk" in report.stories[0]()


def test_a_secret_is_found_in_any_file_with_its_line(tmp_path: Path) -> None:
    log, database = tmp_path / "log", tmp_path / "database"
    log.write_text("nothing\nrefresh xx" + "a-secret_of-tokens" + "yy\n", encoding="utf-8")
    database.write_bytes(b"\0\xff a pass word \0")
    look_for_secrets([log, database], {"another", "a-secret.of-tokens"})
    with pytest.raises(InvariantBroken, match=r"line 2 of .*/log holds"):
        look_for_secrets([database, log], {"another", "a-secret_of-tokens"})
    with pytest.raises(InvariantBroken, match="database"):
        look_for_secrets([log, database], {"a pass word"})
