"""Words of enumerated fields that this release does not know: a later one that shares the store wrote them.

Rules, all in this file (docs/upgrading.md, docs/decisions/0065-words-of-a-later-release.md):

- An unknown word is kept as it is, and written back as it was.
- It equals no member, so a rule that asks for a member refuses it: tokens of an unknown kind of session are
  accepted nowhere, an unknown grant type is not registered, an unknown permission is held by nobody.
- Only stored fields have them. What a request names is a member, or it is refused.
"""

from enum import StrEnum
from typing import TypeVar


class UnknownWord(str):
    """A stored word that is none of its field's members.

    >>> UnknownWord("of_the_next_release").value
    'of_the_next_release'
    """

    __slots__ = ()

    @property
    def value(self) -> str:
        """The word as it is stored, under the name that members have it by."""
        return str(self)


E = TypeVar("E", bound=StrEnum)


def read_word(kind: type[E], word: str) -> E | UnknownWord:
    """Return the member of a stored word, or the word itself if `kind` has none.

    >>> from ostiary_core.model.client import GrantType
    >>> read_word(GrantType, "refresh_token"), read_word(GrantType, "device_code")
    (<GrantType.REFRESH_TOKEN: 'refresh_token'>, 'device_code')
    """
    try:
        return kind(word)
    except ValueError:
        return UnknownWord(word)
