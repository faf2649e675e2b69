"""Hashes user passwords with argon2id, off the event loop, a bounded number at a time (READINGS 20)."""

import os
import unicodedata
from functools import partial
from typing import Final

import trio
from argon2 import PasswordHasher, Type
from argon2.exceptions import VerificationError

from ostiary_net.runtime.system import EntropySource, RunSync, run_in_thread

OWASP: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
"""OWASP's recommendation: 19 MiB, two passes; about 25 ms of one core."""

_SALT_BYTES: Final = 16


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
    ) -> None:
        self._hasher = hasher
        self._entropy_source = entropy_source
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(at_a_time or max(1, (os.cpu_count() or 1) - 1))
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        """Hash a password with a fresh salt; return the encoded hash to keep."""
        return await self._run_sync(partial(self._hash, password), limiter=self._limiter)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether `password` is the one that was hashed.

        With no hash it is False after the same work, so that time does not tell which names exist.
        """
        return await self._run_sync(partial(self._matches, password_hash, password), limiter=self._limiter)

    def count_waiting(self) -> int:
        """How many calls wait for a place."""
        return self._limiter.statistics().tasks_waiting

    def _hash(self, password: str) -> str:
        return self._hasher.hash(_bytes(password), salt=self._entropy_source.draw()[:_SALT_BYTES])

    def _matches(self, password_hash: str | None, password: str) -> bool:
        if password_hash is None:
            if self._nobody is None:
                self._nobody = self._hash("")
            self._verify(self._nobody, password)
            return False
        return self._verify(password_hash, password)

    def _verify(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, _bytes(password))
        except (VerificationError, ValueError):  # ValueError: what is on file is no hash
            return False


def _bytes(password: str) -> bytes:
    """The bytes of a password in NFKC, as keyboards spell one character in several ways.

    NIST SP 800-63B §5.1.1.2.
    """
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
