"""Read user-info requests with a Bearer token and answer with the profile in the envelope."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from ostiary_core.events import ProfileRequested
from ostiary_core.http.answer import NO_STORE, Answer, Headers
from ostiary_core.http.envelope import failure, success
from ostiary_core.http.form import header_values
from ostiary_core.model.audit import TraceId
from ostiary_core.model.decision import Decision
from ostiary_core.model.reply import Profile, Refused
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_core.texts.language import Language

PATH: Final = "/api/oauth2/userinfo"

_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9\-._~+/]+=*) *")
"""Bearer credentials (RFC 6750 §2.1), the scheme in any case (RFC 9110 §11.1)."""


def _challenge(value: bytes) -> Headers:
    return (*NO_STORE, (b"www-authenticate", value))


_CHALLENGES: Final = MappingProxyType(
    {
        Why.NOT_SIGNED_IN: _challenge(b'Bearer realm="oauth2", error="invalid_token"'),
        Why.REPRESENTS_NO_USER: _challenge(b'Bearer realm="oauth2", error="insufficient_scope"'),
        Why.USER_READ_MISSING: _challenge(
            b'Bearer realm="oauth2", error="insufficient_scope", scope="user.read"'
        ),
    }
)


def read_bearer_token(headers: Sequence[tuple[bytes, bytes]]) -> Secret | None:
    """Read the Bearer token, if the one Authorization field has one."""
    match header_values(headers, b"authorization"):
        case [value] if found := _BEARER.fullmatch(value):
            return Secret(found[1].decode("ascii"))
        case _:
            return None


def read(
    headers: Sequence[tuple[bytes, bytes]], *, language: Language, trace_id: TraceId
) -> ProfileRequested | Answer:
    """Read the event of a request; without a Bearer token, answer 401 (RFC 6750 §3)."""
    token = read_bearer_token(headers)
    if token is None:
        challenge = _challenge(b'Bearer realm="oauth2"')
        return failure(Why.NOT_SIGNED_IN, language, trace_id, headers=challenge)
    return ProfileRequested(access_token=token)


def answer(decision: Decision, *, language: Language, trace_id: TraceId) -> Answer:
    """Answer with the profile in the envelope, or with the refusal."""
    match decision.reply:
        case Profile() as profile:
            return success(
                {
                    "sub": profile.user_id,
                    "username": profile.username,
                    "name": profile.name,
                    "avatarUrl": profile.avatar_url,
                    "locale": profile.locale,
                }
            )
        case Refused(why=why):
            return failure(why, language, trace_id, headers=_CHALLENGES.get(why, NO_STORE))
        case _:
            return failure(Why.INTERNAL_ERROR, language, trace_id)
