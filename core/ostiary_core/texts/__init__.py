"""Texts for people, by key: one module for each language.

What is named here is for embedders (docs/embedding.md), who may add a language or choose among these.
"""

from typing import Final

from ostiary_core.texts.en_us import ENGLISH
from ostiary_core.texts.language import Language, Languages, PluralCategory
from ostiary_core.texts.zh_cn import CHINESE

LANGUAGES: Final = Languages((ENGLISH, CHINESE))
"""Default languages of an endpoint."""

__all__ = ["CHINESE", "ENGLISH", "LANGUAGES", "Language", "Languages", "PluralCategory"]
