"""The lock that makes writers of several processes take turns.

SQLite alone keeps two writers correct but not fair: whoever waits for its write lock sleeps and asks again,
and a busy neighbour is always quicker (measured: 4,975 turns to 1). `flock` puts waiters to sleep in the
kernel and wakes them when the lock is free. It is about fairness only: every turn still begins with
`BEGIN IMMEDIATE`, so a lost lock file costs speed and nothing else.
"""

import fcntl
import os
from pathlib import Path

__all__ = ["WriterLock"]


class WriterLock:
    """An exclusive lock on a file beside the database, freed by the kernel when its holder dies.

    Each object has a lock of its own, also within one process; one object is for one thread at a time.
    Waiting has no limit of its own: a holder that lives is one that is committing.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> None:
        """Wait for the lock."""
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def take_at_once(self) -> bool:
        """Take the lock if nobody has it; False where somebody does."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def let_go(self) -> None:
        """Let go of the lock, and wake whoever waits for it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock file. It stays on the disk, as another process may be waiting on it."""
        os.close(self._file)
