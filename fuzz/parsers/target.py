"""What a target is: bytes in, and a judge that raises where the server reads them as it must not."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).with_name("corpus")
"""A folder for each target: inputs that were written by hand, or found."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader of the server."""

    name: str
    judge: Callable[[bytes], None]
    """Raises `AssertionError` where the reader and its oracle disagree."""
    pieces: tuple[bytes, ...]
    """What inputs are put together from."""

    @property
    def corpus(self) -> list[Path]:
        """The committed inputs."""
        return sorted((CORPUS / self.name).glob("*"))


def agree(read: object, expected: object, given: object) -> None:
    """What was read is what the oracle reads."""
    if read != expected:
        raise AssertionError(f"read {read!r}, and the oracle {expected!r}, of {given!r}")
