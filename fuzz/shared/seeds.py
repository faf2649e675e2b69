"""One number decides a run: it seeds the choices, the entropy and the bearer values."""

from hashlib import sha256
from random import Random

from ostiary_core.model.secret import Entropy


def choices(seed: int, world: int) -> Random:
    """Return the source of all choices in one world; the same in every process and on every machine."""
    return Random(f"{seed}/{world}")


def entropy(world: str, number: int) -> bytes:
    """Return the 32 bytes of entropy of step `number`.

    They depend on the step's number and not on its place, so that its tokens stay the same when other steps
    are deleted.
    """
    return sha256(f"entropy {world} {number}".encode()).digest()


def nonsense(what: str) -> str:
    """Return a well-formed bearer value that was never issued."""
    return sha256(b"nonsense " + what.encode()).hexdigest()[:43]


class SeededEntropy:
    """A source of entropy with the same draws in every run for one name, all of them different."""

    def __init__(self, name: str = "a seed") -> None:
        self._name = name
        self._drawn = 0

    def draw(self) -> Entropy:
        """Return 32 bytes."""
        self._drawn += 1
        return Entropy(sha256(f"{self._name} {self._drawn}".encode()).digest())
