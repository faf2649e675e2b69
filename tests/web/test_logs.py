"""The lines of the log in their two forms, JSON and console."""

import json
import logging
from datetime import UTC, datetime, timedelta

import pytest
import structlog

from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_net.observability.log import RefusalLimit, RequestLog, log_door_refusal, log_refusal
from ostiary_web.server import logs
from ostiary_web.server.logs import configure_logs


def log_line(capsys: pytest.CaptureFixture[str], form: str, **fields: object) -> str:
    configure_logs("info", form)
    log = structlog.get_logger("ostiary")
    log.debug("not worth a line")
    log.info("pair-rotated", **fields)
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def test_a_line_is_json_with_its_time_and_without_what_is_absent(capsys: pytest.CaptureFixture[str]) -> None:
    before = datetime.now(UTC)
    entry = json.loads(log_line(capsys, "json", client_id="app", why=None, name="王"))
    assert set(entry) == {"event", "level", "timestamp", "client_id", "name"}
    assert (entry["event"], entry["level"], entry["name"]) == ("pair-rotated", "info", "王")
    assert entry["timestamp"].endswith("Z")
    moment = datetime.fromisoformat(entry["timestamp"])
    assert before - timedelta(seconds=1) < moment < datetime.now(UTC) + timedelta(seconds=1)


@pytest.mark.parametrize("form", ["json", "console"])
def test_libraries_log_in_our_form_without_exceptions(capsys: pytest.CaptureFixture[str], form: str) -> None:
    configure_logs("info", form)
    library = logging.getLogger("hypercorn.error")
    library.info("not worth a line")
    try:
        raise ValueError("hunter22")
    except ValueError as error:
        library.warning("error connecting in %r: %s\n  with a hint", "pool-1", error)
        library.exception("failed")
    first, second = capsys.readouterr().err.splitlines()
    if form == "console":
        timestamp, line = first.split(" ", 1)
        assert datetime.fromisoformat(timestamp).tzinfo is not None
        assert line == (
            "[warning  ] error connecting in 'pool-1': ValueError with a hint logger=hypercorn.error"
        )
        assert "hunter22" not in second
        return
    entry = json.loads(first)
    assert datetime.fromisoformat(entry.pop("timestamp")).tzinfo is not None
    assert entry == {
        "event": "error connecting in 'pool-1': ValueError with a hint",
        "level": "warning",
        "logger": "hypercorn.error",
    }
    entry = json.loads(second)
    assert (entry["event"], entry["level"], entry["cause"]) == ("failed", "error", "ValueError")
    assert "test_logs.py" in entry["where"][0]
    assert "hunter22" not in second


def test_what_the_driver_warns_of_on_top_of_an_error_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    logging.getLogger("psycopg").warning("error ignored terminating <psycopg.Pipeline>: PipelineAborted")
    logging.getLogger("psycopg.pool").warning("error connecting in 'pool-1': OperationalError")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["\ud800", 2**70, {1, 2}, object], ids=repr)
def test_no_logged_value_makes_the_line_fail(capsys: pytest.CaptureFixture[str], value: object) -> None:
    assert json.loads(log_line(capsys, "json", value=value))["event"] == "pair-rotated"


def test_a_line_break_in_a_value_does_not_make_a_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    entry = json.loads(log_line(capsys, "json", user_agent='a\r\n{"event":"forged"}\n\x1b[2J'))
    assert entry["user_agent"] == 'a\r\n{"event":"forged"}\n\x1b[2J'


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("value", ["\x9b31m", "a\x7f", "é\u2028"], ids=ascii)
def test_no_value_moves_a_terminal(capsys: pytest.CaptureFixture[str], form: str, value: str) -> None:
    said = log_line(capsys, form, user_agent=value)
    assert value not in said
    assert form == "console" or json.loads(said)["user_agent"] == value


@pytest.mark.parametrize(
    "value", ["two words", "a=b", 'a"b', "a\r\nb", "\x1b[2J", "", "\u2028", "\ud800"], ids=repr
)
def test_what_would_end_a_field_or_a_line_is_quoted(capsys: pytest.CaptureFixture[str], value: str) -> None:
    said = log_line(capsys, "console", user_agent=value, where=["a.py:3 f"])
    assert said.endswith(f" pair-rotated user_agent={value!r} where=['a.py:3 f']\n")


def test_a_terminal_has_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = log_line(capsys, "console", client_id="app")
    assert "\x1b[" in said
    assert "pair-rotated" in said


def test_refusals_that_one_address_causes_fill_no_disk_and_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand refusals of one address are logged, for any reason; facts and other addresses always are."""
    seconds = 0.0
    limit = RefusalLimit(lambda: seconds)
    monkeypatch.setattr(logs, "REFUSAL_LIMIT", limit)
    configure_logs("info", "json")
    origin = Origin(trace_id="t", source="2001:db8::1", user_agent=None)
    refused = Decision(Refused(Why.CLIENT_UNKNOWN), (), ())

    def refuse() -> list[dict[str, object]]:
        for host in range(500):
            log_refusal(Why.NOT_SIGNED_IN, "t", f"2001:db8::{host:x}")
            log_door_refusal(413, "t", origin.source)
            RequestLog().log_decisions([origin], [refused])
        return [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    first = refuse()
    assert len(first) == 600
    assert "not_logged" not in first[0]
    assert first[1]["status"] == 413
    seconds = 59.9
    assert refuse() == []
    log_refusal(Why.NOT_SIGNED_IN, "t", "203.0.113.7")
    structlog.get_logger("ostiary").info("pair-rotated", source=origin.source)
    other, fact = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (other["source"], other["not_logged"]) == ("203.0.113.7", 2_400)
    assert limit.not_logged == 2_400
    log_door_refusal(408, "t", None)
    assert json.loads(capsys.readouterr().err)["status"] == 408
    assert fact["event"] == "pair-rotated"
    seconds = 60.0
    later = refuse()
    assert len(later) == 600
    assert "not_logged" not in later[0]


def test_refusals_that_many_addresses_cause_fill_no_disk(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "REFUSAL_LIMIT", RefusalLimit(lambda: 0.0))
    configure_logs("info", "json")
    for host in range(7_000):
        log_refusal(Why.NOT_SIGNED_IN, "t", f"2001:db8:{host:x}::1")
    assert len(capsys.readouterr().err.splitlines()) == 6_000
