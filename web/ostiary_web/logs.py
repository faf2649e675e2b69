"""How the server logs: one line an occurrence, as key and value, on standard error."""

import json
import logging
import sys
import time
from typing import Final

import msgspec
import structlog

from ostiary_net.log_lines import LINES

__all__ = ["configure_logs"]

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_encode: Final = msgspec.json.Encoder(enc_hook=repr).encode
_encode_anything: Final = json.JSONEncoder(default=repr, separators=(",", ":")).encode


def configure_logs(level: str, form: str) -> None:
    """Set up structlog, and the standard library's logging for what Hypercorn and Quart say."""
    renderer: structlog.typing.Processor = (
        _as_json
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[structlog.processors.add_log_level, _Stamper(), _without_absences, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *names: LINES,
    )
    logging.basicConfig(stream=sys.stderr, level=max(_LEVELS[level], logging.WARNING), force=True)


class _Stamper:
    """Puts the time on an entry, as ISO 8601 in UTC; a second is spelled once."""

    def __init__(self) -> None:
        self._spelled = (-1, "")

    def __call__(
        self, logger: object, method: str, entry: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        present, microseconds = divmod(time.time_ns() // 1_000, 1_000_000)
        second, text = self._spelled
        if second != present:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(present))
            self._spelled = present, text
        entry["timestamp"] = f"{text}.{microseconds:06}Z"
        return entry


def _without_absences(
    logger: object, method: str, entry: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """A key without a value says nothing."""
    return {key: value for key, value in entry.items() if value is not None}


def _as_json(logger: object, method: str, entry: structlog.typing.EventDict) -> str:
    """One line of JSON; also of what has no UTF-8, as half a surrogate pair."""
    try:
        return _encode(entry).decode()
    except (TypeError, ValueError, OverflowError):
        return _encode_anything(entry)
