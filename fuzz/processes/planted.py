"""`python -m fuzz.processes.planted`: `ostiary` and its workers, with the fault named in the environment."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import trio

from fuzz.processes.faults import plant_named
from ostiary_web.__main__ import main as ostiary

MODULE = "fuzz.processes.planted"


def main() -> None:
    """Run the server, which ends the process; never return."""
    open_process = trio.lowlevel.open_process

    async def open_planted(command: Sequence[str], **options: Any) -> trio.Process:
        # Without -P, as `fuzz` is not installed but found in the starting folder.
        planted = [MODULE if word == "ostiary_web" else word for word in command if word != "-P"]
        return await open_process(planted, **options)

    with plant_named(), patch("trio.lowlevel.open_process", open_planted):
        ostiary()


if __name__ == "__main__":
    main()
