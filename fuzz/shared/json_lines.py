"""Files that can be run again: a header and then one JSON object a line, refused where they say more."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

H = TypeVar("H")
L = TypeVar("L")


def write_lines(header: msgspec.Struct, lines: Iterable[msgspec.Struct]) -> str:
    """The text of a file."""
    return "".join(f"{msgspec.json.encode(each).decode()}\n" for each in (header, *lines))


def read_lines(
    text: str, header: type[H], line: type[L], check: Callable[[L | None, L], None]
) -> tuple[H, list[L]]:
    """What a file says; `check` raises `ValueError` where a line may not stand behind the one before.

    Empty lines say nothing. Raises `ValueError`, which names the line.
    """
    heads: list[H] = []
    lines: list[L] = []
    for place, said in enumerate(text.splitlines(), 1):
        try:
            if said.strip() and not heads:
                heads.append(msgspec.json.decode(said, type=header))
            elif said.strip():
                found = msgspec.json.decode(said, type=line)
                check(lines[-1] if lines else None, found)
                lines.append(found)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ValueError(f"line {place}: {error}") from None
    if not heads:
        raise ValueError("expected a first line that names the world or the seed, got nothing")
    return heads[0], lines
