"""The catalogue of texts: every language has every text, every text is used, and no text is elsewhere."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, nodes

import ostiary_web
from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.records import GrantType, SessionKind, TextCodePurpose
from ostiary_core.retention import Expirable
from ostiary_core.texts import ENGLISH, Language
from ostiary_web.application.history_texts import ENDINGS
from ostiary_web.application.resources import audit, clients, online, roles, users
from ostiary_web.application.resources.fields import ListView, SheetUse
from ostiary_web.pages.administration.audit import LESS_TOLD_TO_CLIENTS
from ostiary_web.pages.administration.online import KIND_CODES
from ostiary_web.server.notices import TOLD_FACTS
from ostiary_web.texts import LANGUAGES, heading_key
from tests.support.callers import Markup
from tests.support.languages import assert_says_the_same, keys_in, strings_in

ROOT = Path(ostiary_web.__file__).parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SHEETS = (clients.RESOURCE.list_view, users.RESOURCE.list_view, roles.RESOURCE.list_view)
LISTS = (*SHEETS, online.RUNNING_SESSIONS, audit.AUDIT_EVENTS)
DEFAULT = LANGUAGES.default
COUNTED = ("running", "refused", "sign_ins", "failed", "started", "ended", "refreshed", "retried")
RANGES = ("day", "week", "month")
PROBLEMS = (
    *("not_yours", "form_answer", "no_form", "too_large", "too_long", "too_slow", "too_fast"),
    *("not_found", "went_wrong"),
)
NAMES = {"Ostiary", "Asia/Shanghai"}
"""Names that are the same in every language."""
SAID_ALIKE = {
    frozenset({"page.nav_online", "page.online"}),
    frozenset({"page.sign_in_outcome", "page.import_outcome"}),
    frozenset({"page.recovery_code", "page.recovery_codes_name"}),
}
"""Keys with two texts in English that may share one in another language: a tab and its page, one and many."""
MARKUP = {"app-room", "page-card-room", 'aria-describedby="-hint -fault" aria-invalid="true" autofocus'}
"""Text of templates that is markup: it stands in a block or macro, and within a tag in the page."""


def families() -> Iterator[str]:
    """Yield the keys that the code puts together from a name or from a value of an enumeration."""
    yield from (f"fact.{kind}" for kind in FactKind)
    yield from (f"ending.{why}" for why in ENDINGS)
    yield from (f"history.issued.{kind}" for kind in SessionKind)
    yield from (f"why.{why}" for why in LESS_TOLD_TO_CLIENTS)
    yield from (f"permission.{each}" for each in (*Permission, *TokenPower))
    yield from (f"message.{purpose}" for purpose in (*TextCodePurpose, *TOLD_FACTS))
    yield from (f"grant.{grant}" for grant in GrantType)
    yield from (f"kind.{kind}" for kind in ("user", *KIND_CODES.values()))
    yield from (heading_key(DEFAULT, each.name, field.name) for each in LISTS for field in each.fields)
    yield from (f"column.refusals.{told}" for told in ("permission", "times"))
    yield from (heading_key(DEFAULT, "tokens", told) for told in ("name", "permissions", "expiresInDays"))
    yield from (
        f"note.{each.name}.{field.name}"
        for each in SHEETS
        for field in each.fields
        if field.sheet in (SheetUse.IMPORT_EXPORT, SheetUse.IMPORT_ONLY)
    )
    for what in ("salts", *Expirable, "audit entries", "counted entries"):
        yield f"command.sweep.{what[0]}{what.title().replace(' ', '')[1:]}"
    yield from (f"overview.{name}" for name in (*COUNTED, *RANGES, *SessionKind))
    yield from (f"page.{problem}_lead" for problem in PROBLEMS)
    yield from (f"{heading}{end}" for heading in headings() for end in ("_lead", "_none"))


def calls(function: str) -> Iterator[ast.Call]:
    """Yield the calls of a function by this name, or of any method if the name begins with a dot."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called == function or (function[0] == "." and called.endswith(function)):
                    yield node


def headings() -> Iterator[str]:
    """Yield the keys of the headings of lists."""
    for call in calls("ListPage"):
        yield from (ast.literal_eval(each.value) for each in call.keywords if each.arg == "heading")


def given_as_keys() -> Iterator[str]:
    """Yield the constants that are looked up as keys, also those that do not look like keys."""
    looked_up = (*(call.args[0] for call in calls(".text")), *(call.args[2] for call in calls("Finding")))
    yield from (str(each.value) for each in looked_up if isinstance(each, ast.Constant))


def in_templates() -> Iterator[str]:
    """Yield the keys that templates name: whole, or by a short name of their family."""
    for path in TEMPLATES:
        tree = Environment().parse(path.read_text(encoding="utf-8"))
        yield from (str(node.value) for node in tree.find_all(nodes.Const))
        for node in tree.find_all(nodes.Getattr):
            if isinstance(node.node, nodes.Name) and node.node.name == "t":
                yield f"page.{node.attr}"


def test_every_key_has_a_text_and_every_text_is_used() -> None:
    strings = {text for text in (*strings_in(ROOT), *in_templates()) if not text.endswith((".html", ".db"))}
    asked = {*families(), *given_as_keys(), *keys_in(strings, DEFAULT)}
    assert asked - DEFAULT.texts.keys() == set()
    assert DEFAULT.texts.keys() - ENGLISH.texts.keys() - asked == set()


@pytest.mark.parametrize("language", [*LANGUAGES], ids=lambda language: language.tag)
def test_every_language_says_the_same(language: Language) -> None:
    assert_says_the_same(language, DEFAULT)


SHOWN_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label", "data-working", "data-copied")


def words_of(template: str) -> set[str]:
    """Return the words of a template: its texts, and the attributes that are read out or shown."""
    made = Markup(template)
    shown = [value for _, given in made.elements for name, value in given if name in SHOWN_ATTRIBUTES]
    pieces = [piece.strip() for text in (*made.texts, *shown) for piece in text.split("·")]
    return {piece for piece in pieces if any(map(str.isalpha, piece))}


@pytest.mark.parametrize("language", [*LANGUAGES], ids=lambda language: str(language.tag))
def test_two_english_texts_of_one_family_are_two_texts_in_every_language(language: Language) -> None:
    """With a text at a wrong key, two different things would have the same text."""
    said: dict[tuple[str, str], dict[str, str]] = {}
    for key, text in language.texts.items():
        said.setdefault((key.rpartition(".")[0], text), {})[DEFAULT.texts[key]] = key
    assert {frozenset(keys.values()) for keys in said.values() if len(keys) > 1} <= SAID_ALIKE


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.name))
def test_no_template_says_anything_by_itself(path: Path) -> None:
    tokens = Environment().lex(path.read_text(encoding="utf-8"))
    assert words_of("".join(value for _, kind, value in tokens if kind == "data")) <= NAMES | MARKUP


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: str(sheet.name))
def test_a_heading_in_whatever_language_names_one_column(sheet: ListView[Any, Any]) -> None:
    """An import reads the headings of all languages."""
    named = {
        (sheet.heading(field, language).casefold(), field.name)
        for field in sheet.fields
        for language in LANGUAGES
        if field.sheet is not SheetUse.NONE
    }
    assert len(named) == len({heading for heading, _ in named})
