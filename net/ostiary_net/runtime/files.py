"""Keeps uploaded files on disk: complete or not at all, under names that only this module makes.

A name is a digest of the content under a key drawn for the upload, so that every upload has its own file. A
digest of the content alone would give all who upload one picture the same file: it could never be removed,
and a request for its name would tell that somebody has uploaded it.
"""

import errno
import hmac
import os
import pwd
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import structlog
import trio

from ostiary_net.runtime.system import EntropySource, RunSync, run_in_thread

_log = structlog.get_logger("ostiary")

T = TypeVar("T")

_NAME: Final = re.compile(r"[0-9a-f]{64}\.[a-z]{1,8}", re.ASCII)
_AT_A_TIME: Final = 4


class Files:
    """Keeps the files of one folder, which the first one creates."""

    def __init__(
        self, folder: Path, *, entropy_source: EntropySource, run_sync: RunSync = run_in_thread
    ) -> None:
        self.folder = folder
        self._entropy_source = entropy_source
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(_AT_A_TIME)

    async def keep(self, content: bytes, ending: str) -> str:
        """Store `content` durably and return its name. Raises `OSError`."""
        digest = hmac.digest(self._entropy_source.draw(), content, "sha256").hex()
        name = f"{digest}.{ending}"
        await self._run(partial(_write, self.folder, name, content))
        return name

    async def read(self, name: str) -> bytes | None:
        """Read a file's content; None for a name that no file has."""
        if _NAME.fullmatch(name) is None:
            return None
        return await self._run(partial(_read, self.folder / name))

    async def remove(self, name: str) -> None:
        """Remove the file of that name, if there is one; log a failure of the disk."""
        if _NAME.fullmatch(name) is None:
            return
        try:
            await self._run(partial((self.folder / name).unlink, missing_ok=True))
        except OSError as error:
            _log.warning("file not removed", file=name, cause=type(error).__name__)

    async def _run(self, work: Callable[[], T]) -> T:
        return await self._run_sync(work, limiter=self._limiter)


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write a file under another name, flush it and rename it: so no power cut leaves half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{name}"
    try:
        unfinished.write_bytes(content)
        flush_to_disk(unfinished)
        unfinished.replace(folder / name)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    flush_to_disk(folder)


def create_for_owner_of(place: Path, path: Path) -> None:
    """Create an empty file that only the owner of `place` can read. Raises `FileExistsError`."""
    # O_EXCL follows no link that somebody laid there (open(2)).
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.geteuid() == 0:  # or the server, which runs as another user, could not open what root made
            found = os.stat(place)
            with suppress(OSError):  # a file system without owners
                os.fchown(descriptor, found.st_uid, found.st_gid)
    finally:
        os.close(descriptor)


def give_free_name(unfinished: Path, path: Path) -> None:
    """Give a file that is whole and flushed its name, in the same folder, unless another has it.

    Raises `FileExistsError`, in all but one of the processes that give one name at a time, and `OSError`.
    """
    try:
        os.link(unfinished, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_to_free_name(unfinished, path)
    else:
        unfinished.unlink()


_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS})
"""What file systems without hard links say (link(2)): exFAT, CIFS, Azure Files."""
_NO_FLAGS: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})
"""What says that a file system cannot be asked to rename only to a name that is free (rename(2))."""
_AT_FDCWD: Final = -100
_RENAME_NOREPLACE: Final = 1


def _rename_to_free_name(unfinished: Path, path: Path) -> None:
    import ctypes  # not needed anywhere else

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        if not rename(_AT_FDCWD, bytes(unfinished), _AT_FDCWD, bytes(path), _RENAME_NOREPLACE):
            return
        code = ctypes.get_errno()
        if code not in _NO_FLAGS:
            raise OSError(code, os.strerror(code), str(path))
    # The name is taken empty, so that no other process can take it, and then given to the whole file.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        unfinished.replace(path)
    except OSError:
        path.unlink()
        raise


def read_owner(path: Path) -> str:
    """Return the name of a file's owner, or the number of one without a name."""
    return find_user_name(os.stat(path).st_uid)


def find_user_name(uid: int) -> str:
    """Return the name of a system user, or the number of one without a name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
