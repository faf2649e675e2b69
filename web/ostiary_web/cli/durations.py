"""What the command line takes as an argument beside text and numbers."""

import re
from typing import Any, Final

import click

_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WRITTEN: Final = re.compile(r"([0-9]{1,9})([smhd]?)", re.ASCII)


class Duration(click.ParamType[int]):
    """A number with its unit, in whole seconds.

    >>> [Duration().convert(text, None, None) for text in ("90", "90s", "30m", "12h", "7d")]
    [90, 90, 1800, 43200, 604800]
    """

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        written = _WRITTEN.fullmatch(value)
        if written is None:
            self.fail(f"{value!r} is no duration; give a number with s, m, h or d, as 12h", param, ctx)
        return int(written[1]) * _SECONDS[written[2]]
