"""`python -m fuzz.processes.fallible`: `ostiary` on a machine with a controlled clock and disk.

The fault is set in a small file that the campaign and the server both map into their memory. The server is
not changed: the function that returns the wall time is replaced, and SQLite opens its files through a layer
in which writes or flushes fail.
"""

import mmap
import os
import threading
import time
from enum import IntEnum
from pathlib import Path
from struct import Struct
from typing import Any, Final

import apsw

FILE: Final = "OSTIARY_FUZZ_MACHINE"
"""Environment variable with the name of the file."""
MODULE: Final = "fuzz.processes.fallible"
_STATE: Final = Struct("<qq")
_STACK_BYTES: Final = 2**20
"""Stack size of a thread: the usual 8 MiB count as used from the start (setrlimit(2), RLIMIT_DATA)."""


class Fails(IntEnum):
    """The operations of the disk that fail."""

    NOTHING = 0
    WRITES = 1
    FLUSHES = 2


class Machine:
    """The clock and the disk: a fault set in one process takes effect in the other at once."""

    def __init__(self, file: Path) -> None:
        with file.open("a+b") as opened:
            opened.truncate(_STATE.size)
            self._state = mmap.mmap(opened.fileno(), _STATE.size)

    @property
    def clock_ns(self) -> int:
        """Error of the wall clock, in nanoseconds."""
        return int(_STATE.unpack(self._state)[0])

    @property
    def fails(self) -> Fails:
        return Fails(_STATE.unpack(self._state)[1])

    def set(self, *, clock_seconds: int = 0, fails: Fails = Fails.NOTHING) -> None:
        """Set these faults and end all others."""
        _STATE.pack_into(self._state, 0, clock_seconds * 10**9, fails)


def _set_clock(machine: Machine) -> None:
    """Replace the clock before the server is imported, as modules keep the function they import."""
    right_ns, right = time.time_ns, time.time
    time.time_ns = lambda: right_ns() + machine.clock_ns
    time.time = lambda: right() + machine.clock_ns / 10**9


class _File(apsw.VFSFile):
    def __init__(self, machine: Machine, beneath: str, filename: Any, flags: list[int]) -> None:
        super().__init__(beneath, filename, flags)
        self._machine = machine

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 (SQLite's name)
        if self._machine.fails is Fails.WRITES:
            raise apsw.IOError("a write failed")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._machine.fails is Fails.FLUSHES:
            raise apsw.IOError("a flush failed")
        super().xSync(flags)


class _FallibleDisk(apsw.VFS):
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._beneath = apsw.vfs_names()[0]
        super().__init__("fallible", self._beneath, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802
        return _File(self._machine, self._beneath, name, flags)


def main() -> None:
    """Run the server, which ends the process; never return."""
    machine = Machine(Path(os.environ[FILE]))
    _set_clock(machine)
    disk = _FallibleDisk(machine)
    threading.stack_size(_STACK_BYTES)
    from fuzz.processes.planted import main as ostiary

    ostiary()
    del disk


if __name__ == "__main__":
    main()
