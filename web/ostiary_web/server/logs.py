"""Log to standard error, one line an event, as key and value."""

import io
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec
import structlog

from ostiary_net.observability.log import LINES, REFUSAL_LIMIT, list_frames
from ostiary_net.observability.request_ids import REQUEST_IDS
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from ostiary_web.streams import escape_json

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

EventDict = structlog.typing.EventDict
Render = Callable[[EventDict], str]

_PLAIN: Final = re.compile(r"[\w.:/@+-]+").fullmatch
"""Pattern of values that need no quotes and do nothing to a terminal."""

_encode: Final = msgspec.json.Encoder(enc_hook=repr).encode
_encode_anything: Final = json.JSONEncoder(default=repr, separators=(",", ":")).encode


def configure_logs(level: str, form: str) -> None:
    """Set up structlog, and the standard library's logging for Hypercorn and Quart."""
    if form == "json" and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # RFC 8259 §8.1
    line = _Line(_renderer(form))
    structlog.configure(
        processors=[line],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *names: LINES,
    )
    handler = _Handler(line)
    logging.basicConfig(handlers=[handler], level=max(_LEVELS[level], logging.WARNING), force=True)
    # The driver warns of what comes on top of an error that it raises, even if another was quicker
    # and there is no fault; its pool, of connections that cannot be had, which is told with the reason.
    logging.getLogger("psycopg").setLevel(logging.ERROR)


@contextmanager
def log_failed_start(
    environment: Mapping[str, str], is_start: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Write the line that says why a start failed in the form that `LOG_FORMAT` asks for."""
    try:
        yield
    except SystemExit as end:
        if not isinstance(end.code, str) or not is_start() or not _is_json(environment):
            raise
        configure_logs("error", "json")
        structlog.get_logger("ostiary").critical("cannot start", reason=end.code.removeprefix("ostiary: "))
        sys.exit(1)


def _is_json(environment: Mapping[str, str]) -> bool:
    """Whether the log is JSON, also if another setting is what is wrong."""
    own = {name: environment[name] for name in ("LOG_FORMAT",) if name in environment}
    try:
        return Settings.from_environment(own).log_format == "json"
    except SettingError:
        return False


def _renderer(form: str) -> Render:
    if form == "json":
        return _format_json
    if not sys.stderr.isatty():
        return _format_text
    console = structlog.dev.ConsoleRenderer(pad_event_to=0)
    return lambda entry: str(console(None, "", entry))


class _Line:
    """Turns an entry into a line: with level and time (ISO 8601, UTC), without values that are None.

    One processor, as each more costs a tenth of a line; a second's text is made once.
    """

    def __init__(self, render: Render) -> None:
        self._render = render
        self._spelled = (-1, "")

    def __call__(self, logger: object, method: str, entry: EventDict) -> str:
        if not REFUSAL_LIMIT.admit(entry):
            raise structlog.DropEvent
        if (request_id := REQUEST_IDS.find(entry.get("trace_id"))) is not None:
            entry["request_id"] = request_id
        present, microseconds = divmod(time.time_ns() // 1_000, 1_000_000)
        second, text = self._spelled
        if second != present:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(present))
            self._spelled = present, text
        line = {key: value for key, value in entry.items() if value is not None}
        line["level"] = method
        line["timestamp"] = f"{text}.{microseconds:06}Z"
        return self._render(line)


class _Handler(logging.Handler):
    """Logs what libraries say in our own form."""

    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        try:
            entry: EventDict = {"event": _format_message(record), "logger": record.name}
            if record.exc_info and record.exc_info[1] is not None:
                # Its text may quote what a client sent.
                error = record.exc_info[1]
                entry.update(cause=type(error).__name__, where=list_frames(error))
            LINES.msg(self._line(None, record.levelname.lower(), entry))
        except Exception:  # what a library logs amiss ends nothing
            self.handleError(record)


def _format_message(record: logging.LogRecord) -> str:
    """Return a record's message on one line, without the texts of exceptions in it."""
    arguments = record.args
    if isinstance(arguments, tuple):
        record.args = tuple(
            type(each).__name__ if isinstance(each, BaseException) else each for each in arguments
        )
    try:
        return " ".join(record.getMessage().split())
    finally:
        record.args = arguments


def _format_json(entry: EventDict) -> str:
    """Return one line of JSON, also of text without UTF-8, as half a surrogate pair."""
    try:
        return escape_json(_encode(entry).decode())
    except (TypeError, ValueError, OverflowError):
        return _encode_anything(entry)


def _format_text(entry: EventDict) -> str:
    """Return what structlog writes to a terminal without colours, in a quarter of the time."""
    timestamp, level, event = entry.pop("timestamp"), entry.pop("level"), entry.pop("event")
    fields = [f"{key}={_quote(entry[key])}" for key in sorted(entry)]
    return " ".join([f"{timestamp} [{level:<9}] {event}", *fields])


def _quote(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN(value) else repr(value)
