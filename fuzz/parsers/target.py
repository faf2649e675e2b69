"""A target: a judge of bytes that raises if the server reads them wrongly."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PIECES: Final = (rb"[^\n]*\n?", rb"[^\n;]*[\n;]", rb"[\w./+-]+", rb"\w+", rb"\W")
CORPUS: Final = Path(__file__).with_name("corpus")
"""Folder with a folder for each target: inputs written by hand, or found."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader of the server."""

    name: str
    judge: Callable[[bytes], None]
    """Function that raises `AssertionError` if the reader and its oracle disagree."""

    @property
    def corpus(self) -> list[Path]:
        """Files of the committed inputs."""
        return sorted((CORPUS / self.name).glob("*"))

    @property
    def pieces(self) -> list[bytes]:
        """Pieces to build new inputs from: lines, parts, words and signs of the committed ones."""
        whole = b"\n".join(path.read_bytes() for path in self.corpus if path.suffix != ".xlsx")
        return sorted({piece for pattern in _PIECES for piece in re.findall(pattern, whole)} - {b""})


def require_same(read: object, expected: object, given: object) -> None:
    """Require that the reader and the oracle read the same."""
    if read != expected:
        raise AssertionError(f"read {read!r}, and the oracle {expected!r}, of {given!r}")
