"""Writes log lines of requests before they are answered: one for each fact, or one for a refusal."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import structlog

from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import BatchRefused, Decision, Fact, Refused
from ostiary_core.model.why import Why
from ostiary_net.observability.log_lines import LINES

__all__ = ["RequestLog", "log_refusal"]

_REFUSED = "refused"


class RequestLog:
    """Logs decisions that are kept."""

    def __init__(self) -> None:
        self._log = structlog.get_logger("ostiary").bind()

    def log_decisions(self, origins: Sequence[Origin | None], decisions: Iterable[Decision]) -> None:
        """Log each fact in order, or a refusal that has none; nothing where no request asked."""
        if self._log.is_enabled_for(logging.INFO):
            entries = [
                entry
                for origin, decision in zip(origins, decisions, strict=True)
                if origin is not None
                for entry in _entries(origin, decision)
            ]
            if entries:
                LINES.tell("info", entries)


def log_refusal(why: Why, trace_id: str, source: str) -> None:
    """Log a request that was refused before there was anything to decide.

    So whoever quotes the trace id of its answer is understood ("Errors").
    """
    structlog.get_logger("ostiary").info(_REFUSED, trace_id=trace_id, source=source, why=why.value)


def _entries(origin: Origin, decision: Decision) -> list[dict[str, Any]]:
    if decision.facts:
        return [_entry(origin, fact) for fact in decision.facts]
    reply = decision.reply
    if isinstance(reply, BatchRefused):
        reply = reply.refusals[0][1]
    if not isinstance(reply, Refused):
        return []
    refusal = {"trace_id": origin.trace_id, "source": origin.source, "why": reply.why.value}
    return [{"event": _REFUSED, **refusal}]


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
