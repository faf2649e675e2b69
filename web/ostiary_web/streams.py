"""Open the standard streams of a command so that any text can be written and moves no terminal.

Machines are given UTF-8 whatever the locale says (RFC 8259 §8.1, TOML 1.0); people are given what their
terminal has, and backslash escapes for the rest.
"""

import io
import os
import re
import sys
from contextlib import suppress
from typing import Final, NoReturn

import click

_STANDARD_OUTPUT: Final = 1
_TERMINAL_CONTROLS: Final = re.compile("[\x7f-\x9f\u2028\u2029]")
"""Characters that JSON lets stand and that act on terminals or line readers: DEL, C1, line separators."""
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""All characters that act on terminals or line readers."""


class OutputFailed(click.ClickException):
    """Standard output cannot be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}")
        self.is_reader_gone = isinstance(error, BrokenPipeError)

    def show(self, file: object = None) -> None:
        """Report it on standard error, except when a reader such as `head` has had enough."""
        if not self.is_reader_gone:
            tell(f"ostiary: {self.message}")


def open_standard_streams() -> None:
    """Open /dev/null for each closed standard stream, so that no file takes its number.

    And let none of them fail for a character that its encoding does not have.
    """
    # All numbers are filled before any other file is opened, which would take the next that is closed.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Not on its number, which something else may have by now, as a socket of Hypercorn.
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 (for ever)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def exit_with(words: object) -> NoReturn:
    """End the process with one line on standard error, and 1."""
    sys.exit(f"ostiary: {' '.join(str(words).splitlines())}")  # SQLite's own words may be several lines


def print_text(text: str = "") -> None:
    """Print a line for people. Raises `OutputFailed`."""
    _print(text)


def print_data(text: str) -> None:
    """Print lines for machines, in UTF-8. Raises `OutputFailed`."""
    _print(text.encode("utf-8", "backslashreplace"))  # half a surrogate pair becomes JSON's escape of it


def _print(text: str | bytes) -> None:
    try:
        click.echo(text)
    except OSError as error:
        # What is left in the buffer would fail once more when the process ends.
        with suppress(OSError, ValueError):
            if sys.stdout.fileno() == _STANDARD_OUTPUT:
                os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_OUTPUT)
        raise OutputFailed(error) from error


def tell(text: str | bytes) -> None:
    """Print a line on standard error, if it can be written."""
    with suppress(OSError):
        click.echo(text, err=True)


def escape_json(text: str) -> str:
    r"""Escape in a JSON text the characters that act on a terminal.

    >>> escape_json('"\x9b31m"')
    '"\\u009b31m"'
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return _TERMINAL_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape_controls(text: str) -> str:
    r"""Write control characters as escapes, for people.

    >>> escape_controls("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
