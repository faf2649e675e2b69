"""One number decides everything: how it becomes a source of choices, of entropy and of bearer values."""

from hashlib import sha256
from random import Random

from ostiary_core.model.secret import Entropy


def choices(seed: int, world: int) -> Random:
    """The source of all choices in one world; the same in every process and on every machine."""
    return Random(f"{seed}/{world}")


def entropy(world: str, number: int) -> bytes:
    """The 32 bytes that step `number` brings along.

    They depend on the step's own number and not on its place, so that deleting other steps leaves what
    it mints as it was.
    """
    return sha256(f"entropy {world} {number}".encode()).digest()


def nonsense(what: str) -> str:
    """A well-formed bearer value that nobody ever issued."""
    return sha256(b"nonsense " + what.encode()).hexdigest()[:43]


class SeededEntropy:
    """The same draws in every run for one name, no two of them alike."""

    def __init__(self, name: str = "a seed") -> None:
        self._name = name
        self._drawn = 0

    def draw(self) -> Entropy:
        """32 bytes."""
        self._drawn += 1
        return Entropy(sha256(f"{self._name} {self._drawn}".encode()).digest())
