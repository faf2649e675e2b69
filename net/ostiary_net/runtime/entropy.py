"""Randomness, drawn in one place and handed to the rules with the events that mint something."""

import os
from typing import Protocol

from ostiary_core.model.instant import Instant
from ostiary_core.model.secret import Entropy, dated_id

__all__ = ["ENTROPY_BYTES", "EntropySource", "SystemEntropy", "draw_trace_id"]

ENTROPY_BYTES = 32


class EntropySource(Protocol):
    """Where entropy comes from; a simulation hands in a seeded one."""

    def draw(self) -> Entropy:
        """Draw 32 bytes that were never given before."""
        ...


class SystemEntropy:
    """Draws from the operating system's own generator."""

    def draw(self) -> Entropy:
        """Draw 32 random bytes for one event."""
        return Entropy(os.urandom(ENTROPY_BYTES))


def draw_trace_id(source: EntropySource, now: Instant) -> str:
    """Draw a fresh identifier for a request, by which the audit trail is searched."""
    return dated_id(now, source.draw())
