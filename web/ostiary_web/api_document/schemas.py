"""Make schemas of what is sent and answered from types: structs, annotated ones, declared records."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.json import schema_components

from ostiary_core.model.record_type import Kind
from ostiary_core.model.user import LONGEST_PASSWORD, SHORTEST_PASSWORD
from ostiary_web.application.answer_data import Time
from ostiary_web.application.resources.changes import ChangedField
from ostiary_web.application.resources.fields import ListView, SheetUse
from ostiary_web.application.resources.lists import ListAnswer
from ostiary_web.texts import LANGUAGES

Json = dict[str, Any]

_KINDS: Final[Mapping[Kind, Any]] = {
    Kind.TEXT: str | None,
    Kind.TEXTS: list[str],
    Kind.CODES: list[str],
    Kind.INTEGER: int,
    Kind.BOOLEAN: bool,
    Kind.TIME: Time | None,
    Kind.CHANGES: list[ChangedField],
}


class Schemas:
    """Makes schemas, and collects structs and enumerations as the components they refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Json] = {}

    def of(self, kind: Any) -> Json:
        """Return the schema of a type, of exactly one of several, or a schema unchanged."""
        if isinstance(kind, dict):
            return kind
        if isinstance(kind, tuple):
            return {"oneOf": [self.of(each) for each in kind]}
        [schema], found = schema_components([kind], ref_template="#/components/schemas/{name}")
        for name, component in found.items():
            if self.components.setdefault(name, component) != component:
                raise ValueError(f"two types of the interface are called {name}")
        return schema


# --- types made here


def object_type(
    name: str, members: Mapping[str, Any], *, strict: bool = True, about: str | None = None
) -> type[Struct]:
    """Return an object type of members: types, or pairs of a type and its default.

    A strict one has no other members.
    """
    fields = [(member, *(of if isinstance(of, tuple) else (of,))) for member, of in members.items()]
    namespace = {"__doc__": about}
    return defstruct(name, fields, kw_only=True, forbid_unknown_fields=strict, namespace=namespace)


def record_type(name: str, list_view: ListView[Any, Any], **more: Any) -> type[Struct]:
    """Return the type of a list's item as it is shown, with all of its fields."""
    shown = {
        field.name: Annotated[
            _KINDS[field.kind] if field.choices is None else Literal[tuple(field.choices)],
            Meta(title=list_view.heading(field, LANGUAGES.default)),
        ]
        for field in list_view.fields
        if not field.is_filter_only and field.sheet is not SheetUse.IMPORT_ONLY
    }
    return object_type(name, {**shown, **more}, about="The record as it stands.")


def optional(kind: Any) -> tuple[Any, UnsetType]:
    """Return a member that may be absent."""
    return (kind | UnsetType, UNSET)


def text(
    least: int | None = None, most: int | None = None, description: str | None = None, **more: Any
) -> Any:
    """Return a string type of so many characters, none of them NUL."""
    return Annotated[
        str,
        Meta(
            min_length=least,
            max_length=most,
            pattern="^[^\\u0000]*$",
            description=description,
            extra_json_schema=more,
        ),
    ]


def list_of(item: Any, least: int | None = None, most: int | None = None, **more: Any) -> Any:
    """Return an array type."""
    return Annotated[list[item], Meta(min_length=least, max_length=most, extra_json_schema=more)]


def page_of(item: Any) -> Any:
    """Return a page of a list."""
    return ListAnswer[item]


def set_of(item: Any, least: int | None = None, most: int | None = None, **more: Any) -> Any:
    """Return an array type without duplicates."""
    return list_of(item, least, most, uniqueItems=True, **more)


def as_sent(schema: Json) -> Any:
    """Return a type that only a schema can express."""
    return Annotated[Any, Meta(extra_json_schema=schema)]


FILE: Final = as_sent({"type": "string", "format": "binary"})
CURRENT_PASSWORD: Final = text(1, LONGEST_PASSWORD, format="password")
NEW_PASSWORD: Final = text(SHORTEST_PASSWORD, LONGEST_PASSWORD, format="password")
