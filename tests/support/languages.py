"""What must hold of a catalogue of texts, and a third language, made up: all of it in one module."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

from ostiary_core.texts import ENGLISH, LANGUAGES, Language, Languages, Plural, PluralCategory


def assert_says_the_same(language: Language, as_in: Language) -> None:
    """A language has a text for every key of another, with the same values filled in and the plural forms of
    its own rule."""
    assert language.texts.keys() == as_in.texts.keys()
    categories = {language.plural_category(count) for count in (*range(1_001), 1_000_000)} | {"other"}
    for key, text in language.texts.items():
        assert _placeholders(text) == _placeholders(as_in.texts[key]), key
        assert all(form.strip() for form in _forms_of(text).values()), key
        if isinstance(text, Plural):
            assert _forms_of(text).keys() == categories, key
            assert "count" in _placeholders(text), key


def _forms_of(text: str | Plural) -> dict[str, str]:
    """The forms of a text by their plural categories."""
    if isinstance(text, str):
        return {"other": text}
    return {name: form for name in text.__slots__ if (form := getattr(text, name)) is not None}


def _placeholders(text: str | Plural) -> set[str | None]:
    """What is filled in, in any form."""
    return {
        name
        for form in _forms_of(text).values()
        for _, name, _, _ in Formatter().parse(form)
        if name is not None
    }


def strings_in(folder: Path) -> Iterator[str]:
    """Every string in the source under a folder, but for the texts themselves."""
    for path in folder.rglob("*.py"):
        if path.parent.name != "texts":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def keys_in(strings: Iterable[str], language: Language) -> set[str]:
    """Those strings that look like keys of a catalogue."""
    families = "|".join({key.partition(".")[0] for key in language.texts})
    return {string for string in strings if re.fullmatch(rf"(?:{families})\.[A-Za-z_.]*[A-Za-z_]", string)}


def _plural_category(count: int) -> PluralCategory:
    if count == 1:
        return "one"
    return "few" if count % 10 in (2, 3, 4) and count // 10 % 10 != 1 else "many"


def _wrap_text(text: str | Plural) -> str | Plural:
    if isinstance(text, str):
        return f"«{text}»"
    one, few, many = (f"«{name}: {text.other}»" for name in ("one", "few", "many"))
    return Plural(one=one, few=few, many=many, other="")


def made_up(english: Language) -> Language:
    """It with a text for every key of English."""
    return Language(
        tag="qaa-QM",  # ISO 639-2 keeps qaa for local use
        name="«Made up»",
        plural_category=_plural_category,
        texts={key: _wrap_text(text) for key, text in english.texts.items()},
    )


MADE_UP = made_up(ENGLISH)

THREE = Languages((*LANGUAGES, MADE_UP))
