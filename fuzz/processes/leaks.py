"""Looks through files for the text of tokens, codes and secrets, however many bytes and however many texts.

Tokens have one length and one alphabet, so every stretch of that alphabet is cut into pieces of that length
and each piece is looked up. What is of another length (a password) is searched for as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fuzz.processes.api import InvariantBroken
from fuzz.shared.invariants import NO_SECRETS

_STRETCH: Final = re.compile(rb"[A-Za-z0-9_-]{20,}")
_SHORTEST: Final = 20


def look_for_secrets(files: Iterable[Path], secrets: Iterable[str]) -> None:
    """Raises `InvariantBroken` where a file holds one."""
    for file in files:
        if leaks := count_leaks(file.read_bytes(), secrets):
            raise InvariantBroken(f"{file.name} holds the text of {leaks} secrets", NO_SECRETS)


def count_leaks(content: bytes, secrets: Iterable[str]) -> int:
    """How many of the secrets stand in `content`.

    >>> count_leaks(b"..." + b"x" * 43 + b"yz", ["x" * 42 + "y", "q" * 43, "a password"])
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
