"""Convert arguments of commands that are neither text nor numbers."""

import re
from pathlib import Path
from typing import Any, Final

import click

from ostiary_core.texts import Language, Languages
from ostiary_web.application.resources.sheet_rows import map_booleans
from ostiary_web.texts import LANGUAGES

STANDARD_INPUT: Final = Path("-")
"""Stands for standard input in place of a file."""

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


class YesOrNo(click.ParamType[str]):
    """Yes or no as it is printed in any language, as the interface has it."""

    name = "yes or no"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "[yes|no]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        found = map_booleans(spoken_languages(ctx)).get(value.strip().casefold())
        if found is None:
            self.fail(f"{value!r} is neither yes nor no", param, ctx)
        return str(found).lower()


class SortOrder(click.ParamType[str]):
    """Fields to sort by, named as the options are or as the interface does.

    >>> SortOrder().convert("-created-at,name", None, None)
    '-createdAt,name'
    """

    name = "fields"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return re.sub("(?<=[a-z])-([a-z])", lambda found: found[1].upper(), value)


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


def parameter_name(field: str) -> str:
    """Return the name of a parameter of a command that sets or filters by a field of the interface.

    >>> parameter_name("redirectUris")
    'redirect_uris'
    """
    return re.sub("([A-Z])", r"_\1", field).lower()


def spoken_languages(context: click.Context | None) -> Languages:
    """Return the languages in the command line's `obj`, else all."""
    return (context and context.find_object(Languages)) or LANGUAGES
