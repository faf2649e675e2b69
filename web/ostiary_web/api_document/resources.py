"""The generic record convention described, from the declaration of a resource."""

from typing import Any, Final

from ostiary_core.model.why import Why
from ostiary_web.api_document.lists import narrowing_parameters, page_of, page_parameters
from ostiary_web.api_document.parts import (
    JSON_REFUSALS,
    SIGNED_IN_REFUSALS,
    Json,
    array_of,
    json_body,
    object_of,
    operation,
    path_parameter,
    ref,
    refusals,
    success,
    text,
)
from ostiary_web.resources.declared import Declared
from ostiary_web.resources.records import MOST_AT_ONCE
from ostiary_web.resources.routes import MOST_OPTIONS
from ostiary_web.resources.sheets import SHEET_MEDIA_TYPE
from ostiary_web.zones import ZONE_HEADER

__all__ = ["ADMINISTRATION", "resource_paths"]

ADMINISTRATION: Final = (*SIGNED_IN_REFUSALS, Why.PASSWORD_MUST_CHANGE, Why.PERMISSION_MISSING)
"""What any operation that takes a permission may be refused for."""

_NULL: Final[Json] = {"type": "null"}
_CHANGING: Final = (
    Why.ALREADY_TAKEN,
    Why.STILL_REFERENCED,
    Why.BUILT_IN_PROTECTED,
    Why.ROLE_PROTECTED,
    Why.LAST_ADMINISTRATOR,
)
_SHEET: Final[Json] = {
    "description": "The sheet.",
    "content": {SHEET_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
}


def resource_paths(
    declared: Declared[Any, Any], singular: str, *, made: Json | None = None
) -> dict[str, dict[str, Json]]:
    """All operations of a resource. `singular` names the schemas of its record (`Role`), of what is sent for
    a new one (`NewRole`) and of what is sent to change one (`RoleChange`); `made` is what the answer for a
    new one holds, where that is more than the record."""
    return {
        declared.path: {
            "get": _list(declared, singular),
            "post": _create(declared, singular, made or ref(singular)),
        },
        f"{declared.path}/options": {"get": _options(declared, singular)},
        f"{declared.path}/export": {"get": _export(declared, singular)},
        f"{declared.path}/import-template": {"get": _template(declared, singular)},
        f"{declared.path}/import": {"post": _import(declared, singular)},
        f"{declared.path}/batch-delete": {"post": _batch_delete(declared, singular)},
        f"{declared.path}/{{id}}": {
            "get": _show(declared, singular),
            "put": _change(declared, singular),
            "delete": _delete(declared, singular),
        },
    }


def _id() -> list[Json]:
    return [path_parameter("id", "The record.")]


def _permission(declared: Declared[Any, Any], action: str) -> str:
    return f"Takes the permission `{getattr(declared.permissions, action).value}`."


def _list(declared: Declared[Any, Any], singular: str) -> Json:
    return operation(
        f"list{singular}s",
        "A page of the list",
        tag=declared.title.en,
        description=_permission(declared, "list"),
        parameters=page_parameters(declared.listed),
        responses={
            **success(page_of(ref(singular)), "The page."),
            **refusals(*ADMINISTRATION, Why.FIELDS_INVALID),
        },
    )


def _options(declared: Declared[Any, Any], singular: str) -> Json:
    option = object_of({"value": {"type": "string"}, "label": {"type": "string"}})
    return operation(
        f"list{singular}Options",
        f"What to choose from, at most {MOST_OPTIONS}",
        tag=declared.title.en,
        description=_permission(declared, "list"),
        parameters=narrowing_parameters(declared.listed),
        responses={
            **success(array_of(option, maxItems=MOST_OPTIONS)),
            **refusals(*ADMINISTRATION, Why.FIELDS_INVALID),
        },
    )


def _export(declared: Declared[Any, Any], singular: str) -> Json:
    zone = {
        "name": ZONE_HEADER,
        "in": "header",
        "required": False,
        "description": "The IANA zone of the sheet's times; one that is not known counts as not given.",
        "schema": {"type": "string"},
    }
    return operation(
        f"export{singular}s",
        "The list as a sheet",
        tag=declared.title.en,
        description=_permission(declared, "list"),
        parameters=[*narrowing_parameters(declared.listed), zone],
        responses={"200": _SHEET, **refusals(*ADMINISTRATION, Why.FIELDS_INVALID)},
    )


def _template(declared: Declared[Any, Any], singular: str) -> Json:
    return operation(
        f"show{singular}ImportTemplate",
        "An empty sheet to fill in",
        tag=declared.title.en,
        description=_permission(declared, "create"),
        responses={"200": _SHEET, **refusals(*ADMINISTRATION)},
    )


def _import(declared: Declared[Any, Any], singular: str) -> Json:
    sent = object_of(
        {
            "file": {"type": "string", "format": "binary"},
            "mode": {"type": "string", "enum": ["insert", "upsert"]},
        }
    )
    secret = object_of({"clientId": {"type": "string"}, "secret": {"type": "string"}})
    number = {"type": "integer", "minimum": 0}
    done = object_of(
        {"created": number, "updated": number, "unchanged": number, "secrets": array_of(secret)},
        optional=("secrets",),
    )
    del sent["additionalProperties"]
    return operation(
        f"import{singular}s",
        "A sheet of records, all of it or nothing",
        tag=declared.title.en,
        description=f"{_permission(declared, 'create')} A row that changes a record takes the permission "
        f"`{declared.permissions.update.value}` as well.",
        body={"required": True, "content": {"multipart/form-data": {"schema": sent}}},
        responses={
            **success(done),
            **refusals(
                *ADMINISTRATION, *_CHANGING, Why.FIELDS_INVALID, Why.NOT_MULTIPART, Why.BODY_TOO_LARGE
            ),
        },
    )


def _batch_delete(declared: Declared[Any, Any], singular: str) -> Json:
    ids = array_of(text(), minItems=1, maxItems=MOST_AT_ONCE, uniqueItems=True)
    return operation(
        f"delete{singular}s",
        "Delete several records, all of them or none",
        tag=declared.title.en,
        description=_permission(declared, "delete"),
        body=json_body(object_of({"ids": ids})),
        responses={
            **success(object_of({"deleted": {"type": "integer", "minimum": 1}})),
            **refusals(*ADMINISTRATION, *JSON_REFUSALS, *_CHANGING, Why.NOT_FOUND),
        },
    )


def _create(declared: Declared[Any, Any], singular: str, made: Json) -> Json:
    return operation(
        f"create{singular}",
        "A new record",
        tag=declared.title.en,
        description=_permission(declared, "create"),
        body=json_body(ref(f"New{singular}")),
        responses={
            **success(made, "The record as it now stands.", status=201),
            **refusals(*ADMINISTRATION, *JSON_REFUSALS, Why.ALREADY_TAKEN, Why.SUBMITTED_TWICE),
        },
    )


def _show(declared: Declared[Any, Any], singular: str) -> Json:
    return operation(
        f"show{singular}",
        "One record",
        tag=declared.title.en,
        description=_permission(declared, "list"),
        parameters=_id(),
        responses={**success(ref(singular)), **refusals(*ADMINISTRATION, Why.NOT_FOUND)},
    )


def _change(declared: Declared[Any, Any], singular: str) -> Json:
    return operation(
        f"change{singular}",
        "Other values for some fields of a record",
        tag=declared.title.en,
        description=_permission(declared, "update"),
        parameters=_id(),
        body=json_body(ref(f"{singular}Change")),
        responses={
            **success(ref(singular), "The record as it now stands."),
            **refusals(*ADMINISTRATION, *JSON_REFUSALS, *_CHANGING, Why.NOT_FOUND),
        },
    )


def _delete(declared: Declared[Any, Any], singular: str) -> Json:
    return operation(
        f"delete{singular}",
        "Delete a record",
        tag=declared.title.en,
        description=_permission(declared, "delete"),
        parameters=_id(),
        responses={**success(_NULL), **refusals(*ADMINISTRATION, *_CHANGING, Why.NOT_FOUND)},
    )
