"""A secret in a file of its own, as systemd, containers and other keepers of secrets hand it in."""

import os
import stat
import unicodedata
from pathlib import Path
from typing import Final

LONGEST_SECRET_FILE: Final = 8 * 1024
ALLOWED: Final = f"the path of a file with one line of text, of at most {LONGEST_SECRET_FILE} bytes"

UNSEEN_MARK: Final = "holds a control character or a byte order mark, which nobody types"


def read_secret_file(path: Path) -> str:
    """The one line in the file, without the end of the line; raises `ValueError` with what is wrong, which
    quotes none of it.

    Every process of a server reads it, so it is a file and no pipe, which could be read only once.
    """
    try:
        text = read_whole_file(path, LONGEST_SECRET_FILE).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is no text in UTF-8") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise ValueError(f"{str(path)!r} is empty")
    if any(mark in text for mark in "\n\r\x00"):
        raise ValueError(f"{str(path)!r} has more than one line")
    if has_unseen_mark(text):
        raise ValueError(f"{str(path)!r} {UNSEEN_MARK}")
    return text


def has_unseen_mark(text: str) -> bool:
    """Whether a secret holds a character that nobody types, as an editor or a shell adds at its ends."""
    return any(mark == "\ufeff" or unicodedata.category(mark) == "Cc" for mark in text)


def read_whole_file(path: Path, longest: int) -> bytes:
    """A file of at most `longest` bytes; raises `ValueError` with what is wrong."""
    try:
        # A pipe that nobody writes to would hold the start up, but for O_NONBLOCK.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError(f"{str(path)!r} is no file")
            content = os.read(descriptor, longest + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    if len(content) > longest:
        raise ValueError(f"{str(path)!r} is too large")
    return content


def is_there(path: Path) -> bool:
    """Whether there is such a file, or nobody can say and reading it tells why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


def everybody_may_read(path: Path) -> bool:
    """Whether every user of the machine may; a group may be the one that the server runs as."""
    return bool(path.stat().st_mode & stat.S_IROTH)
