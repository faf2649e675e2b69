"""The load: many kept-alive connections in one thread, each asking as soon as it was answered.

One driver for every server, so that none is asked in a way that suits it. It speaks the least HTTP/1.1 that
the servers under test need: answers with a Content-Length, or chunked.
"""

import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

Address = tuple[str, int]

_LONGEST_SILENCE_SECONDS: Final = 30.0


class WrongAnswer(AssertionError):
    """A server answered something else than it was asked for: its figures would say nothing."""


class Conversation(Protocol):
    """What one connection asks, and how it knows that it was answered rightly."""

    def ask(self) -> bytes:
        """The next request, whole."""
        ...

    def hear(self, status: int, body: bytes) -> None:
        """Its answer. Raises `WrongAnswer`."""
        ...


@dataclass(frozen=True, slots=True)
class Drive:
    """What one round came to."""

    requests: int
    seconds: float
    latencies: list[float]
    """Of every request, in seconds, from the first byte sent until the last one read."""


def drive(address: Address, conversations: Sequence[Conversation], seconds: float) -> Drive:
    """Have all conversations at once for so long; then let every request that runs be answered."""
    poll = select.epoll()
    links: dict[int, _Link] = {}
    try:
        for conversation in conversations:
            link = _Link(address, conversation)
            links[link.socket.fileno()] = link
            poll.register(link.socket, select.EPOLLIN)
        latencies: list[float] = []
        begun = time.perf_counter()
        deadline = begun + seconds
        for link in links.values():
            link.ask()
        running = len(links)
        while running:
            ready = poll.poll(_LONGEST_SILENCE_SECONDS)
            if not ready:
                raise WrongAnswer(f"no answer within {_LONGEST_SILENCE_SECONDS} s")
            for descriptor, _ in ready:
                link = links[descriptor]
                if not link.read():
                    continue
                now = time.perf_counter()
                latencies.append(now - link.asked_at)
                if now < deadline:
                    link.ask()
                else:
                    running -= 1
        return Drive(len(latencies), time.perf_counter() - begun, latencies)
    finally:
        poll.close()
        for link in links.values():
            link.socket.close()


def ask_once(address: Address, request: bytes) -> tuple[int, bytes]:
    """Status and body of one request on a connection of its own."""
    answer: list[tuple[int, bytes]] = []

    class Once:
        def ask(self) -> bytes:
            return request

        def hear(self, status: int, body: bytes) -> None:
            answer.append((status, body))

    drive(address, [Once()], 0.0)
    return answer[0]


class _Link:
    """One connection and the answer it is reading."""

    __slots__ = ("_conversation", "_received", "asked_at", "socket")

    def __init__(self, address: Address, conversation: Conversation) -> None:
        self.socket = socket.create_connection(address, timeout=_LONGEST_SILENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._conversation = conversation
        self._received = b""
        self.asked_at = 0.0

    def ask(self) -> None:
        request = self._conversation.ask()
        self.asked_at = time.perf_counter()
        self.socket.sendall(request)

    def read(self) -> bool:
        """Take what came; whether the answer is whole, and then right."""
        data = self.socket.recv(65536)
        if not data:
            raise WrongAnswer(f"the server closed a kept-alive connection after {self._received!r}")
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return False
        body = _body(head.lower(), rest)
        if body is None:
            return False
        self._received = b""
        self._conversation.hear(int(head[9:12]), body)
        return True


def _body(head: bytes, rest: bytes) -> bytes | None:
    """The body once it is whole."""
    at = head.find(b"\r\ncontent-length:")
    if at >= 0:
        length = int(head[at + 17 :].partition(b"\r\n")[0])
        return rest if len(rest) >= length else None
    if b"\r\ntransfer-encoding: chunked" in head:
        return _chunks(rest) if rest.endswith(b"0\r\n\r\n") else None
    raise WrongAnswer("an answer whose end cannot be known")


def _chunks(rest: bytes) -> bytes:
    pieces: list[bytes] = []
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return b"".join(pieces)
        pieces.append(rest[:length])
        rest = rest[length + 2 :]
