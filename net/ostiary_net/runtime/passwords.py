"""Hashes user passwords with argon2id, off the event loop, a bounded number at a time (READINGS 20).

Hashes that came from other systems are verified as well (`foreign_hashes.py`) and replaced by our own at the
first sign-in (docs/decisions/0037-password-hashes-of-other-systems.md).
"""

import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import trio
from argon2 import PasswordHasher, Type
from argon2.exceptions import VerificationError
from argon2.low_level import error_to_str

from ostiary_net.runtime.foreign_hashes import read_foreign_hash
from ostiary_net.runtime.hashing_line import HashingLine, PasswordsBusy
from ostiary_net.runtime.system import EntropySource, RunSync, count_processors, run_in_thread

OWASP: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
"""Hasher as OWASP recommends: 19 MiB, two passes; about 25 ms of one core."""

T = TypeVar("T")

_USUAL_DOUBTS: Final = 1
"""Doubts of a call that no failed sign-in speaks for or against."""
_SALT_BYTES: Final = 16
_NO_MEMORY: Final = error_to_str(-22)
"""Text of argon2's ARGON2_MEMORY_ALLOCATION_ERROR."""
_FOREIGN_REMEMBERED: Final = 100
_FOREIGN_REMEMBERED_SECONDS: Final = 60 * 60.0
_LONGEST_EQUAL_SECONDS: Final = 3.0
"""Longest time that answers are held back; an allowed hash costs two seconds of a processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Whether a password was right, and its new hash if the stored one is outdated."""

    matches: bool
    new_hash: str | None = field(default=None, repr=False)


class Passwords:
    """Hashes and verifies passwords, a few at a time, so that a flood of sign-ins cannot take all memory."""

    def __init__(
        self,
        hasher: PasswordHasher = OWASP,
        *,
        entropy_source: EntropySource,
        run_sync: RunSync = run_in_thread,
        at_a_time: int | None = None,
        make_refusal: Callable[[int], Exception] = PasswordsBusy,
        read_times: Callable[[], tuple[float, float]] = lambda: (time.perf_counter(), time.process_time()),
    ) -> None:
        self._hasher = hasher
        self._entropy_source = entropy_source
        self._run_sync = run_sync
        self.line = HashingLine(at_a_time or max(1, count_processors() - 1), make_refusal)
        self._limiter = trio.CapacityLimiter(self.line.places)
        self._read_times = read_times
        self._dummy_hash: str | None = None
        self._foreign_costs: deque[tuple[float, float]] = deque(maxlen=_FOREIGN_REMEMBERED)
        """Times at which the latest hashes of other systems were verified, and the seconds that each took."""

    async def hash(self, password: str, *, may_be_refused: bool = True) -> str:
        """Hash a password with a fresh salt; return the encoded hash. Raises a refusal."""
        return await self._run(partial(self._hash, password), may_be_refused=may_be_refused)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether `password` is the one that was hashed, here or by another system.

        Without a hash, return False after the same work, so that time does not tell which users exist.
        Raises a refusal.
        """
        return (await self.verify_and_renew(password_hash, password)).matches

    async def verify_and_renew(
        self, password_hash: str | None, password: str, *, doubts: int = _USUAL_DOUBTS
    ) -> Verified:
        """Verify `password`; hash it anew if it is right and its hash outdated. Raises a refusal.

        The fewer `doubts` (`SignInThrottle.count_doubts`), the sooner.

        Hashes of other systems take longer than our own. For an hour after one was verified, every call takes
        as long as they lately took, so that time does not tell which users have one.
        """
        verified, seconds = await self._run(partial(self._verify_timed, password_hash, password), doubts)
        if password_hash is not None and not self._is_up_to_date(password_hash):
            self._foreign_costs.append((trio.current_time(), min(seconds, _LONGEST_EQUAL_SECONDS)))
        if (remaining_seconds := self._find_longest_foreign_seconds() - seconds) > 0:
            await trio.sleep(remaining_seconds)
        return verified

    async def forget_foreign(self, is_left: Callable[[str], bool]) -> None:
        """Stop holding answers back once `is_left`, given how our hashes begin, finds no other hash."""
        if not self._foreign_costs:
            return
        if not await self._run(partial(is_left, self._make_own_prefix()), may_be_refused=False):
            self._foreign_costs.clear()

    async def _run(
        self, work: Callable[[], T], doubts: int = _USUAL_DOUBTS, *, may_be_refused: bool = True
    ) -> T:
        async with self.line.place(doubts, may_be_refused=may_be_refused):
            return await self._run_sync(work, limiter=self._limiter)

    def _find_longest_foreign_seconds(self) -> float:
        oldest = trio.current_time() - _FOREIGN_REMEMBERED_SECONDS
        while self._foreign_costs and self._foreign_costs[0][0] < oldest:
            self._foreign_costs.popleft()
        return max((seconds for _, seconds in self._foreign_costs), default=0.0)

    def _make_own_prefix(self) -> str:
        hasher = self._hasher
        return f"$argon2id$v=19$m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}$"

    @property
    def at_a_time(self) -> int:
        """Return how many passwords are hashed at a time."""
        return self.line.places

    def _hash(self, password: str) -> str:
        return self._hasher.hash(_encode_nfkc(password), salt=self._entropy_source.draw()[:_SALT_BYTES])

    def _verify_timed(self, password_hash: str | None, password: str) -> tuple[Verified, float]:
        # The lesser of wall clock and the process's time, as process or machine may stand still meanwhile.
        # Not this thread's time, as argon2 works on each of several lanes in a thread of its own.
        began = self._read_times()
        verified = self._verify(password_hash, password)
        return verified, min(end - start for start, end in zip(began, self._read_times(), strict=True))

    def _verify(self, password_hash: str | None, password: str) -> Verified:
        if password_hash is None:
            if self._dummy_hash is None:
                self._dummy_hash = self._hash("")
            self._matches(self._dummy_hash, password)
            return Verified(matches=False)
        if not self._matches(password_hash, password):
            return Verified(matches=False)
        renews = not self._is_up_to_date(password_hash)
        return Verified(matches=True, new_hash=self._hash(password) if renews else None)

    def _is_up_to_date(self, password_hash: str) -> bool:
        """Whether `password_hash` has our form and our parameters."""
        try:
            return not self._hasher.check_needs_rehash(password_hash)
        except ValueError:  # it is not of our form
            return False

    def _matches(self, password_hash: str, password: str) -> bool:
        return any(self._matches_bytes(password_hash, spelling) for spelling in _list_spellings(password))

    def _matches_bytes(self, password_hash: str, password: bytes) -> bool:
        try:
            if not password_hash.startswith("$argon2"):
                foreign = read_foreign_hash(password_hash)
                return foreign is not None and foreign.matches(password)
            return self._hasher.verify(password_hash, password)
        except (VerificationError, ValueError) as error:  # ValueError: what is stored is no hash
            if str(error) == _NO_MEMORY:
                raise MemoryError from error  # or a right password would be refused as wrong
            return False


def _encode_nfkc(password: str) -> bytes:
    """Encode a password in NFKC, as keyboards differ (NIST SP 800-63B §5.1.1.2)."""
    return _encode(unicodedata.normalize("NFKC", password))


def _list_spellings(password: str) -> Iterator[bytes]:
    """Yield a password in NFKC, then as it was typed, as most other systems hash it."""
    normal, typed = _encode_nfkc(password), _encode(password)
    yield normal
    if typed != normal:
        yield typed


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
