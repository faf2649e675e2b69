"""Duplicate submissions: the same caller sending the same create request twice in a moment (READINGS 31)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from ostiary_core.model.instant import SECOND_MS, Monotonic
from ostiary_core.model.secret import Digest
from ostiary_net.runtime.system import Clock

_WINDOW_MS = SECOND_MS


@dataclass(slots=True)
class Submission:
    """One create request while it runs; its handler says whether it did what it asked for."""

    succeeded: bool = False


class Submissions:
    """The create requests of one process that are running, or succeeded within the last second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: set[bytes] = set()
        self._succeeded: dict[bytes, Monotonic] = {}

    @contextmanager
    def single(self, caller: Digest, path: str, content: dict[str, object]) -> Iterator["Submission | None"]:
        """The submission, if it is the only such request now; while the block runs, any other is not."""
        key = _key(caller, path, content)
        now = self._clock.monotonic()
        self._succeeded = {old: at for old, at in self._succeeded.items() if now < at + _WINDOW_MS}
        if key in self._running or key in self._succeeded:
            yield None
            return
        self._running.add(key)
        submission = Submission()
        try:
            yield submission
        finally:
            self._running.discard(key)
            if submission.succeeded:
                self._succeeded[key] = self._clock.monotonic()


def _key(caller: Digest, path: str, content: dict[str, object]) -> bytes:
    body = msgspec.json.encode(content, order="sorted")
    return sha256(b"\x00".join((caller, path.encode(), body))).digest()
