"""Detect duplicate submissions: a caller's same create request twice within a second (READINGS 31)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import trio

from ostiary_core.model.instant import SECOND_MS, Monotonic
from ostiary_core.model.secret import Digest
from ostiary_net.runtime.system import Clock

_WINDOW_MS = SECOND_MS


T = TypeVar("T")


class Submitted(NamedTuple, Generic[T]):
    """The outcome of a create request."""

    reply: T
    is_repeated: bool
    """Whether the caller sent the same just before; then the reply is that one's."""


@dataclass(slots=True)
class _Submission:
    """One create request, and its reply once it succeeded."""

    done: trio.Event = field(default_factory=trio.Event)
    reply: Any = None
    succeeded_at: Monotonic | None = None


class Submissions:
    """Create requests of one process that are running, or succeeded within the last second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._submissions: dict[bytes, _Submission] = {}

    async def submit(
        self, caller: Digest, path: str, content: Mapping[str, object], make: Callable[[], Awaitable[T]]
    ) -> Submitted[T]:
        """Return the reply of `make`, which runs once for equal requests within a second.

        A browser that sends a form twice has stopped waiting for the first answer. So `make` is not
        cancelled, and the second request gets the first one's reply: a secret is shown once. If the first
        one fails, the second tries in its turn, in the time that is left of its own.

        Raises `trio.TooSlowError` at the deadline of the request, which its shield does not lift.
        """
        key = _key(caller, path, content)
        while (earlier := self._find(key)) is not None:
            await earlier.done.wait()
            if earlier.reply is not None:
                return Submitted(earlier.reply, is_repeated=True)
        submission = self._submissions[key] = _Submission()
        try:
            with trio.fail_at(trio.current_effective_deadline(), shield=True):
                reply = submission.reply = await make()
            submission.succeeded_at = self._clock.monotonic()
        finally:
            if submission.reply is None:
                del self._submissions[key]
            submission.done.set()
        return Submitted(reply, is_repeated=False)

    def _find(self, key: bytes) -> _Submission | None:
        now = self._clock.monotonic()
        self._submissions = {
            each: submission
            for each, submission in self._submissions.items()
            if submission.succeeded_at is None or now < submission.succeeded_at + _WINDOW_MS
        }
        return self._submissions.get(key)


def _key(caller: Digest, path: str, content: Mapping[str, object]) -> bytes:
    body = msgspec.json.encode(content, order="sorted")
    return sha256(b"\x00".join((caller, path.encode(), body))).digest()
