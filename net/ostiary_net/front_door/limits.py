"""Limits of the front door for every request and every connection."""

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

Fields = list[tuple[bytes, bytes]]
"""Header fields with lower-case names, in order, as ASGI has them."""

LONGEST_HEAD: Final = 16 * 1024
"""Bytes of a request's target and header fields together."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class AnswerCutOff(Exception):
    """An answer that has begun cannot be completed; the log has the reason."""


class CannotStart(Exception):
    """The application cannot start; the text names, in one line, what its administrator can mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorLimits:
    """Limits of one server; the defaults suit callers that come directly or through a proxy."""

    body_limit: Callable[[str], int]
    """Most bytes of a body, by path."""

    refusal: Callable[[int, Scope, str], tuple[Fields, bytes]]
    """Header fields and body of a refusal, by status, scope (with at least a path) and trace id."""

    has_page: Callable[[int, Scope], bool] = lambda status, scope: False
    """Whether the application makes the page of a refusal, as a browser sent the request; the scope then
    holds the status as `ostiary.refused`."""

    public_path: str = ""
    """Beginning of every path, as `/auth`; `read_head` strips it, and refuses a path without it as 404."""

    paths_outside: frozenset[str] = frozenset()
    """Paths that are also served without `public_path`, as no proxy asks for them."""

    trusted_proxies: tuple[Network, ...] = ()
    """Peers whose `X-Forwarded-*` is believed (READINGS 30)."""

    head_bytes: int = LONGEST_HEAD
    """Most bytes of request line and header fields together."""

    head_seconds: float = 10.0
    """Longest time from a connection's beginning until its first head is whole."""

    answer_fields: tuple[tuple[bytes, bytes], ...] = ()
    """Header fields of every answer, whichever door gives it."""

    idle_seconds: float = 75.0
    """Longest time from an answer until the next head is whole, as answers tell it. Balancers keep one
    for 60 s: the side that sends must close first, or a request meets a connection that is closed."""

    parting_seconds: float = 1.0
    """Time that a stopping server waits on an idle connection for a request on its way, whose answer then
    says `Connection: close`. To close without a word may lose that request (RFC 9112 §9.5)."""

    body_wait_seconds: float = 0.5
    """Time that a request waits for its whole body before the application sees it. An answer that overtakes
    the body closes the connection."""

    body_seconds: float = 30.0
    """Longest time from the head until the body is whole."""

    answer_seconds: float = 9.5
    """Longest time from a whole request until its answer begins, else 500 (READINGS 47); the store's own
    limit is a little shorter."""

    write_seconds: float = 20.0
    """Longest time for the client to take 64 KiB of an answer."""

    linger_seconds: float = 2.0
    """Time for which the rest of a body is read after an early answer, so that the client sees the answer and
    no reset (RFC 9112 §9.6)."""

    most_connections: int = 12_000
    """Most open connections of a process, as far as its limit on open files allows."""
