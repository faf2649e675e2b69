"""Lists described, from their declarations: what may be asked of one, and what its items look like."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ostiary_core.storage.listing import Match
from ostiary_web.api_document.parts import Json, array_of, enumeration, nullable, object_of, text
from ostiary_web.resources.declaration import Column, Field, Kind, Listed
from ostiary_web.resources.queries import DEFAULT_PAGE_SIZE, LARGEST_PAGE_SIZE

__all__ = ["item_schema", "narrowing_parameters", "page_of", "page_parameters"]

_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_LONGEST: Final = 256
_KINDS: Final[dict[Kind, Json]] = {
    Kind.TEXT: {"type": ["string", "null"]},
    Kind.TEXTS: array_of({"type": "string"}),
    Kind.CODES: array_of({"type": "string"}),
    Kind.INTEGER: {"type": "integer"},
    Kind.TRUTH: {"type": "boolean"},
    Kind.TIME: nullable(_TIME),
}


def item_schema(fields: Sequence[Field[Any]]) -> Json:
    """An item as it is shown; always all of its fields."""
    return object_of(
        {
            field.name: {**_shown(field), "title": field.heading.en}
            for field in fields
            if field.column is not Column.BROUGHT
        }
    )


def _shown(field: Field[Any]) -> Json:
    return _KINDS[field.kind] if field.choices is None else enumeration(field.choices)


def page_of(item: Json) -> Json:
    """One page of a list."""
    return object_of(
        {"items": array_of(item, maxItems=LARGEST_PAGE_SIZE), "total": {"type": "integer", "minimum": 0}}
    )


def page_parameters(listed: Listed[Any, Any]) -> list[Json]:
    """What a list may be asked."""
    size = {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE}
    return [
        _parameter(
            "page", {"type": "integer", "minimum": 1, "maximum": 999_999_999, "default": 1}, "From 1."
        ),
        _parameter("pageSize", size, "Items of a page."),
        *narrowing_parameters(listed),
    ]


def narrowing_parameters(listed: Listed[Any, Any]) -> list[Json]:
    """What a list may be asked where it has no pages."""
    return list(_narrowing(listed))


def _narrowing(listed: Listed[Any, Any]) -> Iterator[Json]:
    resource = listed.resource
    fields = {field.listed: field for field in listed.fields if field.listed is not None}
    names = [fields[name].name for name in resource.sorts]
    yield _parameter("sort", _sort(names), "Fields, comma-separated; a hyphen first for descending order.")
    for name in resource.ranges:
        for end, description in (("From", "At this time or later."), ("To", "At this time or earlier.")):
            yield _parameter(f"{fields[name].name}{end}", _BOUND, description)
    for name, match in resource.filters.items():
        if name in fields:
            yield _filter(fields[name], match)
    if resource.searched:
        searched = ", ".join(fields[name].name for name in resource.searched if name in fields)
        yield _parameter("q", text(0, _LONGEST), f"Contained in any of {searched}.")


_BOUND: Final[Json] = {
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "date"},
        {"type": "string", "maxLength": 0},
    ]
}


def _filter(field: Field[Any], match: Match) -> Json:
    match match:
        case Match.CONTAINS:
            return _parameter(field.name, text(0, _LONGEST), "Contained, whatever the letter case.")
        case Match.IS:
            return _parameter(field.name, enumeration(("true", "false", "")), "Yes or no.")
        case Match.EQUALS:
            value = text(0, _LONGEST) if field.choices is None else enumeration((*field.choices, ""))
            described = _parameter(field.name, array_of(value, maxItems=50), "Equal to any of these.")
            return described | {"style": "form", "explode": True}


def _sort(names: Sequence[str]) -> Json:
    """No field twice."""
    one = f"-?(?:{'|'.join(names)})"
    twice = "".join(f"(?!.*\\b{name}\\b.*\\b{name}\\b)" for name in names) if len(names) > 1 else ""
    more = f"(?:,{one})*" if len(names) > 1 else ""
    return {"type": "string", "pattern": f"^{twice}(?:{one}{more})?$"}


def _parameter(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
