"""What the log is told of a turn: a line for each fact of a request, before it is answered."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import structlog

from ostiary_core.audit import Origin
from ostiary_core.decision import Decision, Fact
from ostiary_net.log_lines import LINES

__all__ = ["Telling"]


class Telling:
    """Tells the log of kept decisions."""

    def __init__(self) -> None:
        self._log = structlog.get_logger("ostiary").bind()

    def told(self, origins: Sequence[Origin | None], decisions: Iterable[Decision]) -> None:
        """A line for each fact, in order; none for what no request asked for."""
        if self._log.is_enabled_for(logging.INFO):
            entries = [
                _entry(origin, fact)
                for origin, decision in zip(origins, decisions, strict=True)
                if origin is not None
                for fact in decision.facts
            ]
            if entries:
                LINES.tell("info", entries)


def _entry(origin: Origin, fact: Fact) -> dict[str, Any]:
    return {
        "event": fact.kind.value,
        "trace_id": origin.trace_id,
        "source": origin.source,
        "why": fact.why and fact.why.value,
        "session_id": fact.session_id,
        "client_id": fact.client_id,
        "user_id": fact.user_id,
        "role_id": fact.role_id,
        "actor_id": fact.actor_id,
    }
