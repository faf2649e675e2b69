"""Measure when a cluster and its instances accepted changes, and how long they did not.

The database is asked as by an ideal client: a thread for each node commits whenever the node accepts it.
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
_SHORTEST_OUTAGE_SECONDS: Final = 0.5
"""Shortest pause that is reported, in seconds; shorter ones are the machine's."""

Span = tuple[float, float]
"""Beginning and end, by `time.monotonic`."""


class DatabaseProbe:
    """Commits all the time to the node that is the primary."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.acknowledged: list[Span] = []
        """Beginning of each commit, and the time of its answer."""
        self._over = threading.Event()
        threads = [threading.Thread(target=self._ask, args=(node,), daemon=True) for node in nodes]
        for thread in threads:
            thread.start()

    def stop(self) -> None:
        """Stop asking."""
        self._over.set()

    def _ask(self, node: Node) -> None:
        while not self._over.is_set():
            with suppress(psycopg.Error), node.connect() as connection:
                while not self._over.is_set():
                    began = time.monotonic()
                    [[is_standby]] = connection.execute("SELECT pg_is_in_recovery()").fetchall()
                    if not is_standby:
                        # A commit that may not be kept comes with a warning.
                        warnings: list[object] = []
                        connection.add_notice_handler(warnings.append)
                        # Rows are large, so that a full disk is noticed when other tables need more room.
                        connection.execute("INSERT INTO probe VALUES (repeat('x', 2000))")
                        if not warnings:
                            self.acknowledged.append((began, time.monotonic()))
                    self._over.wait(_ASKS_SECONDS)
            self._over.wait(_ASKS_SECONDS)

    def outages(self) -> list[Span]:
        """Return the spans without an answered commit."""
        return _find_gaps([answered for _, answered in self.acknowledged])

    def has_kept_since(self, moment: float) -> bool:
        """Whether a commit that began after this moment was answered."""
        return bool(self.acknowledged) and any(began > moment for began, _ in self.acknowledged[-8:])


class InstanceProbe:
    """Has one instance issue machines' tokens, each request sent without waiting for the answer before it."""

    def __init__(self, port: int, credentials: tuple[str, str]) -> None:
        self.port = port
        self._credentials = credentials
        self.answered: list[float] = []
        """Times at which it issued a token."""

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

    def measure_extra_delay(self, outages: Sequence[Span]) -> float:
        """Return the longest time in seconds without a token although the database accepted changes."""
        longest = 0.0
        for since, until in _find_gaps(self.answered):
            away = sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in outages)
            longest = max(longest, until - since - away)
        return max(0.0, longest - _INSTANCE_SECONDS)


def _find_gaps(moments: Sequence[float]) -> list[Span]:
    pairs = zip(moments, [*moments[1:], math.inf], strict=True)
    return [(since, until) for since, until in pairs if _SHORTEST_OUTAGE_SECONDS < until - since < math.inf]
