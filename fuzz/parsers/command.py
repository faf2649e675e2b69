"""`python -m fuzz parsers` on the command line."""

import argparse
import os
import sys
from typing import Any

from fuzz.shared.options import seconds

__all__ = ["add_command"]


def add_command(commands: "argparse._SubParsersAction[Any]") -> None:
    """Say what may be asked for."""
    parsers = commands.add_parser("parsers", help="what strangers send, judged by readers of another kind")
    parsers.add_argument("--seconds", type=seconds, default=20.0, help="over all targets")
    parsers.add_argument("--target", action="append", default=[], metavar="NAME", help="only this one")
    parsers.add_argument("--seed", type=int, default=None)
    parsers.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    from fuzz.parsers import running  # the server's faces are imported where they are fuzzed

    try:
        for name in asked.target:
            running.target_named(name)
    except LookupError as unknown:
        print(f"--target: {unknown}", file=sys.stderr)
        return 2
    seed = int.from_bytes(os.urandom(4)) if asked.seed is None else asked.seed
    return running.run(asked.target, seed, asked.seconds)
