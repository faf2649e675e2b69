"""Reads from the header fields of a token-service request who sent it.

A backend sends the same fields with every request, so whoever reads requests may keep what they meant.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ostiary_core.events import ClientCredentials
from ostiary_core.http.credentials import read_basic
from ostiary_core.http.form import has_form_content_type, header_values
from ostiary_core.model.why import Why
from ostiary_core.texts import LANGUAGES
from ostiary_core.texts.language import Language, Languages

LONGEST_USER_AGENT: Final = 512
"""Bytes of a User-Agent that are kept; those of browsers have 100 to 300."""

Fields = Sequence[tuple[bytes, bytes]]
"""Header fields of a request: names in lower case, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of a request: credentials, User-Agent, language, and whether the body is a form."""

    is_form: bool
    """Whether its body is said to be a form."""
    basic: ClientCredentials | Why | None
    """By the Authorization field; what is wrong with it, or None where there is none."""
    user_agent: str | None
    language: Language

    def without_secrets(self) -> "Sender":
        """Return a copy with only the digest of the client's secret, fit to be kept in memory."""
        if not isinstance(self.basic, ClientCredentials):
            return self
        return replace(self, basic=replace(self.basic, secret=self.basic.secret.without_text()))


def sender_of(headers: Fields, languages: Languages = LANGUAGES) -> Sender:
    """Read the sender from header fields; fields that the token service does not use are ignored."""
    return Sender(
        is_form=has_form_content_type(headers),
        basic=read_basic(headers),
        user_agent=user_agent_of(headers),
        language=language_of(headers, languages),
    )


def user_agent_of(headers: Fields) -> str | None:
    """Read the User-Agent as text that tells every byte from another; None where there is none (READINGS 2).

    A long one is cut, and followed by the digest of all of it: whoever sends it, of its text no more is kept.
    """
    values = header_values(headers, b"user-agent")
    if not values:
        return None
    whole = b", ".join(values)
    if len(whole) <= LONGEST_USER_AGENT:
        return whole.decode("latin-1")
    # Longer than any that is kept whole, so nobody can send the text that another's was cut to.
    beginning = whole[:LONGEST_USER_AGENT].decode("latin-1")
    return f"{beginning}... (sha256 {hashlib.sha256(whole).hexdigest()})"


def language_of(headers: Fields, languages: Languages) -> Language:
    """Read from Accept-Language which of `languages` is preferred."""
    return languages.preferred(b",".join(header_values(headers, b"accept-language")).decode("latin-1"))
