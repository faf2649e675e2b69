"""Read one sheet in a process with limits: `python -m ostiary_web.sheets.child`.

The file comes on standard input; its rows go to standard output as JSON. A sheet that needs more memory or
time ends this process, and the server goes on (`sheets/reader.py`).
"""

import contextlib
import resource
import signal
import sys
from pathlib import Path
from typing import Final

import msgspec

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.reading import read_sheet

MOST_MEMORY_BYTES: Final = 384 * 1024 * 1024
"""Most bytes of address space, of which less is used."""

_MOST_CPU_SECONDS: Final = 6
_FIRST_TO_DIE: Final = "1000"


def answer_to(content: bytes) -> bytes:
    """Return the content of a sheet as JSON for the server."""
    return msgspec.json.encode(read_sheet(content))


def main() -> None:
    """Read the sheet within the limits."""
    # The server decides when a sheet is not read to its end, also when all processes are asked to stop.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _set_limits()
    try:
        answer = answer_to(sys.stdin.buffer.read())
    except MemoryError:
        answer = msgspec.json.encode(FieldRule.SHEET_TOO_LARGE)
    sys.stdout.buffer.write(answer)


def _set_limits() -> None:
    for kind, most in (
        (resource.RLIMIT_AS, MOST_MEMORY_BYTES),
        (resource.RLIMIT_CPU, _MOST_CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))
    # If the machine itself has no memory left, Linux ends this process before the server.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_DIE)


if __name__ == "__main__":
    main()
