"""Scopes: the ones there are, how a request names them, and when a request goes too far."""

from typing import Final

__all__ = ["SCOPES", "USER_READ", "beyond", "narrowed", "parse_scope"]

USER_READ: Final = "user.read"

SCOPES: Final = (USER_READ,)
"""Every scope a client can register ("Client", `scopes`)."""


def parse_scope(text: str) -> tuple[str, ...]:
    """The scopes of a space-separated list, each once, in order (RFC 6749 §3.3).

    >>> parse_scope("b a  b")
    ('b', 'a')
    """
    return tuple(dict.fromkeys(scope for scope in text.split(" ") if scope))


def beyond(requested: tuple[str, ...] | None, granted: tuple[str, ...]) -> bool:
    """Whether a request asks for more than was granted."""
    return requested is not None and not set(requested) <= set(granted)


def narrowed(requested: tuple[str, ...] | None, granted: tuple[str, ...]) -> tuple[str, ...]:
    """The scopes of a refreshed access token: as requested where that is within, else as granted."""
    if not requested or beyond(requested, granted):
        return granted
    return tuple(scope for scope in granted if scope in requested)
