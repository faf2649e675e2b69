"""`python -m fuzz races` on the command line."""

import argparse
import os
from typing import Any

from fuzz.processes import races as campaign
from fuzz.shared.options import at_least, seconds

__all__ = ["add_command"]


def add_command(commands: "argparse._SubParsersAction[Any]") -> None:
    """Say what may be asked for."""
    races = commands.add_parser("races", help="twenty at once for one code or token, on real processes")
    races.add_argument("--rounds", type=at_least(1), default=300)
    races.add_argument("--seed", type=int, default=None)
    races.add_argument("--workers", type=at_least(1), default=3)
    races.add_argument("--seconds", type=seconds, default=None, help="stop after so many")
    races.add_argument("--postgres", default="", metavar="URL", help="on a database of its own there")
    races.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    seed = int.from_bytes(os.urandom(4)) if asked.seed is None else asked.seed
    return campaign.run(
        seed, asked.rounds, workers=asked.workers, seconds=asked.seconds, postgres=asked.postgres
    )
