"""One thing has one word: texts and book are held against the glossary's table of words for readers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostiary_web.texts import LANGUAGES

DOCS = Path(__file__).resolve().parent.parent / "docs"
GLOSSARY = DOCS / "glossary.md"
ROWS = DOCS / "rows.md"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
"""Quoted parts of a page: code, and the targets of links."""


def read_words() -> Iterator[tuple[re.Pattern[str], str, bool]]:
    """Yield each word not to use, the better one, and whether the book must not have it either."""
    section = GLOSSARY.read_text(encoding="utf-8").partition("## Words for readers")[2].partition("\n## ")[0]
    for better, chinese, words, where in re.findall(r"^\|(.*)\|(.*)\|(.*)\|(.*)\|$", section, re.MULTILINE)[
        2:
    ]:
        for word in words.split(","):
            edge = r"\b" if word.strip().isascii() else ""
            pattern = re.compile(rf"{edge}{re.escape(word.strip())}s?{edge}", re.IGNORECASE)
            yield pattern, f"{better.strip()} / {chinese.strip()}", where.strip() == "everywhere"


WORDS = [*read_words()]


def read_texts() -> Iterator[tuple[str, str]]:
    """Yield every text of every language, with a name."""
    for language in LANGUAGES:
        for key, text in language.texts.items():
            yield f"{language.tag} {key}", text


def test_the_glossary_names_words() -> None:
    assert len(WORDS) > 20
    assert any(pattern.search("Running sign-ins") for pattern, _, _ in WORDS)
    assert any(pattern.search("日志中可按请求编号查到") for pattern, _, _ in WORDS)


def test_texts_use_the_words_of_the_glossary() -> None:
    found = [
        f"{name}: {text!r} has {hit[0]!r}, say {better}"
        for name, text in read_texts()
        for pattern, better, _ in WORDS
        if (hit := pattern.search(re.sub(r"\{\w+\}", "", text)))
    ]
    assert found == []


@pytest.mark.parametrize("page", sorted({*DOCS.glob("*.md")} - {GLOSSARY, ROWS}), ids=lambda page: page.name)
def test_the_book_uses_the_words_of_the_glossary(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    found = [
        f"{hit[0]!r}: say {better}"
        for pattern, better, is_everywhere in WORDS
        if is_everywhere and (hit := pattern.search(text))
    ]
    assert found == []
