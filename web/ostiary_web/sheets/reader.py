"""Have sheets read by a process for each, so that a hostile one costs only its own import.

The process is started anew, not forked: it has none of the server's connections, files or threads, and of its
environment no more than leads to the same code. It gets the file on its standard input and answers in JSON,
which can hold nothing but rows or the name of a rule.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import structlog
import trio

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets import child
from ostiary_web.sheets.cells import Row, Sheet

_log = structlog.get_logger("ostiary")

ReadSheet = Callable[[bytes], Awaitable[Sheet]]
"""Reads an uploaded file."""

_AT_A_TIME: Final = 2
_MOST_SECONDS_FOR_A_PLACE: Final = 3
MOST_READING_SECONDS: Final = 6
"""Longest reading of one sheet; with the wait for a place it is within 10 s (READINGS 47)."""

_LONGEST_ANSWER: Final = 32 * 1024 * 1024
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "PYTHONHOME")
"""Variables that Python itself may need to start."""

_ANSWER: Final = tuple[Row, ...] | FieldRule


class SheetReader:
    """Reads each sheet in a process of its own, a few at a time; `read` is a `ReadSheet`."""

    def __init__(
        self,
        *,
        most_seconds: float = MOST_READING_SECONDS,
        most_seconds_for_a_place: float = _MOST_SECONDS_FOR_A_PLACE,
    ) -> None:
        self._most_seconds = most_seconds
        self._most_seconds_for_a_place = most_seconds_for_a_place
        self._places = trio.CapacityLimiter(_AT_A_TIME)

    async def read(self, content: bytes) -> Sheet:
        """Return the content of a sheet; `SHEET_TOO_LARGE` if it costs too much.

        Raises `trio.TooSlowError` if others keep all places, `OSError` if no process can be started.
        """
        with trio.fail_after(self._most_seconds_for_a_place):
            await self._places.acquire()
        try:
            process = await _start()
            try:
                answer = b""
                with trio.move_on_after(self._most_seconds):
                    answer = await _exchange(process, content)
                    await process.wait()
            finally:
                # Also if the client is gone or the server stops.
                await _end(process)
        finally:
            self._places.release()
        code = process.returncode
        if code == 0 and answer:
            return _decode(answer)
        # By its own fault a process ends with another code than 0; for what it cost it is killed.
        is_too_large = code is None or code <= 0
        _log.warning("a sheet was not read to its end", exit_code=code)
        return FieldRule.SHEET_TOO_LARGE if is_too_large else FieldRule.SHEET


async def _start() -> trio.Process:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return await trio.lowlevel.open_process(
        [sys.executable, "-P", "-m", child.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a fault may quote the sheet
        env={**kept, "PYTHONPATH": os.pathsep.join(_import_folders())},
        start_new_session=True,
    )


def _import_folders() -> list[str]:
    """Return the folders this process imports from, without the one `python -m` was started in (CWE-427)."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    first = sys.path[:1] if sys.flags.safe_path or sys.path[0] in given else []
    return [folder for folder in (*first, *sys.path[1:]) if folder]


async def _exchange(process: trio.Process, content: bytes) -> bytes:
    """Send the file and return the answer, an empty one if it is too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    answer = bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send, process.stdin, content)
        async for piece in process.stdout:
            answer += piece
            if len(answer) > _LONGEST_ANSWER:
                process.kill()
                answer.clear()
                break
    return bytes(answer)


async def _send(stream: trio.abc.SendStream, content: bytes) -> None:
    async with stream:
        with contextlib.suppress(trio.BrokenResourceError):  # it ended before it had read everything
            await stream.send_all(content)


async def _end(process: trio.Process) -> None:
    with trio.CancelScope(shield=True):
        process.kill()
        await process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                await stream.aclose()


def _decode(answer: bytes) -> Sheet:
    return msgspec.json.decode(answer, type=_ANSWER)


async def read_sheet_in_place(content: bytes) -> Sheet:
    """Read a sheet in this process, for a virtual clock, which does not see other processes work."""
    await trio.lowlevel.checkpoint()
    return _decode(child.answer_to(content))
