"""`python -m fuzz.processes.warm`: imports the server once, then forks a process for every line of its input.

A line is JSON with `environment` and `log`; the process id of the child is the answer. The child has a
session, an environment and an output of its own, and calls what `ostiary serve` calls.
"""

import json
import os
import signal
import sys
from typing import Any

from fuzz.processes.faults import plant_named
from ostiary_web.cli.command_line import main as ostiary


def main() -> None:
    """Fork until the input ends."""
    # A child that ended leaves nothing that somebody would have to ask for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _serve(order)
        os.write(1, b"%d\n" % pid)


def _serve(order: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(nothing)
    os.close(log)
    os.environ.update(order["environment"])
    try:
        with plant_named():
            ostiary(["serve"])
    finally:
        sys.stdout.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
