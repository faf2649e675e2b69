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
_FORKS.set_forkserver_preload(["ostiary_web.cli.command_line", "ostiary_web.cli.serving"])


def start(
    words: Sequence[str], environment: Mapping[str, str], out: int, err: int, inherits: Sequence[int]
) -> BaseProcess:
    """Start a command in a session of its own, with these descriptors for its output and these others by
    their numbers; it ends with this process."""
    streams = {1: out, 2: err, **{number: number for number in inherits}}
    given = {number: Connection(os.dup(descriptor)) for number, descriptor in streams.items()}
    process = _FORKS.Process(target=_run, args=(words, environment, given), daemon=True)
    process.start()
    for stream in given.values():
        stream.close()
    return process


def _run(words: Sequence[str], environment: Mapping[str, str], given: Mapping[int, Connection]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in given.items():
        if stream.fileno() != number:
            os.dup2(stream.fileno(), number)
            stream.close()
        os.set_inheritable(number, True)
    # As those of a new process are: what stood here knows the files that it was opened for.
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
    sys.argv = ["ostiary", *words]

    from ostiary_web.__main__ import main

    main()
