"""Describe operations: some parts are declared, the rest is read from their routes.

From the route come method, path and the variable parts of it, its gate and its limit, and what follows from
them: who may call, and what a request may be refused for.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import NoneType
from typing import Annotated, Any, Final, get_origin, get_type_hints

from msgspec import Meta, Struct
from quart import Response

from ostiary_core.http.envelope import text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why
from ostiary_core.texts import ENGLISH
from ostiary_web.api_document.schemas import Json, Schemas, object_type
from ostiary_web.application.answer_data import AnswerData
from ostiary_web.http.gate import SUPER_ADMINISTRATOR, gate_of, handler_of, is_limited

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

CHALLENGE: Final = {"WWW-Authenticate": "How to authenticate."}

_BODY_REFUSALS: Final[Mapping[str, tuple[Why, ...]]] = {
    JSON: (Why.MEDIA_TYPE_UNSUPPORTED, Why.BODY_NOT_JSON, Why.FIELDS_INVALID, Why.BODY_TOO_LARGE),
    MULTIPART: (Why.NOT_MULTIPART, Why.FIELDS_INVALID, Why.BODY_TOO_LARGE),
    FORM: (),
}
_VARIABLE: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")
_VARIABLES: Final = {
    "client_id": "The client.",
    "record_id": "The record.",
    "run_id": "The import.",
    "session_id": "The session.",
    "user_id": "The user.",
}


class Fault(AnswerData):
    """A bad field."""

    path: str
    msg: Annotated[str, Meta(min_length=1)]


class Overrun(AnswerData):
    """A refusal over a limit, or a fault of the server."""

    code: Annotated[str, Meta(pattern="^[A-E][0-9]{4}$")]
    msg: Annotated[str, Meta(min_length=1)]
    data: None
    trace_id: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]


class Failure(Overrun):
    """The envelope of a failure; `errors` names every bad field, at most 100. Switch on `code`."""

    errors: list[Fault]


# --- what is declared


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its description, and the type of its content by media type."""

    description: str
    content: Any = None
    """None if it is empty or not described."""
    media_types: Iterable[str] = (JSON,)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header fields that it always has, with their descriptions."""


@dataclass(frozen=True, slots=True)
class Body:
    """The object that is sent, by its members."""

    members: Mapping[str, Any]
    media_type: str = JSON
    is_required: bool = True
    is_strict: bool = False
    """Whether other members are refused; those of the administration's operations always are."""
    rule: Json = field(default_factory=dict)
    """Schema of a rule between the members."""


@dataclass(frozen=True, slots=True)
class DescribedOperation:
    """What a route does, for its callers."""

    name: str
    """Identifier in generated clients."""
    summary: str = ""
    """Summary if the docstring of the handler has none."""
    _: KW_ONLY
    description: str = ""
    security: list[Json] | None = None
    """None if the gate of the route decides it."""
    parameters: Iterable[Json] = ()
    """Query and header parameters, each with a type for its schema."""
    body: Body | None = None
    data: Any = None
    """Type of a success's `data` in the envelope, if it is not what the handler returns."""
    status: int = 200
    begun: Any = None
    """Type of `data` when the work continues after the answer (202)."""
    refusals: tuple[Why, ...] = ()
    """Refusals that follow neither from the above nor from the route."""
    replies: Mapping[int, Reply] | None = None
    """Every answer without the envelope; then there is no success in it."""


# --- what is made of it


def described_path(rule: str) -> str:
    """Return a route's path as OpenAPI writes it.

    >>> described_path("/static/<path:filename>")
    '/static/{filename}'
    """
    return _VARIABLE.sub(r"{\1}", rule)


def describe(
    operation: DescribedOperation,
    tag: str,
    method: str,
    path: str,
    view: Callable[..., Any],
    schemas: Schemas,
) -> Json:
    """Return the operation as OpenAPI has it."""
    gate, handler = gate_of(view), handler_of(view)
    assert gate is not None
    summary, _, more = (handler.__doc__ or "").partition("\n")
    about = operation.description or " ".join(more.split())
    takes = "" if gate.permission is None else f"Takes the permission `{gate.permission.value}`."
    if gate == SUPER_ADMINISTRATOR:
        takes = "Takes a super administrator."
    follows: list[Json] = [] if gate.is_open else [{"login": []}]
    if gate.permission is not None:
        follows.append({"personalToken": []})
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary or summary.removesuffix("."),
        "description": " ".join(filter(None, (takes, about))),
        "tags": [tag],
        "security": follows if operation.security is None else operation.security,
        "parameters": describe_parameters(path, operation.parameters, schemas),
    }
    if operation.body is not None:
        name = f"{operation.name[0].upper()}{operation.name[1:]}Body"
        is_strict = operation.body.is_strict or gate.permission is not None
        sent = object_type(name, operation.body.members, strict=is_strict)
        schema = schemas.of(sent) | operation.body.rule
        described["requestBody"] = {
            "required": operation.body.is_required,
            "content": {operation.body.media_type: {"schema": schema}},
        }
    whys = [why for why in gate.refusals if method != "GET" or why is not Why.ORIGIN_UNPROVEN]
    if operation.body is not None:
        whys += _BODY_REFUSALS[operation.body.media_type]
    if method != "GET":
        whys.append(Why.CONTENT_CODING_UNSUPPORTED)
    if gate.permission is not None and operation.parameters:
        whys.append(Why.FIELDS_INVALID)
    if is_limited(view):
        whys.append(Why.TOO_MANY_REQUESTS)
    if "{" in path:
        whys.append(Why.NOT_FOUND)
    if path.endswith("}"):
        # The variable part may be a word that is an address of its own, with other methods.
        whys.append(Why.METHOD_NOT_ALLOWED)
    data = (
        get_type_hints(handler, include_extras=True).get("return")
        if operation.data is None
        else operation.data
    )
    data = None if data in (Response, NoneType) else data
    described["responses"] = _responses(operation, data, [*whys, *operation.refusals], schemas)
    return {member: said for member, said in described.items() if said or member == "security"}


def describe_parameters(path: str, others: Iterable[Json], schemas: Schemas) -> list[Json]:
    """Return the variable parts of a path, and the other parameters with a type for a schema."""
    described: list[Json] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _VARIABLES.get(name, "A part of the address."),
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r"{(\w+)}", path)
    ]
    return described + [{**each, "schema": schemas.of(each["schema"])} for each in others]


def _responses(
    operation: DescribedOperation, data: Any, whys: Iterable[Why], schemas: Schemas
) -> dict[str, Json]:
    replies: dict[int, Json] = {}
    if operation.replies is None:
        succeeded = Reply(_outcome(data), _envelope(data, schemas))
        replies[operation.status] = _reply(succeeded, schemas)
    else:
        replies |= {status: _reply(reply, schemas) for status, reply in operation.replies.items()}
    if operation.begun is not None:
        where = {"Location": "Where to ask how far it is."}
        goes_on = Reply(_outcome(operation.begun), _envelope(operation.begun, schemas), headers=where)
        replies[202] = _reply(goes_on, schemas)
    by_status: dict[int, list[Why]] = {}
    for why in dict.fromkeys((*whys, Why.REQUEST_MALFORMED, Why.INTERNAL_ERROR)):
        by_status.setdefault(MEANINGS[why].status, []).append(why)
    for status, several in by_status.items():
        replies.setdefault(status, _refusal(status, several, schemas))
    return {str(status): replies[status] for status in sorted(replies)}


def _envelope(data: Any, schemas: Schemas) -> Json:
    return {
        "type": "object",
        "properties": {"code": {"const": 0}, "msg": {"const": "ok"}, "data": schemas.of(data)},
        "required": ["code", "msg", "data"],
        "additionalProperties": False,
    }


def _outcome(data: Any) -> str:
    """Return the description of an answer from its type."""
    kind = get_origin(data) or data
    is_described = isinstance(kind, type) and issubclass(kind, Struct) and kind.__doc__
    return kind.__doc__ if is_described else "Done."


def _reply(reply: Reply, schemas: Schemas) -> Json:
    described: Json = {"description": reply.description}
    if reply.headers:
        described["headers"] = {
            name: {"description": said, "required": True, "schema": {"type": "string"}}
            for name, said in reply.headers.items()
        }
    if reply.content is not None:
        schema = schemas.of(reply.content)
        described["content"] = {media_type: {"schema": schema} for media_type in reply.media_types}
    return described


def _refusal(status: int, whys: Iterable[Why], schemas: Schemas) -> Json:
    """Return the answer in the envelope for these reasons, with its codes and their meanings."""
    codes = {"properties": {"code": {"enum": sorted({MEANINGS[why].code for why in whys})}}}
    schema: Json = {"allOf": [schemas.of(Failure), codes]}
    if Why.TOO_MANY_REQUESTS in whys:
        schema = {"anyOf": [schema, {"allOf": [schemas.of(Overrun), codes]}]}
    described = "\n".join(f"- `{MEANINGS[why].code}` {text_of(why, ENGLISH)}" for why in whys)
    return _reply(Reply(described, schema, headers=CHALLENGE if status == 401 else {}), schemas)
