"""`ostiary` in processes forked from one that has imported it: each would take a second of a core for that.

Imported in that process too, so it imports little.
"""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["ostiary_web.cli.command_line"])


def start(words: Sequence[str], environment: Mapping[str, str], out: int, err: int) -> BaseProcess:
    """Start a command with these descriptors for its output, as this user; it ends with this process."""
    streams = [Connection(descriptor, readable=False) for descriptor in (out, err)]
    process = _FORKS.Process(target=_run, args=(words, environment, *streams), daemon=True)
    process.start()
    for stream in streams:
        stream.close()
    return process


def _run(words: Sequence[str], environment: Mapping[str, str], out: Connection, err: Connection) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in ((1, out), (2, err)):
        os.dup2(stream.fileno(), number)
        stream.close()
    # As those of a new process are: what stood here knows the files that it was opened for.
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
    sys.argv = ["ostiary", *words]

    from ostiary_web.__main__ import main

    main()
