"""Disks for single machines: small file systems that can stand still, be full, and break.

Only root may make one, and only if the kernel has loop devices.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fuzz.processes.keeper import Keeper

_BYTES: Final = 1 << 32
"""Size in bytes, mostly holes: rewinding a primary copies the new primary's log, up to a gigabyte."""
_BALLAST: Final = "ballast"


class Disk:
    """One disk, mounted on a folder; removed with the keeper."""

    def __init__(self, keeper: Keeper, folder: Path, most_bytes: int = _BYTES) -> None:
        self.folder = folder
        self._image = folder.with_suffix(".img")
        with self._image.open("wb") as file:
            file.truncate(most_bytes)
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        keeper.run_last(["fsfreeze", "--unfreeze", str(folder)])
        keeper.run_last(["umount", "--lazy", str(folder)])
        self._mount()

    def _mount(self) -> None:
        _run("mount", "-o", "loop,errors=remount-ro", str(self._image), str(self.folder))

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Block every writer until the block ends."""
        _run("fsfreeze", "--freeze", str(self.folder))
        try:
            yield
        finally:
            _run("fsfreeze", "--unfreeze", str(self.folder))

    def fill(self) -> None:
        """Fill it to the last byte."""
        with (self.folder / _BALLAST).open("ab") as file:
            while (room := os.statvfs(self.folder)).f_bavail:
                length = (room.f_bavail + 1) // 2 * room.f_frsize
                try:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, length)
                except OSError:  # the rest is reserved for the file system itself
                    break

    def clear(self) -> None:
        """Free the space again."""
        (self.folder / _BALLAST).unlink(missing_ok=True)

    def break_down(self) -> None:
        """Let the kernel find an error in it and mount it read-only."""
        device = Path(_run("findmnt", "-no", "SOURCE", str(self.folder)).strip()).name
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1", encoding="utf-8")

    def repair(self) -> None:
        """Repair it when no process uses it any more, and mount it again."""
        _run("umount", str(self.folder))
        # A non-zero exit code means that it found something.
        subprocess.run(["e2fsck", "-fy", self._image], check=False, capture_output=True)
        self._mount()


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
