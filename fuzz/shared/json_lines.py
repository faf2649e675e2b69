"""Read and write files that can be run again: a header, then one JSON object in each line."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

H = TypeVar("H")
L = TypeVar("L")


def write_lines(header: msgspec.Struct, lines: Iterable[msgspec.Struct]) -> str:
    """Return the text of a file."""
    return "".join(f"{msgspec.json.encode(each).decode()}\n" for each in (header, *lines))


def read_lines(
    text: str, header: type[H], line: type[L], check: Callable[[L | None, L], None]
) -> tuple[H, list[L]]:
    """Return the header and lines of a file. Raises `ValueError` with the number of a wrong line.

    `check` raises `ValueError` if a line may not follow the line before it. Empty lines are ignored; unknown
    fields are errors.
    """
    heads: list[H] = []
    lines: list[L] = []
    for place, content in enumerate(text.splitlines(), 1):
        try:
            if content.strip() and not heads:
                heads.append(msgspec.json.decode(content, type=header))
            elif content.strip():
                decoded = msgspec.json.decode(content, type=line)
                check(lines[-1] if lines else None, decoded)
                lines.append(decoded)
        except (msgspec.MsgspecError, ValueError) as error:
            raise ValueError(f"line {place}: {error}") from None
    if not heads:
        raise ValueError("expected a first line that names the world or the seed, got nothing")
    return heads[0], lines
