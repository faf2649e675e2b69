"""Looks through files for the text of tokens, codes and secrets, however long the file and however many.

Tokens have one length and one alphabet, so every stretch of that alphabet is cut into pieces of that length
and each piece is looked up. What is of another length (a password) is searched for as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["leaks_in", "told_in_file"]

_STRETCH: Final = re.compile(rb"[A-Za-z0-9_-]{20,}")
_SHORTEST: Final = 20
_OVERLAP: Final = 4_096


def leaks_in(content: bytes, secrets: Iterable[str]) -> int:
    """How many of the secrets stand in `content`.

    >>> leaks_in(b"..." + b"x" * 43 + b"yz", ["x" * 42 + "y", "q" * 43, "a password"])
    1
    """
    by_length: dict[int, set[bytes]] = defaultdict(set)
    others: set[bytes] = set()
    for secret in secrets:
        raw = secret.encode()
        if len(raw) >= _SHORTEST and _STRETCH.fullmatch(raw):
            by_length[len(raw)].add(raw)
        else:
            others.add(raw)
    found = {raw for raw in others if raw in content}
    for match in _STRETCH.finditer(content):
        stretch = match[0]
        for length, wanted in by_length.items():
            for start in range(len(stretch) - length + 1):
                piece = stretch[start : start + length]
                if piece in wanted:
                    found.add(piece)
    return len(found)


def told_in_file(path: Path, secrets: Iterable[str], start: int = 0) -> tuple[int, int]:
    """How many of the secrets stand in a file behind `start`, and how long the file is."""
    if not path.exists():
        return 0, 0
    with path.open("rb") as file:
        file.seek(max(0, start - _OVERLAP))
        content = file.read()
        return leaks_in(content, secrets), file.tell()
