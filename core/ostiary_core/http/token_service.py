"""Turn HTTP requests to `/token`, `/introspect` and `/revoke` into events, and decisions into answers.

Errors have the raw form of RFC 6749 §5.2; only a full rate window and an internal error answer in the
envelope ("Errors").
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core import events
from ostiary_core.http.answer import (
    NO_STORE,
    UNCODED,
    Answer,
    Headers,
    answer_from_bytes,
    answer_from_json,
    json_answer,
    to_json,
)
from ostiary_core.http.envelope import text_of
from ostiary_core.http.form import read_form
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.http.sender import Sender, read_credentials
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Arrival, whole_seconds
from ostiary_core.model.records import GrantType
from ostiary_core.model.reply import Done, Refused, TokenActive, TokenInactive, TokensIssued
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.model.why import Why
from ostiary_core.oauth.parameters import parse_scope
from ostiary_core.texts.en_us import ENGLISH
from ostiary_core.throttling.rate_windows import Operation

PATHS: Final[Mapping[str, Operation]] = MappingProxyType(
    {
        "/api/oauth2/token": Operation.TOKEN,
        "/api/oauth2/introspect": Operation.INTROSPECT,
        "/api/oauth2/revoke": Operation.REVOKE,
    }
)
"""Operations by path; the method is POST."""

PATHS_USING_ENTROPY: Final = frozenset({"/api/oauth2/token"})
"""Paths whose events use the entropy that comes with a request."""

TokenServiceEvent = (
    events.CodeRedeemed
    | events.RefreshRequested
    | events.ClientCredentialsRequested
    | events.GrantUnrecognised
    | events.IntrospectionRequested
    | events.RevocationRequested
)


_CHALLENGE: Final = (b"www-authenticate", b'Basic realm="oauth2", charset="UTF-8"')
_REVOKED: Final = answer_from_bytes(200, b"Application/JSON", b"")
"""Empty answer with a JSON content type, without which a client in wide use fails (READINGS 21).

Its case does not count (RFC 9110 §8.3.1); a client that compares in lower case would parse the empty body.
"""

_INACTIVE: Final = json_answer(200, {"active": False})


def read(
    operation: Operation,
    sender: Sender,
    body: bytes,
    *,
    source: str,
    entropy: Entropy,
    arrival: Arrival | None = None,
) -> TokenServiceEvent | Answer:
    """Read the event of a request; else answer with the error (READINGS 13).

    `source` is the sending address; `entropy` is used at `PATHS_USING_ENTROPY`; `arrival` is None
    where the event is decided at once.
    """
    if sender.has_content_coding:
        return refusal(operation, Why.CONTENT_CODING_UNSUPPORTED)
    form = read_form(sender.form_encoding, body)
    if isinstance(form, Why):
        return refusal(operation, form)
    credentials = read_credentials(sender.basic, form)
    if isinstance(credentials, tuple):
        return refusal(operation, *credentials)
    if operation is Operation.INTROSPECT:
        return events.IntrospectionRequested(credentials, _secret(form, "token"))
    if operation is Operation.REVOKE:
        return events.RevocationRequested(credentials, _secret(form, "token"))
    return _token_event(form, credentials, sender.user_agent, source, entropy, arrival)


def _secret(form: Mapping[str, str], field: str) -> Secret | None:
    return Secret(form[field]) if field in form else None


def _token_event(
    form: Mapping[str, str],
    credentials: events.ClientCredentials,
    user_agent: str | None,
    source: str,
    entropy: Entropy,
    arrival: Arrival | None,
) -> TokenServiceEvent:
    match form.get("grant_type"):
        case GrantType.AUTHORIZATION_CODE:
            return events.CodeRedeemed(
                credentials=credentials,
                code=_secret(form, "code"),
                redirect_uri=form.get("redirect_uri"),
                code_verifier=form.get("code_verifier"),
                user_agent=user_agent,
                source=source,
                entropy=entropy,
            )
        case GrantType.REFRESH_TOKEN:
            spent = _secret(form, "refresh_token")
            return events.RefreshRequested(credentials, spent, _scopes(form), user_agent, entropy, arrival)
        case GrantType.CLIENT_CREDENTIALS:
            return events.ClientCredentialsRequested(credentials, _scopes(form), user_agent, source, entropy)
        case None:
            return events.GrantUnrecognised(credentials=credentials, why=Why.GRANT_TYPE_MISSING)
        case _:
            return events.GrantUnrecognised(credentials=credentials, why=Why.GRANT_TYPE_UNKNOWN)


def _scopes(form: Mapping[str, str]) -> tuple[str, ...] | None:
    return parse_scope(form["scope"]) or None if "scope" in form else None


def answer(event: TokenServiceEvent, decision: Decision) -> Answer:
    """Answer the client by the reply of a decision."""
    match decision.reply:
        case TokensIssued() as issued:
            return answer_from_json(200, _token_response(issued))
        case TokenActive() as active:
            return answer_from_json(200, _introspection(active))
        case TokenInactive():
            return _INACTIVE
        case Done():
            return _REVOKED
        case Refused(why=why):
            return refusal(_operation(event), why, event.credentials.method)
        case _:
            return refusal(_operation(event), Why.INTERNAL_ERROR)


def _operation(event: TokenServiceEvent) -> Operation:
    match event:
        case events.IntrospectionRequested():
            return Operation.INTROSPECT
        case events.RevocationRequested():
            return Operation.REVOKE
        case _:
            return Operation.TOKEN


def _token_response(issued: TokensIssued) -> str:
    """Write the response with tokens (RFC 6749 §5.1)."""
    # No token holds a character that JSON escapes; one format is ten times as fast as to encode a dict.
    refresh_token = issued.refresh_token
    refresh = "" if refresh_token is None else f'"refresh_token":"{refresh_token.reveal()}",'
    return (
        f'{{"access_token":"{issued.access_token.reveal()}","token_type":"Bearer",'
        f'"expires_in":{issued.expires_in_seconds},{refresh}"scope":{to_json(" ".join(issued.scopes))}}}'
    )


def _introspection(active: TokenActive) -> str:
    """Write the response to an introspection (RFC 7662 §2.2) with the specification's members."""
    kind = '"token_type":"Bearer",' if active.is_access_token else ""
    user = ""
    if active.user_id is not None:
        user = f',"sub":{to_json(active.user_id)},"username":{to_json(active.username)}'
    return (
        f'{{"active":true,"client_id":{to_json(active.client_id)},"scope":{to_json(" ".join(active.scopes))},'
        f'{kind}"exp":{whole_seconds(active.expires_at)}{user}}}'
    )


def refusal(
    operation: Operation, why: Why, method: events.AuthenticationMethod = events.AuthenticationMethod.FORM
) -> Answer:
    """Answer with an error (RFC 6749 §5.2): a 400 or, for `invalid_client` but by form at `/token`, a 401."""
    meaning = MEANINGS[why]
    status = meaning.status
    headers: Headers = NO_STORE
    if meaning.error == "invalid_client":
        if operation is Operation.TOKEN and method is events.AuthenticationMethod.FORM:
            status = 400
        else:
            headers = (*NO_STORE, _CHALLENGE)
    if why is Why.CONTENT_CODING_UNSUPPORTED:
        headers = (*NO_STORE, UNCODED)
    return json_answer(
        status,
        {"error": meaning.error or "invalid_request", "error_description": text_of(why, ENGLISH)},
        headers,
    )
