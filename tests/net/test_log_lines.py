"""Lines of the log leave together where they belong together, and none of them can do harm."""

import io
import sys
from contextlib import suppress

import pytest

from ostiary_net.log_lines import LogLines


class Counting(io.StringIO):
    """A file that remembers each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


class Full(io.StringIO):
    """A file on a disk that has no room."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def watched(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Standard error from now on; not a fixture, as pytest puts its own there between set-up and test."""
    file = Counting()
    monkeypatch.setattr(sys, "stderr", file)
    return file


def test_a_line_goes_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written = watched(monkeypatch)
    lines = LogLines()
    lines.info("one")
    lines.error("two")
    assert written.writes == ["one\n", "two\n"]


def test_lines_that_belong_together_go_out_in_one_write_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    written = watched(monkeypatch)
    lines = LogLines()
    with lines.together():
        lines.info("one")
        lines.info("two")
        assert written.writes == []
    lines.info("three")
    assert written.writes == ["one\ntwo\n", "three\n"]


def test_nothing_is_written_where_nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    written = watched(monkeypatch)
    with LogLines().together():
        pass
    assert written.writes == []


def test_what_was_said_before_a_fault_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    written = watched(monkeypatch)
    lines = LogLines()
    with suppress(ZeroDivisionError), lines.together():
        lines.info("one")
        raise ZeroDivisionError
    lines.info("two")
    assert written.writes == ["one\n", "two\n"]


def test_a_log_that_cannot_be_written_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LogLines()
    monkeypatch.setattr(sys, "stderr", Full())
    lines.info("one")
    with lines.together():
        lines.info("two")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    lines.info("three")
