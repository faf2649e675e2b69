"""Read from the header fields of a token-service request who sent it.

A backend sends the same fields with every request, so a front door may cache the result.
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
"""Most bytes of a User-Agent that are kept whole; those of browsers have 100 to 300."""

HeaderFields = Sequence[tuple[bytes, bytes]]
"""Header fields of a request, in order, with lower-case names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of a request: credentials, User-Agent, language, and whether the body is a form."""

    is_form: bool
    """Whether the Content-Type is a form."""
    basic: ClientCredentials | Why | None
    """Credentials of the Authorization field, or the reason; None without the field."""
    user_agent: str | None
    language: Language

    def drop_secrets(self) -> "Sender":
        """Return a copy with only the digest of the client's secret, to cache."""
        if not isinstance(self.basic, ClientCredentials):
            return self
        return replace(self, basic=replace(self.basic, secret=self.basic.secret.drop_text()))


def sender_of(headers: HeaderFields, languages: Languages = LANGUAGES) -> Sender:
    """Read the sender from header fields; others than the token service's are ignored."""
    return Sender(
        is_form=has_form_content_type(headers),
        basic=read_basic(headers),
        user_agent=user_agent_of(headers),
        language=language_of(headers, languages),
    )


def user_agent_of(headers: HeaderFields) -> str | None:
    """Read the User-Agent as Latin-1; a long one is cut and has the digest of all of it (READINGS 2)."""
    values = header_values(headers, b"user-agent")
    if not values:
        return None
    whole = b", ".join(values)
    if len(whole) <= LONGEST_USER_AGENT:
        return whole.decode("latin-1")
    # The result is longer than any kept whole, so no client can send what another's was cut to.
    beginning = whole[:LONGEST_USER_AGENT].decode("latin-1")
    return f"{beginning}... (sha256 {hashlib.sha256(whole).hexdigest()})"


def language_of(headers: HeaderFields, languages: Languages) -> Language:
    """Choose one of `languages` by Accept-Language."""
    return languages.negotiate(b",".join(header_values(headers, b"accept-language")).decode("latin-1"))
