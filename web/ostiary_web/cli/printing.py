"""Print the result of a command: one JSON document for scripts, or tables for people, and refusals."""

import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, NoReturn

import click

from ostiary_core.http.envelope import field_text, text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.reply import Refused
from ostiary_core.texts import Language, Languages
from ostiary_web.application.resources.fields import ListView
from ostiary_web.cli.arguments import LanguageTag, parameter_name, spoken_languages
from ostiary_web.cli.context import PageOfRecords, Record
from ostiary_web.http.context import RequestRefused
from ostiary_web.streams import OutputFailed, escape_controls, escape_json, print_data, print_text, tell
from ostiary_web.texts import LANGUAGES, heading_key

REFUSED: Final = 1
"""Exit code of a refusal; 2, click's own, is for a usage error."""

_GAP: Final = "  "

Labels = Mapping[str, str]
"""Fields of a record with the text keys of their names."""


def columns(list_view: ListView[Any, Any], *names: str) -> Labels:
    """Return fields of a list, labelled as on its pages and in its sheets."""
    return {name: heading_key(LANGUAGES.default, list_view.name, name) for name in names}


def to_json(content: object, **options: Any) -> str:
    """Return JSON in its own characters, except those that act on a terminal."""
    return escape_json(json.dumps(content, ensure_ascii=False, **options))


class Printer:
    """The form in which a command prints."""

    def __init__(self, language: Language, *, for_scripts: bool) -> None:
        self.language = language
        self.for_scripts = for_scripts

    def text(self, key: str, /, **values: object) -> str:
        """Return a text in the language asked for."""
        return self.language.text(key, **values)

    def document(self, content: object) -> None:
        """Print one JSON document."""
        print_data(to_json(content, indent=2))

    @contextmanager
    def explain_how_to_draw_again(self, *draw_again: str) -> Iterator[None]:
        """Say which commands draw another secret if the block cannot print the drawn one."""
        try:
            yield
        except OutputFailed as failure:
            if not draw_again:
                raise
            tell(f"ostiary: {self.text('command.not_shown', reason=failure.message)}")
            for command in draw_again:
                tell(f"  {escape_controls(command)}")
            sys.exit(REFUSED)

    def record(self, content: Mapping[str, object], labels: Labels) -> None:
        """Print one record: whole for a script, the named fields for a person, a line each."""
        if self.for_scripts:
            self.document(content)
            return
        self.rows(
            [(self.text(labels[name]), self._cell(content[name])) for name in labels if name in content]
        )

    def page(self, page: PageOfRecords, labels: Labels) -> None:
        """Print one page of records: whole for a script, a table for a person."""
        rows = page.records
        if self.for_scripts:
            self.document({"items": rows, "total": page.total})
            return
        self._table(rows, labels)
        first = page.offset + 1 if rows else 0
        last = page.offset + len(rows) if rows else 0
        tell(self.text("command.listed", first=first, last=last, total=page.total))

    def records(self, rows: Sequence[Record], labels: Labels) -> None:
        """Print several records: whole for a script, a table for a person."""
        if self.for_scripts:
            self.document({"items": rows})
        elif rows:
            self._table(rows, labels)

    def _table(self, rows: Sequence[Record], labels: Labels) -> None:
        headings = [self.text(label).upper() for label in labels.values()]
        self.rows([headings, *([self._cell(row[name]) for name in labels] for row in rows)])

    def rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Print lines of cells, each column as wide as its widest cell."""
        rows = [[escape_controls(cell) for cell in row] for row in rows]
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
            print_text(_GAP.join(padded).rstrip())

    def refuse(self, reply: Refused, place: Callable[[str], str] | None = None) -> NoReturn:
        """Print a refusal, and exit."""
        self.print_refusal(reply, place)
        sys.exit(REFUSED)

    def print_refusal(
        self,
        reply: Refused,
        place: Callable[[str], str] | None = None,
        *,
        name: str | None = None,
        most: int | None = None,
    ) -> None:
        """Print a refusal as the envelope words it, for people no more than `most` of its faults.

        `name` is the record that it is about; `place` turns a fault's path into words, by default into the
        option as it was typed.
        """
        code, text = MEANINGS[reply.why].code, text_of(reply.why, self.language)
        errors = [{"path": fault.path, "msg": field_text(fault, self.language)} for fault in reply.faults]
        if self.for_scripts:
            about = {} if name is None else {"name": name}
            tell(to_json({"code": code, "msg": text, **about, "errors": errors}).encode())
            return
        about_it = "" if name is None else f"{escape_controls(name)}: "
        tell(f"ostiary: {about_it}{code} {text}")
        for error in errors[:most]:
            tell(escape_controls(f"  {(place or option_of)(error['path'])} {error['msg']}"))
        if most is not None and len(errors) > most:
            tell(f"  {self.text('sheet.more', count=len(errors) - most)}")

    def _cell(self, value: object) -> str:
        match value:
            case None:
                return "-"
            case bool():
                return self.text("page.yes" if value else "page.no")
            case list() | tuple():
                return " ".join(map(str, value)) or "-"
            case _:
                return str(value)


def option_of(path: str) -> str:
    """Return the option or argument of the present command that sets a field, with its value in a list.

    A path of no option is returned as it is.
    """
    context = click.get_current_context()
    field, _, place = path.partition(".")
    name = parameter_name(field)
    for parameter in context.command.params:
        if parameter.name == name:
            is_option = isinstance(parameter, click.Option)
            [option] = parameter.opts if is_option else [parameter.make_metavar(context)]
            given = context.params.get(name)
            # An empty one was only there for an empty list, and is not in the field.
            values = [each for each in given if each] if isinstance(given, tuple) else []
            return (
                f"{option} {values[int(place)]}" if place.isdecimal() and int(place) < len(values) else option
            )
    return path


def with_printer(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--json` and `--language`, pass it a `Printer`, and report a refusal."""

    @click.option("--json", "for_scripts", is_flag=True, help="Print one JSON document, for scripts.")
    @click.option(
        "--language",
        type=LanguageTag(),
        default=None,
        help="The language of what is printed; by default that of LANG.",
    )
    @wraps(command)
    def with_printer_of(*args: Any, for_scripts: bool, language: Language | None, **options: Any) -> None:
        languages = spoken_languages(click.get_current_context())
        printer = Printer(language or _language_of(os.environ, languages), for_scripts=for_scripts)
        try:
            command(printer, *args, **options)
        except RequestRefused as refusal:
            printer.refuse(refusal.reply)

    return with_printer_of


def with_paging(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that lists what it needs to search and turn pages."""
    for option in (
        click.option("--page-size", type=click.IntRange(1, 200), default=20, show_default=True),
        click.option("--page", type=click.IntRange(min=1), default=1, show_default=True),
    ):
        command = option(command)
    return command


def _language_of(environment: Mapping[str, str], languages: Languages) -> Language:
    """Return the language of the first POSIX variable that is set, as `zh_CN.UTF-8` (POSIX.1-2017 §8.2)."""
    named = next(
        (environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), ""
    )
    return languages.negotiate(re.split("[.@]", named)[0].replace("_", "-"))


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal: wide characters take two."""
    return sum(_columns(text))


def _columns(text: str) -> Iterable[int]:
    for character in text:
        if unicodedata.combining(character):
            yield 0
        else:
            yield 2 if unicodedata.east_asian_width(character) in "WF" else 1
