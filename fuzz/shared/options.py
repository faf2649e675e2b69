"""What the command line is given: numbers that mean something, files that can be read. How to ask again."""

import shlex
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

__all__ = ["at_least", "command", "read_file", "seconds"]

T = TypeVar("T")


def at_least(least: int) -> Callable[[str], int]:
    """A whole number for argparse, which refuses smaller ones."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ArgumentTypeError(f"expected a whole number from {least} on, got {text}")
        return value

    return number


def seconds(text: str) -> float:
    """A time for argparse, which refuses what is none."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"expected seconds, more than 0, got {text}")
    return value


def read_file(path: Path, read: Callable[[str], T]) -> T | None:
    """What `read` makes of a file; None where it cannot be read, and why is said on standard error."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        print(f"{path}: expected text in UTF-8", file=sys.stderr)
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
    except ValueError as error:
        print(f"{path}: {error}", file=sys.stderr)
    return None


def command(*words: object) -> str:
    """The line that asks for this, to be copied: with this very Python, as another lacks what it needs."""
    python, here = Path(sys.executable), Path.cwd()
    if python.is_relative_to(here):
        python = python.relative_to(here)
    return shlex.join([str(python), "-m", "fuzz", *map(str, words)])
