"""What a command prints: one JSON document for scripts, or tables for people, and its refusals."""

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, NoReturn

import click

from ostiary_core.http.envelope import field_text, text_of
from ostiary_core.http.language import Language
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.reply import Refused
from ostiary_web.cli.context import PageOfRecords
from ostiary_web.http.context import RequestRefused

REFUSED: Final = 1
"""The exit code of a refusal; 2, click's own, is for a command that cannot be understood."""

_GAP: Final = "  "

Labels = Mapping[str, tuple[str, str]]
"""Fields of a record with what a person calls them, in English and Chinese."""


class Printer:
    """How one command was asked to print."""

    def __init__(self, language: Language, *, for_scripts: bool) -> None:
        self.language = language
        self.for_scripts = for_scripts

    def choose(self, english: str, chinese: str) -> str:
        """A text in the language asked for."""
        return chinese if self.language is Language.ZH else english

    def document(self, content: object) -> None:
        """One JSON document on standard output."""
        click.echo(json.dumps(content, ensure_ascii=False, indent=2))

    def record(self, content: Mapping[str, object], labels: Labels) -> None:
        """One record: whole for a script, the named fields for a person, a line each."""
        if self.for_scripts:
            self.document(content)
            return
        named = {self.choose(*labels[name]): content[name] for name in labels if name in content}
        widest = max(map(_width, named))
        for label, value in named.items():
            click.echo(f"{_padded(label, widest)}{_GAP}{self._cell(value)}")

    def page(self, page: PageOfRecords, labels: Labels) -> None:
        """One page of records: whole for a script, a table for a person."""
        rows = page.records
        if self.for_scripts:
            self.document({"items": rows, "total": page.total})
            return
        headings = [self.choose(*label) for label in labels.values()]
        cells = [[self._cell(row[name]) for name in labels] for row in rows]
        self.rows([headings, *cells])
        counted = self.choose("{first} to {last} of {total}", "第 {first} 至 {last} 条，共 {total} 条")
        first = page.offset + 1 if rows else 0
        last = page.offset + len(rows) if rows else 0
        click.echo(counted.format(first=first, last=last, total=page.total), err=True)

    def rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Lines of cells, each column as wide as its widest cell."""
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            padded = (_padded(cell, width) for cell, width in zip(row, widths, strict=True))
            click.echo(_GAP.join(padded).rstrip())

    def refused(self, reply: Refused) -> NoReturn:
        """The words of the envelope on standard error, and the end of the process."""
        code, text = MEANINGS[reply.why].code, text_of(reply.why, self.language)
        errors = [{"path": fault.path, "msg": field_text(fault, self.language)} for fault in reply.faults]
        if self.for_scripts:
            click.echo(
                json.dumps({"code": code, "msg": text, "errors": errors}, ensure_ascii=False), err=True
            )
        else:
            click.echo(f"ostiary: {code} {text}", err=True)
            for error in errors:
                click.echo(f"  {error['path']} {error['msg']}", err=True)
        sys.exit(REFUSED)

    def _cell(self, value: object) -> str:
        match value:
            case None:
                return "-"
            case bool():
                return self.choose("yes", "是") if value else self.choose("no", "否")
            case list() | tuple():
                return " ".join(map(str, value)) or "-"
            case _:
                return str(value)


def with_printer(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--json` and `--language`, hand it a `Printer`, and let a refusal end it with words."""

    @click.option("--json", "for_scripts", is_flag=True, help="Print one JSON document, for scripts.")
    @click.option(
        "--language",
        type=click.Choice([language.value for language in Language]),
        default=None,
        help="The language of what is printed; by default that of LANG.",
    )
    @wraps(command)
    def asked(*args: Any, for_scripts: bool, language: str | None, **options: Any) -> None:
        chosen = _language_of(os.environ) if language is None else Language(language)
        printer = Printer(chosen, for_scripts=for_scripts)
        try:
            command(printer, *args, **options)
        except RequestRefused as refusal:
            printer.refused(refusal.reply)

    return asked


def with_paging(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that lists what it needs to find and turn its pages."""
    for option in (
        click.option("--page-size", type=click.IntRange(1, 200), default=20, show_default=True),
        click.option("--page", type=click.IntRange(min=1), default=1, show_default=True),
        click.option("--search", help="Only those that contain this text."),
    ):
        command = option(command)
    return command


def _language_of(environment: Mapping[str, str]) -> Language:
    """The language of the first of POSIX's variables that is set (POSIX.1-2017 §8.2)."""
    named = next(
        (environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), ""
    )
    return Language.ZH if named.lower().startswith("zh") else Language.EN


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Columns of a terminal: wide characters take two."""
    return sum(_columns(text))


def _columns(text: str) -> Iterable[int]:
    for character in text:
        if unicodedata.combining(character):
            yield 0
        else:
            yield 2 if unicodedata.east_asian_width(character) in "WF" else 1
