"""The limits that the front door sets for every request and every connection."""

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
    """An answer that has begun cannot be completed; the log has the reason already."""


class CannotStart(Exception):
    """The application cannot start, for a reason that its operator can mend.

    The text, of one line, says it all.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRules:
    """The limits of one server.

    The defaults suit a server that callers reach directly or through a proxy.

    `refusal(status, scope, trace_id)` gives header fields and body of an answer that no route gives; the
    scope may know no more than an empty path.
    """

    body_limit: Callable[[str], int]
    """Bytes a request to a path may bring."""

    refusal: Callable[[int, Scope, str], tuple[Fields, bytes]]

    has_page: Callable[[int, Scope], bool] = lambda status, scope: False
    """Whether the application is asked for a page that says why a request is refused, as a person sent it. It
    finds the status in the scope as `ostiary.refused`, and no body."""

    public_path: str = ""
    """What every path begins with, as `/auth`; it is taken off where a head is read. What comes without it is
    not found."""

    paths_outside: frozenset[str] = frozenset()
    """Which paths there are without it too: those that nobody asks for through a proxy."""

    trusted_proxies: tuple[Network, ...] = ()
    """Whose `X-Forwarded-*` is believed (READINGS 30)."""

    head_bytes: int = LONGEST_HEAD
    """Request line and header fields together."""

    head_seconds: float = 10.0
    """From a connection's beginning until its first request's head is whole."""

    idle_seconds: float = 30.0
    """From an answer until the next request's head is whole. Browsers and proxies keep a connection for
    60 s and more; half of that frees what the forgetful leave open, and is long enough for a backend that
    asks now and again."""

    parting_seconds: float = 1.0
    """How long a stopping server waits on an idle connection for a request that is on its way. Its answer
    says that it is the last; what is closed without a word may meet the next request, which is then lost
    (RFC 9112 §9.5)."""

    body_wait_seconds: float = 0.5
    """How long a request waits for its body to be whole before the application sees it. What is answered
    after that, with the body still coming, closes the connection."""

    body_seconds: float = 30.0
    """From the head until the body is whole."""

    answer_seconds: float = 9.5
    """From when a request to a path is whole until its answer begins; then it is answered 500 (READINGS 47).
    What the store does not answer in time, its callers are told of a little earlier."""

    write_seconds: float = 20.0
    """For the client to take 64 KiB of an answer."""

    linger_seconds: float = 2.0
    """How long the rest of a body is still read after an early answer, so that the client sees the answer
    and not a reset connection (RFC 9112 §9.6)."""

    most_connections: int = 12_000
    """Open at once in one process; at most what the limit on open files leaves room for."""
