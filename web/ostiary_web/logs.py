"""How the server logs: one line an occurrence, as key and value, on standard error."""

import json
import logging
import sys
from typing import Final

import structlog

__all__ = ["configure_logs"]

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_to_json: Final = json.JSONEncoder(ensure_ascii=False, default=repr).encode
"""Made once, as `json.dumps` would make an encoder for every line."""


def configure_logs(level: str, form: str) -> None:
    """Set up structlog, and the standard library's logging for what Hypercorn and Quart say."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(serializer=lambda entry, **_: _to_json(entry))
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_absences,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(stream=sys.stderr, level=max(_LEVELS[level], logging.WARNING), force=True)


def _without_absences(
    logger: object, method: str, entry: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """A key without a value says nothing."""
    return {key: value for key, value in entry.items() if value is not None}
