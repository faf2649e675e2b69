"""Hashes user passwords with argon2id, off the event loop, a bounded number at a time (READINGS 20).

Hashes that came from other systems are verified as well (`foreign_hashes.py`) and replaced by our own at the
first sign-in (docs/decisions/0037-password-hashes-of-other-systems.md).
"""

import os
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import trio
from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHash, VerificationError
from argon2.low_level import error_to_str

from ostiary_net.runtime.foreign_hashes import read_foreign_hash
from ostiary_net.runtime.system import EntropySource, RunSync, run_in_thread

OWASP: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
"""OWASP's recommendation: 19 MiB, two passes; about 25 ms of one core."""

_SALT_BYTES: Final = 16
_NO_MEMORY: Final = error_to_str(-22)
"""What argon2 says where it gets none (ARGON2_MEMORY_ALLOCATION_ERROR)."""
_FOREIGN_REMEMBERED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Whether a password was right, and its hash as it should be kept, where the one on file is not that."""

    matches: bool
    new_hash: str | None = field(default=None, repr=False)


class Passwords:
    """Hashes and verifies passwords, a few at a time.

    Each call waits for one of a few places, so that a flood of sign-ins costs the flood its own time and not
    everybody's memory.
    """

    def __init__(
        self,
        hasher: PasswordHasher = OWASP,
        *,
        entropy_source: EntropySource,
        run_sync: RunSync = run_in_thread,
        at_a_time: int | None = None,
        read_seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._hasher = hasher
        self._entropy_source = entropy_source
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(at_a_time or max(1, (os.cpu_count() or 1) - 1))
        self._read_seconds = read_seconds
        self._nobody: str | None = None
        self._foreign_seconds: deque[float] = deque(maxlen=_FOREIGN_REMEMBERED)
        """How long the latest hashes of other systems took."""

    async def hash(self, password: str) -> str:
        """Hash a password with a fresh salt; return the encoded hash to keep."""
        return await self._run_sync(partial(self._hash, password), limiter=self._limiter)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether `password` is the one that was hashed, here or by another system.

        With no hash it is False after the same work, so that time does not tell which names exist.
        """
        return (await self.verify_and_renew(password_hash, password)).matches

    async def verify_and_renew(self, password_hash: str | None, password: str) -> Verified:
        """Verify `password` and, where it is right and its hash not as a new one would be, hash it anew.

        Hashes of other systems take longer than our own: once any was verified, whatever is asked is answered
        no sooner than they lately were, so that time does not tell whose hash is one.
        """
        verified, seconds = await self._run_sync(
            partial(self._verify_timed, password_hash, password), limiter=self._limiter
        )
        if password_hash is not None and not self._is_up_to_date(password_hash):
            self._foreign_seconds.append(seconds)
        if self._foreign_seconds:
            await trio.sleep(max(0.0, max(self._foreign_seconds) - seconds))
        return verified

    def count_waiting(self) -> int:
        """How many calls wait for a place."""
        return self._limiter.statistics().tasks_waiting

    def _hash(self, password: str) -> str:
        return self._hasher.hash(_bytes(password), salt=self._entropy_source.draw()[:_SALT_BYTES])

    def _verify_timed(self, password_hash: str | None, password: str) -> tuple[Verified, float]:
        began = self._read_seconds()
        verified = self._verify(password_hash, password)
        return verified, self._read_seconds() - began

    def _verify(self, password_hash: str | None, password: str) -> Verified:
        if password_hash is None:
            if self._nobody is None:
                self._nobody = self._hash("")
            self._matches(self._nobody, password)
            return Verified(matches=False)
        if not self._matches(password_hash, password):
            return Verified(matches=False)
        renews = not self._is_up_to_date(password_hash)
        return Verified(matches=True, new_hash=self._hash(password) if renews else None)

    def _is_up_to_date(self, password_hash: str) -> bool:
        """Whether `password_hash` is as a new one would be: of our form, with our parameters."""
        try:
            return not self._hasher.check_needs_rehash(password_hash)
        except (InvalidHash, ValueError):
            return False

    def _matches(self, password_hash: str, password: str) -> bool:
        return any(self._matches_bytes(password_hash, spelling) for spelling in _spellings(password))

    def _matches_bytes(self, password_hash: str, password: bytes) -> bool:
        try:
            if not password_hash.startswith("$argon2"):
                foreign = read_foreign_hash(password_hash)
                return foreign is not None and foreign.matches(password)
            return self._hasher.verify(password_hash, password)
        except (VerificationError, ValueError) as error:  # ValueError: what is on file is no hash
            if str(error) == _NO_MEMORY:
                raise MemoryError from error  # nobody knows whether the password is right
            return False


def _bytes(password: str) -> bytes:
    """The bytes of a password in NFKC, as keyboards spell one character in several ways.

    NIST SP 800-63B §5.1.1.2.
    """
    return _encode(unicodedata.normalize("NFKC", password))


def _spellings(password: str) -> Iterator[bytes]:
    """What is tried of a password: NFKC, then as it was typed, as most other systems hash it."""
    normal, typed = _bytes(password), _encode(password)
    yield normal
    if typed != normal:
        yield typed


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
