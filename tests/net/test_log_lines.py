"""Lines of the log: related ones are written together, and a log that cannot be written does no harm."""

import fcntl
import io
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog

from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.reply import BatchRefused, Done, Refused
from ostiary_core.model.why import Why
from ostiary_net.observability.log import LogLines, RequestLog, format_on_one_line, list_frames, unwrap_error
from tests.support.stores import origin

PATIENCE_SECONDS = 30


class Counting(io.StringIO):
    """A file that remembers each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)

    def flush(self) -> None:
        self.writes.append("flushed")


class Full(io.StringIO):
    """A file on a disk that has no room."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def watch_stderr(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Capture standard error from now on; no fixture, as pytest replaces it between set-up and test."""
    file = Counting()
    monkeypatch.setattr(sys, "stderr", file)
    return file


@pytest.fixture
def processors() -> Iterator[list[Any]]:
    """Restore the settings of structlog after the test."""
    before = structlog.get_config()["processors"]
    structlog.configure(processors=[lambda _, level, entry: f"{level} {entry['event']}"])
    yield structlog.get_config()["processors"]
    structlog.configure(processors=before)


@pytest.mark.usefixtures("processors")
def test_entries_that_belong_together_go_out_in_one_write_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    written = watch_stderr(monkeypatch)
    lines = LogLines()
    lines.write_entries("info", [{"event": "one"}, {"event": "two"}])
    lines.write_entries("info", [])
    lines.info("three")
    assert written.writes == ["info one\ninfo two\n", "flushed", "three\n", "flushed"]


def test_a_dropped_entry_is_not_written(monkeypatch: pytest.MonkeyPatch, processors: list[Any]) -> None:
    def only_two(_: object, level: str, entry: Any) -> Any:
        if entry["event"] != "two":
            raise structlog.DropEvent
        return entry

    processors.insert(0, only_two)
    written = watch_stderr(monkeypatch)
    LogLines().write_entries("info", [{"event": "one"}, {"event": "two"}])
    LogLines().write_entries("info", [{"event": "one"}])
    assert written.writes == ["info two\n", "flushed"]


@pytest.mark.parametrize(
    "level, said",
    [(logging.INFO, ["info pair-rotated\n", "flushed"]), (logging.WARNING, [])],
    ids=["info", "warning"],
)
@pytest.mark.usefixtures("processors")
def test_facts_are_logged_as_info(monkeypatch: pytest.MonkeyPatch, level: int, said: list[str]) -> None:
    before = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    try:
        told = watch_stderr(monkeypatch)
        rotated = Decision(Done(), facts=(Fact(kind=FactKind.PAIR_ROTATED),))
        RequestLog().log_decisions([origin("one"), None], [rotated, rotated])
        assert told.writes == said
    finally:
        structlog.configure(wrapper_class=before)


def test_a_refusal_has_one_line_with_reason(monkeypatch: pytest.MonkeyPatch, processors: list[Any]) -> None:
    processors[0] = lambda _, level, entry: " ".join(map(str, (level, *entry.values())))
    no = Refused(Why.NOT_FOUND)
    batch = BatchRefused(((3, no), (4, Refused(Why.CLIENT_UNKNOWN))))
    kind = FactKind.SESSION_ENDED
    fact = Fact(kind=kind, session_id="s", client_id="c", user_id="u", role_id="r", actor_id="a")
    ended = Decision(no, facts=(fact,))
    told = watch_stderr(monkeypatch)
    RequestLog().log_decisions(
        [origin("one"), origin("two"), origin("three"), None, origin("four")],
        [Decision(no), Decision(batch), Decision(Done()), Decision(no), ended],
    )
    assert told.getvalue().splitlines() == [
        "info refused one 203.0.113.7 not_found",
        "info refused two 203.0.113.7 not_found",
        "info session-ended four 203.0.113.7 None s c u r a",
    ]


@pytest.mark.usefixtures("processors")
def test_lines_that_the_reader_does_not_take_in_time_are_dropped_and_counted() -> None:
    read_end, write_end = os.pipe()
    lines, filled = LogLines(), 0
    # The pipe is full from the start, so that the thread writes nothing while lines come.
    os.set_blocking(write_end, False)
    with suppress(BlockingIOError):
        while True:
            filled += os.write(write_end, b"\n" * 512)
    os.set_blocking(write_end, True)
    with os.fdopen(read_end) as reader:
        with lines.write_in_thread(write_end):
            for number in range(4_000):
                lines.info(f"{number} {'x' * 1_000}\nsecond line")
            dropped = lines.dropped
            reader.read(filled)
            written = [reader.readline() for _ in range(8_000 - dropped + 1)]
            # This line stands behind the first ones that the thread took, which may be all of them.
            written.remove("warning log lines were dropped\n")
            first = [line.split()[0] for line in written]
            lines.info("later")
            assert reader.readline() == "later\n"
        os.close(write_end)
    assert 0 < dropped < 7_000
    assert dropped % 2 == 0
    assert first[::2] == [str(number) for number in range(4_000 - dropped // 2)]


def test_a_mebibyte_may_wait_and_lines_beyond_it_are_told_of_once(processors: list[Any]) -> None:
    def drop(*_: object) -> None:
        raise structlog.DropEvent

    processors[0] = lambda _, level, entry: f"{level} {entry['event']}: {entry['count']}"
    read_end, write_end = os.pipe()
    lines = LogLines()
    with os.fdopen(read_end) as reader, lines.write_in_thread(write_end):
        lines.info("x" * 1_048_576)
        assert len(reader.readline()) == 1_048_577
        for told in (["warning log lines were dropped: 2\n"], []):
            assert lines.flush(PATIENCE_SECONDS)
            lines.info("y" * 1_048_576 + "\n")
            for line in ("one", "two", "three"):
                lines.info(line)
                assert reader.readline() == f"{line}\n"
                assert [reader.readline() for _ in told] == told
                told = []
            processors[0] = drop
    os.close(write_end)


def test_a_log_that_cannot_be_written_counts_its_lines_and_ends_with_the_rest() -> None:
    lines = LogLines()
    with open("/dev/full", "wb") as full, lines.write_in_thread(full.fileno()):
        lines.info("one")
        lines.info("two\nthree")
        assert lines.flush(PATIENCE_SECONDS)
    assert lines.dropped == 3


def test_the_end_does_not_wait_for_a_reader_that_stands_still() -> None:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    lines = LogLines()
    with lines.write_in_thread(write_end):
        lines.info("x" * 10_000)
    assert os.write(write_end, b"x" * 10_000) == 10_000, "later lines go nowhere at once"
    os.close(read_end)
    for thread in threading.enumerate():
        if thread.name == "log":
            assert thread.daemon, "a process ends without it"
            thread.join(PATIENCE_SECONDS)
    os.close(write_end)


def test_the_log_is_standard_error_in_its_encoding_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    with path.open("w", encoding="ascii") as file:
        for stream in (file, None):
            lines = LogLines()
            monkeypatch.setattr(sys, "stderr", stream)
            monkeypatch.setattr(sys, "__stderr__", stream)
            with lines.write_in_thread():
                lines.info("é")
                assert lines.flush(PATIENCE_SECONDS)
            assert lines.dropped == 0
        file.write("what the process says at its end\n")
    assert path.read_text() == "\\xe9\nwhat the process says at its end\n"


def test_a_pipe_that_does_not_wait_is_waited_for() -> None:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write_end, False)
    lines = LogLines()
    with os.fdopen(read_end) as reader, lines.write_in_thread(write_end):
        lines.info("x" * 1_000_000)
        assert reader.readline() == "x" * 1_000_000 + "\n"
    os.close(write_end)
    assert lines.dropped == 0


def test_a_log_that_cannot_be_written_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LogLines()
    monkeypatch.setattr(sys, "stderr", Full())
    lines.info("one")
    lines.write_entries("info", [{"event": "two"}])
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    lines.info("three")
    monkeypatch.setattr(sys, "stderr", None)
    lines.info("four")
    assert lines.flush(0), "nothing waits"


def test_an_error_is_told_on_one_line_and_by_its_last_frames() -> None:
    def fall(depth: int) -> None:
        if depth:
            fall(depth - 1)
        raise OSError("no\n  room")

    with pytest.raises(OSError, match="room") as caught:
        fall(5)
    assert len(list_frames(caught.value)) == 4
    assert format_on_one_line(caught.value) == "no room"
    assert format_on_one_line(OSError()) == "OSError"
    two = ExceptionGroup("two", [ValueError(), KeyError()])
    assert unwrap_error(ExceptionGroup("one", [two])) is two
    assert unwrap_error(two.exceptions[0]) is two.exceptions[0]
