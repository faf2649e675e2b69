"""Disks of their own for machines: file systems of limited size, which can stand still and be full.

Only root may make one, and only where the kernel has loop devices; everywhere else there are none.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fuzz.processes.keeper import Keeper

_BYTES: Final = 1 << 32
"""Mostly holes. To rewind a primary copies the log of the new one, which may be a gigabyte."""
_BALLAST: Final = "ballast"


class Disk:
    """One, mounted on a folder; gone with the keeper."""

    def __init__(self, keeper: Keeper, folder: Path) -> None:
        self.folder = folder
        image = folder.with_suffix(".img")
        with image.open("wb") as file:
            file.truncate(_BYTES)
        _run("mkfs.ext4", "-q", "-m", "0", str(image))
        keeper.run_last(["fsfreeze", "--unfreeze", str(folder)])
        keeper.run_last(["umount", "--lazy", str(folder)])
        _run("mount", "-o", "loop", str(image), str(folder))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Whoever writes to it waits."""
        _run("fsfreeze", "--freeze", str(self.folder))
        try:
            yield
        finally:
            _run("fsfreeze", "--unfreeze", str(self.folder))

    def fill(self) -> None:
        """Leave no room on it."""
        with (self.folder / _BALLAST).open("ab") as file:
            while (room := os.statvfs(self.folder)).f_bavail:
                length = (room.f_bavail + 1) // 2 * room.f_frsize
                try:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, length)
                except OSError:  # what is left is for its own records
                    break

    def clear(self) -> None:
        """Give the room back."""
        (self.folder / _BALLAST).unlink(missing_ok=True)


def make_disks(keeper: Keeper, folders: list[Path]) -> list[Disk]:
    """One for each folder; none where there cannot be any."""
    if os.geteuid() != 0:
        return []
    try:
        return [Disk(keeper, folder) for folder in folders]
    except (OSError, subprocess.SubprocessError):
        return []


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)
