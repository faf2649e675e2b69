"""Convert arguments of commands that are neither text nor numbers."""

import re
from typing import Any, Final

import click

from ostiary_core.texts import Language, Languages
from ostiary_web.texts import LANGUAGES

_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WRITTEN: Final = re.compile(r"([0-9]{1,9})([smhd]?)", re.ASCII)


class Duration(click.ParamType[int]):
    """A number with its unit, in whole seconds.

    >>> [Duration().convert(text, None, None) for text in ("90", "90s", "30m", "12h", "7d")]
    [90, 90, 1800, 43200, 604800]
    """

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        written = _WRITTEN.fullmatch(value)
        if written is None:
            self.fail(f"{value!r} is not a duration; give a number with s, m, h or d, as 12h", param, ctx)
        return int(written[1]) * _SECONDS[written[2]]


class LanguageTag(click.ParamType[Language]):
    """A language of the command line, by its tag."""

    name = "language"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(spoken_languages(ctx).tags)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Language:
        languages = spoken_languages(ctx)
        language = languages.by_tag(value)
        if language is None:
            self.fail(f"{value!r} is not one of {', '.join(languages.tags)}", param, ctx)
        return language


def spoken_languages(context: click.Context | None) -> Languages:
    """Return the languages in the command line's `obj`, else all."""
    return (context and context.find_object(Languages)) or LANGUAGES
