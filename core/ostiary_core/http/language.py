"""Chooses the language of an answer by Accept-Language (RFC 9110 §12.5.4)."""

import re
from enum import StrEnum
from typing import Final


class Language(StrEnum):
    """The languages that every message exists in; the first is taken when a request names neither."""

    EN = "en-US"
    ZH = "zh-CN"


_RANGE: Final = re.compile(r"\s*([A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?\s*(?:;\s*[qQ]\s*=\s*([0-9.]{1,5})\s*)?")
_MOST_RANGES: Final = 20


def preferred_language(accept_language: str | None) -> Language:
    """The language a request prefers; anything that cannot be read counts as nothing said.

    >>> preferred_language("fr, zh-TW;q=0.9, en;q=0.8")
    <Language.ZH: 'zh-CN'>
    """
    if not accept_language:
        return Language.EN
    best, best_weight = Language.EN, 0.0
    for part in accept_language.split(",")[:_MOST_RANGES]:
        match = _RANGE.fullmatch(part)
        if match is None:
            continue
        named, weight = match[1].lower(), _weight(match[2])
        language = {"zh": Language.ZH, "en": Language.EN, "*": Language.EN}.get(named)
        if language is not None and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(text: str | None) -> float:
    try:
        return 1.0 if text is None else float(text)
    except ValueError:
        return 0.0
