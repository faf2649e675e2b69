"""When a cluster and the instances on it took changes, and for how long not: both are asked all the time.

The database is asked as an ideal client would, each node by a thread that commits where it can.
"""

import math
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import psycopg
import trio

from fuzz.processes.connection import Connection, Lost
from fuzz.processes.node import Node

_ASKS_SECONDS: Final = 0.05
_INSTANCE_SECONDS: Final = 0.2
_TOLD_SECONDS: Final = 0.5
"""A pause that is no longer is the machine's."""

Span = tuple[float, float]
"""From when to when, by `time.monotonic`."""


class DatabaseProbe:
    """Commits to whichever node is the primary."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.acknowledged: list[Span] = []
        """When each commit was begun, and when it was answered."""
        self._over = threading.Event()
        threads = [threading.Thread(target=self._ask, args=(node,), daemon=True) for node in nodes]
        for thread in threads:
            thread.start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._over.set()

    def _ask(self, node: Node) -> None:
        while not self._over.is_set():
            with suppress(psycopg.Error), node.connect() as connection:
                while not self._over.is_set():
                    began = time.monotonic()
                    [[is_standby]] = connection.execute("SELECT pg_is_in_recovery()").fetchall()
                    if not is_standby:
                        # A commit that is not sure to be kept comes with a warning.
                        warnings: list[object] = []
                        connection.add_notice_handler(warnings.append)
                        # So long that a full disk is noticed, where other tables need more room.
                        connection.execute("INSERT INTO probe VALUES (repeat('x', 2000))")
                        if not warnings:
                            self.acknowledged.append((began, time.monotonic()))
                    self._over.wait(_ASKS_SECONDS)
            self._over.wait(_ASKS_SECONDS)

    def outages(self) -> list[Span]:
        """When no commit was answered."""
        return _gaps([answered for _, answered in self.acknowledged])

    def has_kept_since(self, moment: float) -> bool:
        """Whether a commit that was begun since was answered."""
        return bool(self.acknowledged) and any(began > moment for began, _ in self.acknowledged[-8:])


class InstanceProbe:
    """Has one instance issue machines' tokens, without waiting for one before it asks for the next."""

    def __init__(self, port: int, credentials: tuple[str, str]) -> None:
        self.port = port
        self._credentials = credentials
        self.answered: list[float] = []
        """When it issued one."""

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                nursery.start_soon(self._ask)
                await trio.sleep(_INSTANCE_SECONDS)

    async def _ask(self) -> None:
        with Connection(self.port) as connection, suppress(Lost):
            form = {"grant_type": "client_credentials"}
            response = await connection.post_form("/api/oauth2/token", [self._credentials], **form)
            if response.status == 200:
                self.answered.append(time.monotonic())

    def beyond(self, outages: Sequence[Span]) -> float:
        """The longest for which it issued nothing though the database took changes, in seconds."""
        longest = 0.0
        for since, until in _gaps(self.answered):
            away = sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in outages)
            longest = max(longest, until - since - away)
        return max(0.0, longest - _INSTANCE_SECONDS)


def _gaps(moments: Sequence[float]) -> list[Span]:
    pairs = zip(moments, [*moments[1:], math.inf], strict=True)
    return [(since, until) for since, until in pairs if _TOLD_SECONDS < until - since < math.inf]
