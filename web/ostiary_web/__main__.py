"""Run `ostiary` or `python -m ostiary_web`, or say which dependency is missing."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_FIRST_PROCESS = 1


def main() -> None:
    """Run the command line, which an installation of the core alone has without its dependencies."""
    if os.getpid() == _FIRST_PROCESS:
        # As a container's first process it gets no signal that it has no handler for (pid_namespaces(7)).
        signal.signal(signal.SIGTERM, _end)
    try:
        from ostiary_web.streams import open_standard_streams

        open_standard_streams()
        from ostiary_web.cli.command_line import main as command_line

        command_line()
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("ostiary"):
            raise
        sys.exit(f"ostiary: the command line needs {missing.name} and more: install the extra `server`")


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
