"""Members of the objects that create and change records, made from the declaration of their fields."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from ostiary_core.model.client import CLIENT_ID, LONGEST_REDIRECT_URI, SCOPES
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.record_type import Kind, RecordField, RecordType, Setting
from ostiary_core.model.role import ROLE_CODE
from ostiary_web.api_document.schemas import NEW_PASSWORD, as_sent, optional, set_of
from ostiary_web.application.answer_data import LOCALE_SCHEMA, WRITTEN_PHONE_PATTERN

_EMPTY: Final = ({"type": "null"}, {"const": ""})

_FORMS: Final[dict[FieldRule, Any]] = {
    FieldRule.CLIENT_ID: Annotated[str, Meta(pattern=f"^{CLIENT_ID.pattern}$")],
    FieldRule.ROLE_CODE: Annotated[str, Meta(pattern=f"^{ROLE_CODE.pattern}$")],
    FieldRule.REDIRECT_URI: Annotated[
        str,
        Meta(
            max_length=LONGEST_REDIRECT_URI,
            description="An https URL without fragment, user name or wildcard; http for localhost alone.",
            extra_json_schema={"format": "uri"},
        ),
    ],
    FieldRule.AUTO_APPROVE_SCOPE: Literal[SCOPES],
    FieldRule.USERNAME: Annotated[
        str,
        Meta(min_length=1, max_length=64, description="Without white space, quotes, slashes, `:`, `<`, `>`."),
    ],
    FieldRule.PHONE: Annotated[str, Meta(pattern=f"^(?:{WRITTEN_PHONE_PATTERN})?$")] | None,
    FieldRule.LOCALE: as_sent({"anyOf": [LOCALE_SCHEMA, *_EMPTY]}),
    FieldRule.TIMEZONE: as_sent({"anyOf": [{"$ref": "#/components/schemas/TimeZone"}, *_EMPTY]}),
}
"""Types of the values whose form a pattern describes more closely than the declaration, by their rule."""
_AS_SHOWN: Final = optional(as_sent({"readOnly": True, "description": "May be sent back as it is shown."}))


def members_of_new(record_type: RecordType[Any]) -> dict[str, Any]:
    """Return the members of the object that creates a record."""
    members: dict[str, Any] = {}
    for field in record_type.fields:
        if field.setting is Setting.IMPORTED and field.in_forms:
            members[field.name] = NEW_PASSWORD
        elif field.bounds is not None:
            members[field.name] = (_type_of(field), field.bounds.default)
        elif field.setting is Setting.SWITCHED:
            members[field.name] = (_type_of(field), field.value(record_type.blank))
        elif field in record_type.settable:
            members[field.name] = _type_of(field) if field.is_required else optional(_type_of(field))
    return members


def members_of_change(record_type: RecordType[Any], record: type[Struct]) -> dict[str, Any]:
    """Return the members of the object that changes a record: each is optional, others may be sent back."""
    edited = {
        field.name: optional(_type_of(field))
        for field in record_type.fields
        if field.setting is Setting.EDITED
    }
    return {**dict.fromkeys(record.__struct_fields__, _AS_SHOWN), **edited}


def _type_of(field: RecordField[Any]) -> Any:
    match field.kind:
        case Kind.INTEGER:
            bounds = field.bounds
            return int if bounds is None else Annotated[int, Meta(ge=bounds.least, le=bounds.most)]
        case Kind.BOOLEAN:
            return bool
        case Kind.TEXTS | Kind.CODES:
            return set_of(_item_of(field), least=1 if field.is_required else None, most=field.most)
        case _ if field.rule in _FORMS:
            form = _FORMS[field.rule]
            return form if field.is_required else form | None
        case _ if field.is_required:
            about = "Printable, and not blank."
            return Annotated[str, Meta(min_length=1, max_length=field.most, description=about)]
        case _:
            return Annotated[str, Meta(max_length=field.most)] | None


def _item_of(field: RecordField[Any]) -> Any:
    if field.choices is not None:
        return Literal[tuple(map(str, field.choices(SPECIFICATION)))]
    return _FORMS.get(field.rule, str)
