"""Reads from the header fields of a token-service request who sent it.

A backend sends the same fields with every request, so whoever reads requests may keep what they meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ostiary_core.events import ClientCredentials
from ostiary_core.http.credentials import read_basic
from ostiary_core.http.form import header_values, says_form
from ostiary_core.model.why import Why
from ostiary_core.texts import LANGUAGES
from ostiary_core.texts.language import Language, Languages

Fields = Sequence[tuple[bytes, bytes]]
"""Header fields of a request: names in lower case, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of a request: credentials, User-Agent, language, and whether the body is a form."""

    says_form: bool
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
        says_form=says_form(headers),
        basic=read_basic(headers),
        user_agent=user_agent_of(headers),
        language=language_of(headers, languages),
    )


def user_agent_of(headers: Fields) -> str | None:
    """Read the User-Agent as text that keeps every byte; None where there is none (READINGS 2)."""
    values = header_values(headers, b"user-agent")
    return b", ".join(values).decode("latin-1") if values else None


def language_of(headers: Fields, languages: Languages) -> Language:
    """Read from Accept-Language which of `languages` is preferred."""
    return languages.preferred(b",".join(header_values(headers, b"accept-language")).decode("latin-1"))
