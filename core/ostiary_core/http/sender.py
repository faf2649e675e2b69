"""Read who sent a token-service request: a client's credentials, User-Agent and language.

A backend sends the same header fields with every request, so a front door may cache what they say.
Credentials come by HTTP Basic or in form fields, never both (READINGS 15-17).
"""

import hashlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ostiary_core.events import AuthenticationMethod, ClientCredentials
from ostiary_core.http.form import FormEncoding, form_encoding, has_content_coding, header_values
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_core.texts import LANGUAGES
from ostiary_core.texts.language import Language, Languages

LONGEST_USER_AGENT: Final = 512
"""Most bytes of a User-Agent that are kept whole; those of browsers have 100 to 300."""

HeaderFields = Sequence[tuple[bytes, bytes]]
"""Header fields of a request, in order, with lower-case names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of a request: credentials, User-Agent, language, and what the body is."""

    form_encoding: FormEncoding | None
    """Encoding of the form that the Content-Type says the body is; None if it says another thing."""
    has_content_coding: bool = False
    """Whether the body is compressed or coded otherwise."""
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
        form_encoding=form_encoding(headers),
        has_content_coding=has_content_coding(headers),
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


# --- credentials


def read_basic(headers: HeaderFields) -> ClientCredentials | Why | None:
    """Read the credentials in the Authorization field, None without one; else return the reason."""
    match header_values(headers, b"authorization"):
        case []:
            return None
        case [value] if value.partition(b" ")[0].lower() != b"basic":
            return Why.AUTHENTICATION_SCHEME_UNKNOWN
        case [value]:
            return _from_basic(value) or Why.CREDENTIALS_MALFORMED
        case _:
            return Why.TWO_AUTHENTICATIONS


def read_credentials(
    basic: ClientCredentials | Why | None, form: Mapping[str, str]
) -> ClientCredentials | tuple[Why, AuthenticationMethod]:
    """Read the client's credentials; else return the reason and the method (READINGS 16)."""
    if basic is None:
        return _from_form(form)
    is_other_scheme = basic is Why.AUTHENTICATION_SCHEME_UNKNOWN
    if "client_secret" in form:
        # A Bearer token that some programs send with every request is told apart from a second method.
        why = Why.AUTHENTICATION_SCHEME_UNKNOWN if is_other_scheme else Why.TWO_AUTHENTICATIONS
        return why, AuthenticationMethod.BASIC
    if is_other_scheme:
        return Why.CREDENTIALS_MALFORMED, AuthenticationMethod.BASIC
    if isinstance(basic, Why):
        return basic, AuthenticationMethod.BASIC
    if form.get("client_id", basic.client_id) != basic.client_id:
        return Why.TWO_AUTHENTICATIONS, AuthenticationMethod.BASIC
    return basic


def _from_form(form: Mapping[str, str]) -> ClientCredentials | tuple[Why, AuthenticationMethod]:
    client_id, secret = form.get("client_id"), form.get("client_secret")
    if client_id is None or secret is None:
        return Why.CREDENTIALS_MISSING, AuthenticationMethod.FORM
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.FORM)


def _from_basic(value: bytes) -> ClientCredentials | None:
    """Read Basic credentials (RFC 7617 §2), not form-decoded ("POST /api/oauth2/token")."""
    encoded = value.partition(b" ")[2].strip()
    # The decoder overlooks a surplus padding (RFC 4648 §4).
    if len(encoded) % 4:
        return None
    try:
        client_id, _, secret = b64decode(encoded, validate=True).decode("utf-8").partition(":")
    except ValueError:
        return None
    if not client_id or not secret or "\x00" in client_id:
        return None
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.BASIC)
