"""Everything that people read: one module for each language, found by being in this folder.

A further language is one more module here, with a `LANGUAGE` that has a text for every key of the others
(docs/operating.md). Tests say that no text is missing and none is left over.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from ostiary_core.texts import ENGLISH, Language, Languages


def find_languages() -> Languages:
    """Return the languages in this folder by their tags, English first."""
    found: list[Language] = [
        import_module(f"{__name__}.{module.name}").LANGUAGE for module in iter_modules(__path__)
    ]
    return Languages(sorted(found, key=lambda language: (language.tag != ENGLISH.tag, language.tag)))


LANGUAGES: Final = find_languages()
"""What a server speaks that is given no others."""


def heading_key(language: Language, list_name: str, field: str) -> str:
    """Return the key of a field's heading: the list's own, else the one that lists share."""
    own = f"column.{list_name}.{field}"
    return own if own in language.texts else f"column.{field}"


class TextFamily:
    """The texts of one family as a template reads them: of `page`, `t.save` is the text `page.save`."""

    def __init__(self, language: Language, family: str) -> None:
        self._language = language
        self._family = family

    def __getitem__(self, name: str) -> str:
        return self._language.text(f"{self._family}.{name}")
