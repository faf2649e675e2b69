"""What the descriptions of operations are made of: schemas, bodies, answers, and what refuses them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why

__all__ = [
    "ANYBODY",
    "FORM",
    "JSON",
    "JSON_REFUSALS",
    "SIGNED_IN",
    "SIGNED_IN_REFUSALS",
    "Json",
    "array_of",
    "enumeration",
    "envelope",
    "json_body",
    "members",
    "nullable",
    "object_of",
    "operation",
    "overrun",
    "path_parameter",
    "ref",
    "refusals",
    "shared_schemas",
    "success",
    "text",
]

Json = dict[str, Any]

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

SIGNED_IN: Final[list[Json]] = [{"login": []}]
"""The access token of a login session. A browser's cookie with its form token does as well."""
ANYBODY: Final[list[Json]] = []

SIGNED_IN_REFUSALS: Final = (Why.NOT_SIGNED_IN, Why.ORIGIN_UNPROVEN)
JSON_REFUSALS: Final = (
    Why.MEDIA_TYPE_UNSUPPORTED,
    Why.BODY_NOT_JSON,
    Why.FIELDS_INVALID,
    Why.BODY_TOO_LARGE,
)
"""What any body in JSON may be refused for."""

_FAILURE: Final = "Failure"
_OVERRUN: Final = "Overrun"


# --- schemas


def ref(name: str) -> Json:
    """A schema of the components, by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def text(least: int = 0, most: int | None = None, **more: Any) -> Json:
    """A string of so many characters, none of them NUL."""
    schema: Json = {"type": "string", "pattern": "^[^\\u0000]*$"}
    if least:
        schema["minLength"] = least
    if most is not None:
        schema["maxLength"] = most
    return schema | more


def nullable(schema: Json) -> Json:
    """The same or null."""
    if isinstance(schema.get("type"), str):
        more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
        return {**schema, "type": [schema["type"], "null"], **more}
    return {"anyOf": [schema, {"type": "null"}]}


def enumeration(values: Iterable[str]) -> Json:
    """One of these strings."""
    return {"type": "string", "enum": list(values)}


def array_of(schema: Json, **more: Any) -> Json:
    """An array."""
    return {"type": "array", "items": schema, **more}


def object_of(properties: Mapping[str, Json], optional: Iterable[str] = (), **more: Any) -> Json:
    """An object with these members and no others; all of them, but for the optional ones."""
    required = [name for name in properties if name not in set(optional)]
    schema: Json = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, **({"required": required} if required else {}), **more}


def members(properties: Mapping[str, Json], optional: Iterable[str] = ()) -> Json:
    """The members of a body that are read; others are ignored."""
    schema = object_of(properties, optional)
    del schema["additionalProperties"]
    return schema


def envelope(data: Json) -> Json:
    """The envelope of a success."""
    return object_of({"code": {"const": 0}, "msg": {"const": "ok"}, "data": data})


def shared_schemas() -> dict[str, Json]:
    """The schemas that every part of the document refers to."""
    trace_id = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
    overrun: dict[str, Json] = {
        "code": {"type": "string", "pattern": "^[A-E][0-9]{4}$"},
        "msg": {"type": "string", "minLength": 1},
        "data": {"type": "null"},
        "traceId": trace_id,
    }
    fault = object_of({"path": {"type": "string"}, "msg": {"type": "string", "minLength": 1}})
    return {
        _FAILURE: object_of(
            {**overrun, "errors": array_of(fault)},
            description="The envelope of a failure; `errors` names every bad field. Switch on `code`.",
        ),
        _OVERRUN: object_of(overrun, description="Over a limit, or a fault of the server."),
    }


# --- parameters and bodies


def path_parameter(name: str, description: str) -> Json:
    """A variable part of a path."""
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def json_body(schema: Json, *, required: bool = True) -> Json:
    """A body in JSON."""
    return {"required": required, "content": {JSON: {"schema": schema}}}


# --- answers


def overrun(description: str) -> Json:
    """An answer in the envelope without `errors` ("Envelope errors on the token-service endpoints")."""
    return {"description": description, "content": {JSON: {"schema": ref(_OVERRUN)}}}


def success(data: Json, description: str = "Done.", status: int = 200) -> dict[str, Json]:
    """The answer when all went well."""
    return {str(status): {"description": description, "content": {JSON: {"schema": envelope(data)}}}}


def refusals(*whys: Why) -> dict[str, Json]:
    """The answers in the envelope for these reasons, by status, each with its codes and what they mean."""
    by_status: dict[int, list[Why]] = {}
    for why in dict.fromkeys((*whys, Why.REQUEST_MALFORMED, Why.INTERNAL_ERROR)):
        by_status.setdefault(MEANINGS[why].status, []).append(why)
    return {str(status): _refusal(status, by_status[status]) for status in sorted(by_status)}


def _refusal(status: int, whys: list[Why]) -> Json:
    codes = sorted({MEANINGS[why].code for why in whys})
    narrowed = {"properties": {"code": {"enum": codes}}}
    schema: Json = {"allOf": [ref(_FAILURE), narrowed]}
    if Why.TOO_MANY_REQUESTS in whys:
        schema = {"anyOf": [schema, {"allOf": [ref(_OVERRUN), narrowed]}]}
    answer: Json = {
        "description": "\n".join(f"- `{MEANINGS[why].code}` {MEANINGS[why].en}" for why in whys),
        "content": {JSON: {"schema": schema}},
    }
    if status == 401:
        challenge = {"description": "How to authenticate.", "required": True, "schema": {"type": "string"}}
        answer["headers"] = {"WWW-Authenticate": challenge}
    return answer


def operation(
    name: str,
    summary: str,
    *,
    tag: str,
    responses: Mapping[str, Json],
    security: list[Json] = SIGNED_IN,
    parameters: Iterable[Json] = (),
    body: Json | None = None,
    description: str | None = None,
) -> Json:
    """One operation; `name` is its identifier in generated clients."""
    described: Json = {"operationId": name, "summary": summary, "tags": [tag], "security": security}
    if description is not None:
        described["description"] = description
    listed = list(parameters)
    if listed:
        described["parameters"] = listed
    if body is not None:
        described["requestBody"] = body
    described["responses"] = dict(responses)
    return described
