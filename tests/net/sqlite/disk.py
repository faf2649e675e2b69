"""A disk under SQLite that counts flushes, fails on demand, and loses writes that were not flushed.

    with Disk() as disk:
        store = SQLiteStore(path)      # every file opened inside the block is on this disk
        ...
        disk.lose_power(elsewhere, random)  # the files that a machine would find after a power cut

It is a VFS over the operating system's own one, so the files are real and other processes see them.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

_SECTOR = 512


@dataclass
class _Kept:
    """One file as it is on the disk, and the writes that are only in the cache."""

    flushed: bytearray = field(default_factory=bytearray)
    pending: list[Callable[[bytearray], None]] = field(default_factory=list)

    def flush(self) -> None:
        for operation in self.pending:
            operation(self.flushed)
        self.pending.clear()

    def after_power_loss(self, chance: random.Random) -> bytes:
        """Return what was flushed, and those later writes that happened to arrive."""
        survived = bytearray(self.flushed)
        for operation in self.pending:
            if chance.random() < 0.5:
                operation(survived)
        return bytes(survived)


def _write(offset: int, data: bytes) -> Callable[[bytearray], None]:
    def operation(content: bytearray) -> None:
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(data)] = data

    return operation


def _truncate(size: int) -> Callable[[bytearray], None]:
    def operation(content: bytearray) -> None:
        del content[size:]

    return operation


class _File(apsw.VFSFile):
    def __init__(self, disk: "Disk", filename: Any, flags: list[int]) -> None:
        super().__init__(disk.beneath, filename, flags)
        self._disk = disk
        self._kept = disk.file(filename.filename() if hasattr(filename, "filename") else filename)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 (SQLite's name)
        self._disk.operate("write")
        super().xWrite(data, offset)
        content = bytes(data)
        for start in range(0, len(content), _SECTOR):
            self._kept.pending.append(_write(offset + start, content[start : start + _SECTOR]))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.operate("truncate")
        super().xTruncate(newsize)
        self._kept.pending.append(_truncate(newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.operate("flush")
        super().xSync(flags)
        self._kept.flush()


class Disk(apsw.VFS):
    """A disk that holds all files which SQLite opens inside the block."""

    def __init__(self) -> None:
        self.flushes = 0
        self._files: dict[str, _Kept] = {}
        self._operations_until_failure: int | None = None
        self.beneath = apsw.vfs_names()[0]
        super().__init__("disk", self.beneath, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self._files.pop(filename, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.unregister()

    def file(self, name: str | None) -> _Kept:
        return self._files.setdefault(name or "", _Kept())

    def fail_after(self, operations: int | None) -> None:
        """Let this many more writes, truncations and flushes happen, and none after; None mends the disk."""
        self._operations_until_failure = operations

    def operate(self, what: str) -> None:
        if what == "flush":
            self.flushes += 1
        if self._operations_until_failure is None:
            return
        if self._operations_until_failure == 0:
            raise apsw.FullError("the disk is full") if what == "write" else apsw.IOError("the disk failed")
        self._operations_until_failure -= 1

    def lose_power(self, folder: Path, chance: random.Random) -> None:
        """Write every file into `folder` as it would be after a power cut at this moment."""
        for name, kept in self._files.items():
            if name:
                content = kept.after_power_loss(chance)
                if content:
                    (folder / Path(name).name).write_bytes(content)
