"""Characters that cannot be seen: a name with one of them looks like another name, or like none.

Unicode's `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt) are not displayed, and some others are
displayed as nothing. `str.isprintable` lets many of both through, as letters and marks.
"""

import re
import unicodedata
from typing import Final

_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK: Final = "\u2800\ufffc\U00013441\U00013442\U00016fe4\U0001d159"
"""Characters that are drawn as nothing: an empty Braille cell, a placeholder, fillers and blanks."""
_UNSEEN: Final = re.compile(f"[{_IGNORABLE}{_BLANK}]")
_EMOJI_SELECTORS: Final = "\ufe0e\ufe0f"


def is_visible(text: str) -> bool:
    """Whether every character of `text` can be seen, or is a space.

    >>> is_visible("Anna Ng"), is_visible("Anna\u3164"), is_visible("An\u200bna")
    (True, False, False)
    """
    return text.isprintable() and _UNSEEN.search(text) is None


def is_visible_name(text: str) -> bool:
    """Whether `text` can be a display name: visible, except a selector after a symbol.

    >>> is_visible_name("I \u2764\ufe0f tea"), is_visible_name("tea\ufe0f")
    (True, False)
    """
    plain = (
        character
        for before, character in zip(f" {text}", text, strict=False)
        if character not in _EMOJI_SELECTORS or unicodedata.category(before) not in ("So", "Sm")
    )
    return is_visible("".join(plain))
