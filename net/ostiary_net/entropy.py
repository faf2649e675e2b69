"""Randomness, drawn in one place and handed to the rules with the events that mint something."""

import os
from typing import Protocol

from ostiary_core.instant import Instant
from ostiary_core.secret import Entropy

__all__ = ["ENTROPY_BYTES", "EntropySource", "SystemEntropy", "draw_trace_id"]

ENTROPY_BYTES = 32


class EntropySource(Protocol):
    """Where entropy comes from; a simulation hands in a seeded one."""

    def draw(self) -> Entropy:
        """32 bytes that were never given before."""
        ...


class SystemEntropy:
    """The operating system's own generator."""

    def draw(self) -> Entropy:
        """32 random bytes for one event."""
        return Entropy(os.urandom(ENTROPY_BYTES))


def draw_trace_id(source: EntropySource, now: Instant) -> str:
    """A fresh identifier of a request, 32 hexadecimal digits that begin with its instant.

    The audit trail is searched by it: like this, new entries lie together in that index.
    """
    return (max(now, 0) % 2**48).to_bytes(6).hex() + source.draw()[:10].hex()
