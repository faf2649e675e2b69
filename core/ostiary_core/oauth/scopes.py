"""Scopes of a request: how it names them, and whether it asks for too many (RFC 6749 §3.3)."""


def parse_scope(text: str) -> tuple[str, ...]:
    """Read the scopes of a space-separated list, each once, in order (RFC 6749 §3.3).

    >>> parse_scope("b a  b")
    ('b', 'a')
    """
    return tuple(dict.fromkeys(scope for scope in text.split(" ") if scope))


def is_beyond(requested: tuple[str, ...] | None, granted: tuple[str, ...]) -> bool:
    """Whether a request asks for more scopes than were granted."""
    return requested is not None and not set(requested) <= set(granted)


def narrow_scopes(requested: tuple[str, ...] | None, granted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes of a refreshed access token: those requested if granted, else all granted."""
    if not requested or is_beyond(requested, granted):
        return granted
    return tuple(scope for scope in granted if scope in requested)
