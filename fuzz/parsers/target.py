"""What a target is: bytes in, and a judge that raises where the server reads them as it must not."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PIECES: Final = (rb"[^\n]*\n?", rb"[^\n;]*[\n;]", rb"[\w./+-]+", rb"\w+", rb"\W")
CORPUS: Final = Path(__file__).with_name("corpus")
"""A folder for each target: inputs that were written by hand, or found."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader of the server."""

    name: str
    judge: Callable[[bytes], None]
    """Raises `AssertionError` where the reader and its oracle disagree."""

    @property
    def corpus(self) -> list[Path]:
        """The committed inputs."""
        return sorted((CORPUS / self.name).glob("*"))

    @property
    def pieces(self) -> list[bytes]:
        """What new inputs are put together from: lines, parts, words and signs of the committed ones."""
        whole = b"\n".join(path.read_bytes() for path in self.corpus if path.suffix != ".xlsx")
        return sorted({piece for pattern in _PIECES for piece in re.findall(pattern, whole)} - {b""})


def agree(read: object, expected: object, given: object) -> None:
    """What was read is what the oracle reads."""
    if read != expected:
        raise AssertionError(f"read {read!r}, and the oracle {expected!r}, of {given!r}")
