"""Checks of catalogues of texts, and a made-up third language."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

from ostiary_core.texts import ENGLISH, LANGUAGES, Language, Languages, PluralCategory

_FORMS = re.compile(r"\{count:([^{}]*(?:\{[a-z]+\}[^{}]*)*)\}")
"""The words for a number in a text."""


def assert_says_the_same(language: Language, as_in: Language) -> None:
    """Check that a language has every text of another, with the same values and its own plural forms."""
    assert language.texts.keys() == as_in.texts.keys()
    categories = {language.plural_category(count) for count in (*range(1_001), 1_000_000)} | {"other"}
    for key, text in language.texts.items():
        assert _placeholders(text) == _placeholders(as_in.texts[key]), key
        assert text.strip(), key
        for forms in _FORMS.findall(text):
            words = dict(form.split("=", 1) for form in forms.split("|"))
            assert words.keys() == categories, key
            assert all(words.values()), key


def _placeholders(text: str) -> set[str]:
    """Return the names that are filled in, those in plural forms included."""
    return {
        name
        for _, field, forms, _ in Formatter().parse(text)
        if field is not None
        for name in (field, *_placeholders(forms or ""))
    }


def strings_in(folder: Path) -> Iterator[str]:
    """Yield every string in the source under a folder, without the texts themselves."""
    for path in folder.rglob("*.py"):
        if path.parent.name != "texts":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def keys_in(strings: Iterable[str], language: Language) -> set[str]:
    """Return the strings that look like keys of a catalogue."""
    families = "|".join({key.partition(".")[0] for key in language.texts})
    return {string for string in strings if re.fullmatch(rf"(?:{families})\.[A-Za-z_.]*[A-Za-z_]", string)}


def _plural_category(count: int) -> PluralCategory:
    if count == 1:
        return "one"
    return "few" if count % 10 in (2, 3, 4) and count // 10 % 10 != 1 else "many"


def _wrap_text(text: str) -> str:
    plain = _FORMS.sub(lambda found: found[1].partition("other=")[2], text)
    return f"«{text}»" if plain == text else f"«{{count:one=one|few=few|many=many|other=other}}: {plain}»"


def made_up(english: Language) -> Language:
    """Make a language with a text for every key of English."""
    return Language(
        tag="qaa-QM",  # ISO 639-2 keeps qaa for local use
        name="«Made up»",
        plural_category=_plural_category,
        texts={key: _wrap_text(text) for key, text in english.texts.items()},
    )


MADE_UP = made_up(ENGLISH)

THREE = Languages((*LANGUAGES, MADE_UP))
