"""Describe the parameters of a list from its declaration."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from ostiary_core.storage.listing import Match
from ostiary_web.api_document.schemas import Json, as_sent, list_of, text
from ostiary_web.application.resources.fields import Field, ListView
from ostiary_web.application.resources.queries import DEFAULT_PAGE_SIZE, LARGEST_PAGE_SIZE, MOST_VALUES

_LONGEST: Final = 256
_BOUND: Final = as_sent(
    {
        "anyOf": [
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date"},
            {"type": "string", "maxLength": 0},
        ]
    }
)


def page_parameters(list_view: ListView[Any, Any]) -> Iterator[Json]:
    """Return the parameters of a page: which items, in which order."""
    yield _parameter("page", _number(999_999_999, 1), "From 1.")
    yield _parameter("pageSize", _number(LARGEST_PAGE_SIZE, DEFAULT_PAGE_SIZE), "Items of a page.")
    yield from narrowing_parameters(list_view)


def time_parameters(**said: str) -> Iterator[Json]:
    """Return the bounds of a time, by their names."""
    for name, description in said.items():
        yield _parameter(name, _BOUND, description)


def narrowing_parameters(list_view: ListView[Any, Any]) -> Iterator[Json]:
    """Return the parameters that choose and sort items."""
    resource = list_view.source
    fields = {field.listing_name: field for field in list_view.fields if field.listing_name is not None}
    names = [fields[name].name for name in resource.sorts]
    yield _parameter("sort", _sort(names), "Fields, comma-separated; a hyphen first for descending order.")
    for name in resource.ranges:
        yield _parameter(f"{fields[name].name}From", _BOUND, "At this time or later.")
        yield _parameter(f"{fields[name].name}To", _BOUND, "At this time or earlier.")
    for name, match in resource.filters.items():
        if name in fields:
            yield _filter(fields[name], match)
    for other, name in list_view.other_names.items():
        [field] = [field for field in list_view.fields if field.name == name]
        yield _filter(replace(field, name=other), Match.EQUALS)
    if resource.searched:
        searched = ", ".join(fields[name].name for name in resource.searched if name in fields)
        yield _parameter("q", text(most=_LONGEST), f"Contained in any of {searched}.")


def _filter(field: Field[Any], match: Match) -> Json:
    match match:
        case Match.CONTAINS:
            return _parameter(field.name, text(most=_LONGEST), "Contained, whatever the letter case.")
        case Match.HAS:
            return _parameter(field.name, text(most=_LONGEST), "Among them.")
        case Match.IS:
            return _parameter(field.name, Literal["true", "false", ""], "Yes or no.")
        case Match.EQUALS:
            value = (
                text(most=_LONGEST) if field.choices is None else Literal[(*field.choices, *field.groups, "")]
            )
            described = _parameter(field.name, list_of(value, most=MOST_VALUES), "Equal to any of these.")
            return described | {"style": "form", "explode": True}


def _number(most: int, default: int) -> Any:
    return Annotated[int, Meta(ge=1, le=most, extra_json_schema={"default": default})]


def _sort(names: Sequence[str]) -> Any:
    """Return the schema of `sort`, which repeats no field."""
    one = f"-?(?:{'|'.join(names)})"
    twice = "".join(f"(?!.*\\b{name}\\b.*\\b{name}\\b)" for name in names) if len(names) > 1 else ""
    more = f"(?:,{one})*" if len(names) > 1 else ""
    return Annotated[str, Meta(pattern=f"^{twice}(?:{one}{more})?$")]


def _parameter(name: str, kind: Any, description: str) -> Json:
    """Return a parameter, with its type for a schema."""
    return {"name": name, "in": "query", "required": False, "description": description, "schema": kind}
