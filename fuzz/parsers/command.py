"""`python -m fuzz parsers` on the command line."""

import argparse
import os
from typing import Any

__all__ = ["add_command"]


def add_command(commands: "argparse._SubParsersAction[Any]") -> None:
    """Say what may be asked for."""
    parsers = commands.add_parser("parsers", help="what strangers send, judged by readers of another kind")
    parsers.add_argument("--seconds", type=float, default=20.0, help="over all targets")
    parsers.add_argument("--target", action="append", default=[], metavar="NAME", help="only this one")
    parsers.add_argument("--seed", type=int, default=None)
    parsers.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    from fuzz.parsers import running  # the server's faces are imported where they are fuzzed

    seed = int.from_bytes(os.urandom(4)) if asked.seed is None else asked.seed
    return running.run(asked.target, seed, asked.seconds)
