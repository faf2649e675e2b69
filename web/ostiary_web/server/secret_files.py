"""Read a secret from a file of its own, as systemd and containers provide it."""

import os
import stat
import unicodedata
from pathlib import Path
from typing import Final

LONGEST_SECRET_FILE: Final = 8 * 1024
ALLOWED: Final = f"the path of a file with one line of text, of at most {LONGEST_SECRET_FILE} bytes"

UNSEEN_MARK: Final = "holds a control character or a byte order mark, which nobody types"


def read_secret_file(path: Path) -> str:
    """Return the file's only line, without its end; raise `ValueError` with its fault, never quoting it.

    Every process of a server reads it, so it must not be a pipe, which can be read only once.
    """
    try:
        text = read_whole_file(path, LONGEST_SECRET_FILE).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not text in UTF-8") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise ValueError(f"{str(path)!r} is empty")
    if any(mark in text for mark in "\n\r\x00"):
        raise ValueError(f"{str(path)!r} has more than one line")
    if has_unseen_mark(text):
        raise ValueError(f"{str(path)!r} {UNSEEN_MARK}")
    return text


def has_unseen_mark(text: str) -> bool:
    """Whether a secret has a character that nobody types, as an editor or shell adds at its ends."""
    return any(mark == "\ufeff" or unicodedata.category(mark) == "Cc" for mark in text)


def is_in_quotes(text: str) -> bool:
    """Whether a variable's value kept the quotes of its file, as `docker --env-file` has it.

    >>> is_in_quotes('"/srv/data"'), is_in_quotes("'x'"), is_in_quotes('7"'), is_in_quotes('"')
    (True, True, False, False)
    """
    return len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]


def read_whole_file(path: Path, longest: int) -> bytes:
    """Return a file of at most `longest` bytes; raise `ValueError` with its fault."""
    try:
        # A pipe that nobody writes to would hold the start up, but for O_NONBLOCK.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError(f"{str(path)!r} is not a file")
            content = os.read(descriptor, longest + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    if len(content) > longest:
        raise ValueError(f"{str(path)!r} is too large")
    return content


def is_there(path: Path) -> bool:
    """Whether the file exists, or reading it will tell why that is unknown."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


def is_world_readable(path: Path) -> bool:
    """Whether every user of the machine may read it; a group may be the server's own."""
    return bool(path.stat().st_mode & stat.S_IROTH)
