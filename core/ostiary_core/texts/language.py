"""Languages: tag, plural forms and texts; and which of several a request prefers.

A text has a key of words in lower case with dots between, and placeholders in braces. If words depend on
a number, the placeholder has a form for each plural category of its language, or `other` for all others:
`{count} {count:one=day|other=days}`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal

PluralCategory = Literal["zero", "one", "two", "few", "many", "other"]
"""Plural categories of Unicode CLDR; a language has `other` and those of its rule."""

_RANGE: Final = re.compile(
    r"\s*((?:[A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?)\s*(?:;\s*[qQ]\s*=\s*([0-9.]{1,5})\s*)?"
)
_MOST_RANGES: Final = 20


class _Count(int):
    """A number in a text: `{count}` is its digits, `{count:one=day|other=days}` the words for it."""

    category: PluralCategory

    def __format__(self, forms: str) -> str:
        if not forms:
            return str(self)
        words = dict(form.split("=", 1) for form in forms.split("|"))
        return words.get(self.category, words["other"])


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language and its texts."""

    tag: str
    """Tag of BCP 47, such as zh-CN."""
    name: str
    """Name of the language in itself."""
    plural_category: Callable[[int], PluralCategory] = field(repr=False)
    """Function from a number to its plural category."""
    texts: Mapping[str, str] = field(repr=False)

    def text(self, key: str, /, **values: object) -> str:
        """Return the text of `key` with `values` filled in, and the words for the number `count`.

        Raises `KeyError` for a key or a value that is missing: a fault of the program.
        """
        number = values.get("count")
        if isinstance(number, int):
            count = values["count"] = _Count(number)
            count.category = self.plural_category(number)
        text = self.texts[key]
        return text.format_map(values) if values else text

    def word(self, family: str, word: str) -> str:
        """Return the text of a stored word; the word itself if only a later release has one."""
        return self.texts.get(f"{family}.{word}", word)

    def with_texts(self, texts: Mapping[str, str]) -> "Language":
        """Return the language with more texts; raise `ValueError` for a key that it has already."""
        twice = sorted(self.texts.keys() & texts.keys())
        if twice:
            raise ValueError(f"{self.tag} has texts for these keys already: {', '.join(twice)}")
        return replace(self, texts=MappingProxyType({**self.texts, **texts}))


class Languages:
    """The languages of a server in order; the first is the default."""

    def __init__(self, languages: Iterable[Language]) -> None:
        in_order = tuple(languages)
        self.tags: Final = tuple(language.tag for language in in_order)
        if not self.tags or len(set(self.tags)) != len(self.tags):
            raise ValueError(f"there must be at least one language, and each once: {self.tags}")
        self._by_tag: Final = dict(zip(self.tags, in_order, strict=True))
        self.default: Final = self._by_tag[self.tags[0]]
        self._by_range: Final[dict[str, Language]] = {}
        for language in reversed(in_order):
            subtags = language.tag.lower().split("-")
            for length in range(1, len(subtags) + 1):
                self._by_range["-".join(subtags[:length])] = language
        self._by_range.update((language.tag.lower(), language) for language in in_order)
        self._most_subtags: Final = max(tag.count("-") + 1 for tag in self.tags)

    def __iter__(self) -> Iterator[Language]:
        return iter(self._by_tag.values())

    def by_tag(self, tag: str | None) -> Language | None:
        """Return the language with exactly this tag, if there is one."""
        return None if tag is None else self._by_tag.get(tag)

    def negotiate(self, accept_language: str | None) -> Language:
        """Choose the language that an Accept-Language field prefers (RFC 9110 §12.5.4).

        A range loses subtags from its end (RFC 4647 §3.4) until a tag equals it or begins with it: `zh-TW`
        and `zh` find zh-CN. Unreadable ranges are ignored. `*` is the first language that no other range
        names. A refused language (`q=0`) is chosen only if all are refused.
        """
        if not accept_language:
            return self.default
        ranges = [
            (match[1].lower(), _weight(match[2]))
            for part in accept_language.split(",", _MOST_RANGES)[:_MOST_RANGES]
            if (match := _RANGE.fullmatch(part)) is not None
        ]
        named = {self._find(range_) for range_, weight in ranges if range_ != "*" and weight}
        refused = {each for range_, weight in ranges if not weight for each in self._of(range_)} - named
        unnamed = next((each for each in self if each not in named | refused), None)
        best, best_weight = unnamed or self.default, 0.0
        for range_, weight in ranges:
            language = unnamed if range_ == "*" else self._find(range_)
            if language is not None and weight > best_weight:
                best, best_weight = language, weight
        return best

    def _of(self, range_: str) -> Iterator[Language]:
        """Yield the languages whose tag equals a range or extends it (RFC 4647 §3.3.1)."""
        return (each for each in self if f"{each.tag.lower()}-".startswith(f"{range_}-"))

    def _find(self, range_: str) -> Language | None:
        subtags = range_.split("-", self._most_subtags)[: self._most_subtags]
        while subtags:
            language = self._by_range.get("-".join(subtags))
            if language is not None:
                return language
            subtags.pop()
        return None


def _weight(text: str | None) -> float:
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        return 0.0
