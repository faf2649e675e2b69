"""`python -m fuzz crash` on the command line."""

import argparse
import os
from typing import Any

from fuzz.processes import crashes as campaign
from fuzz.shared.options import at_least, seconds

__all__ = ["add_command"]


def add_command(commands: "argparse._SubParsersAction[Any]") -> None:
    """Say what may be asked for."""
    crash = commands.add_parser("crash", help="kill the real server under load, again and again")
    crash.add_argument("--kills", type=at_least(1), default=20)
    crash.add_argument("--seed", type=int, default=None, help="what is asked, and when it is killed")
    crash.add_argument("--seconds", type=seconds, default=None, help="stop after so many")
    crash.add_argument("--world", type=at_least(0), default=None, help="only this world of the seed")
    crash.add_argument(
        "--warm", action="store_true", help="fork servers from one that has imported everything"
    )
    crash.set_defaults(run=_run)


def _run(asked: argparse.Namespace) -> int:
    seed = int.from_bytes(os.urandom(4)) if asked.seed is None else asked.seed
    return campaign.run(
        seed,
        asked.kills,
        seconds=asked.seconds,
        warm=asked.warm,
        only_world=asked.world,
    )
