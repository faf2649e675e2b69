"""Rules for parameters: scopes (RFC 6749 §3.3), and PKCE by S256 and nothing else (RFC 7636)."""

import hmac
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

CHALLENGE_METHOD: Final = "S256"

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}", re.ASCII)


def is_challenge(text: str) -> bool:
    """Whether `text` can be the base64url form of a SHA-256 digest: 43 characters, no padding."""
    return _CHALLENGE.fullmatch(text) is not None


def proves(verifier: str, challenge: str) -> bool:
    """Whether `verifier` is the one `challenge` was made from (RFC 7636 §4.6).

    A verifier outside the grammar of RFC 7636 §4.1 is a wrong verifier (READINGS 19).

    >>> proves("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    True
    """
    if _VERIFIER.fullmatch(verifier) is None:
        return False
    derived = urlsafe_b64encode(sha256(verifier.encode("ascii")).digest()).rstrip(b"=")
    return hmac.compare_digest(derived, challenge.encode("utf-8", "surrogatepass"))


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
