"""The tests of the published faults, found by their mark."""

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.advisories.published import faults_of

__all__ = ["Trial", "trials"]


class Trial(NamedTuple):
    """A test, and the faults that it shows to be absent."""

    file: str
    name: str
    identifiers: tuple[str, ...]


def trials() -> list[Trial]:
    """All of them, in the order of their files."""
    found = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = import_module(f"tests.advisories.{path.stem}")
        for name, test in vars(module).items():
            if name.startswith("test_") and faults_of(test):
                found.append(Trial(f"tests/advisories/{path.name}", name, faults_of(test)))
    return found
