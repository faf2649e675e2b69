"""Read authorization requests from HTTP and answer them in the envelope."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from ostiary_core.events import AuthorizationParameters
from ostiary_core.http.answer import Answer
from ostiary_core.http.envelope import failure, success
from ostiary_core.model.audit import TraceId
from ostiary_core.model.client import SCOPES
from ostiary_core.model.decision import Decision
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.reply import AuthorizationOffered, CodeIssued, ConsentRefused, Refused
from ostiary_core.model.why import Why
from ostiary_core.texts.language import Language

_NAMES: Final = (
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
)
_MOST_FIELDS: Final = 100


def read_query(query: bytes) -> AuthorizationParameters:
    """Read the query parameters of `/sso`."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        return AuthorizationParameters(undecodable=True)
    names = [name for name, _ in pairs]
    fields: dict[str, Any] = {name: value for name, value in pairs if name in _NAMES}
    return AuthorizationParameters(**fields, repeated=tuple(name for name in _NAMES if names.count(name) > 1))


class ConsentBody(NamedTuple):
    """The body that the consent page posts: the parameters, and whether the user approves."""

    parameters: AuthorizationParameters
    approve: bool


def read_body(content: Mapping[str, object]) -> ConsentBody | list[FieldFault]:
    """Read the body of `POST /api/oauth2/authorize`; else return every bad field."""
    fields: dict[str, Any] = {name: content[name] for name in _NAMES if content.get(name) is not None}
    faults = [
        FieldFault(name, FieldRule.STRING) for name, value in fields.items() if not isinstance(value, str)
    ]
    approve = content.get("approve")
    if not isinstance(approve, bool):
        return [*faults, FieldFault("approve", FieldRule.BOOLEAN)]
    return faults or ConsentBody(AuthorizationParameters(**fields), approve)


def answer(decision: Decision, *, language: Language, trace_id: TraceId) -> Answer:
    """Answer the consent page; a code appears only in the address to redirect to."""
    match decision.reply:
        case AuthorizationOffered() as offered:
            return success(_offer(offered, language))
        case CodeIssued(redirect_to=redirect_to):
            return success({"redirectTo": redirect_to.reveal()})
        case ConsentRefused(redirect_to=redirect_to):
            return success({"redirectTo": redirect_to})
        case Refused(why=why, faults=faults):
            return failure(why, language, trace_id, faults=faults)
        case _:
            return failure(Why.INTERNAL_ERROR, language, trace_id)


def _offer(offered: AuthorizationOffered, language: Language) -> dict[str, object]:
    return {
        "client": {"clientId": offered.client_id, "name": offered.client_name},
        "scopes": [
            {
                "scope": scope.scope,
                "description": scope_text(scope.scope, language),
                "autoApproved": scope.auto_approved,
            }
            for scope in offered.scopes
        ],
        "user": {"username": offered.username, "name": offered.user_name},
        "consentRequired": offered.consent_required,
        "redirectTo": None,
    }


def scope_text(scope: str, language: Language) -> str:
    """Return the description of a scope, or its bare name."""
    return language.text(f"scope.{scope}") if scope in SCOPES else scope
