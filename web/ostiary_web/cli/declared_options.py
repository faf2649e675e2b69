"""Options of commands for fields of records and filters of lists, made from their declarations."""

from collections.abc import Callable, Collection, Mapping
from functools import partial, wraps
from typing import Any, TypeVar

import click

from ostiary_core.http.envelope import field_text
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.record_type import Kind, RecordField, RecordType, Setting
from ostiary_core.storage.listing import Listing, Match
from ostiary_web.application.resources.fields import ListView
from ostiary_web.application.resources.queries import (
    Arguments,
    list_parameters,
    read_filters,
    sort_fields,
)
from ostiary_web.cli.arguments import SortOrder, YesOrNo, parameter_name
from ostiary_web.cli.printing import option_of
from ostiary_web.texts import LANGUAGES, heading_key

T = TypeVar("T")
Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def with_field_options(
    record_type: RecordType[Any], names: Mapping[str, str], left_out: Collection[str] = ()
) -> Decorator:
    """Give a command an option for each field of a record, and pass those given as `fields`.

    `names` are options that are not called as their fields are.
    """
    return _with_options(
        "fields",
        names,
        {
            field.name: partial(_make_field, field, record_type.name)
            for field in record_type.fields
            if field.setting is Setting.EDITED and field.name not in left_out
        },
    )


def with_filter_options(
    list_view: ListView[Any, Any], names: Mapping[str, str], left_out: Collection[str] = ()
) -> Decorator:
    """Give a command an option for the order and each filter of a list; pass those given as `filters`.

    `names` are options that are not called as the parameters of the interface are.
    """
    parameters = [name for name in list_parameters(list_view) if name not in left_out]
    makers = {name: partial(_make_filter, name, list_view) for name in parameters}
    return _with_options("filters", names, makers)


def read_listing(list_view: ListView[T, Any], filters: Arguments, page_size: int) -> Listing[T]:
    """Return the list that the options ask for; raise `click.UsageError` for values that it does not take."""
    given = {name: [value] if isinstance(value, str) else value for name, value in filters.items()}
    listing = read_filters(list_view, given, page_size)
    if isinstance(listing, Listing):
        return listing
    faults = (f"{option_of(fault.path)}: {field_text(fault, LANGUAGES.default)}" for fault in listing)
    raise click.UsageError("; ".join(faults))


def _with_options(
    keyword: str, names: Mapping[str, str], makers: Mapping[str, Callable[[str, str], Decorator]]
) -> Decorator:
    """Give a command an option for each name; pass the values of those given as `keyword`.

    One empty value of an option that may be repeated stands for an empty list.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_given(*args: Any, **given: Any) -> None:
            values = {name: given.pop(parameter_name(name)) for name in makers}
            found = {
                name: [each for each in value if each] if isinstance(value, tuple) else value
                for name, value in values.items()
                if value not in (None, ())
            }
            command(*args, **{keyword: found}, **given)

        decorated: Command = with_given
        for name in reversed([*makers]):
            option = names.get(name) or parameter_name(name).replace("_", "-")
            decorated = makers[name](option, parameter_name(name))(decorated)
        return decorated

    return decorate


def _make_field(field: RecordField[Any], list_name: str, option: str, parameter: str) -> Decorator:
    is_list = field.kind in (Kind.TEXTS, Kind.CODES)
    explained = [LANGUAGES.default.text(heading_key(LANGUAGES.default, list_name, field.name))]
    if field.choices is not None:
        explained.append(f"any of {', '.join(field.choices(SPECIFICATION))}")
    if field.bounds is not None:
        explained.append(f"{field.bounds.least} to {field.bounds.most}")
    if is_list:
        explained.append("repeat for more")
    help_text = f"{'; '.join(explained)}."
    if field.kind is Kind.BOOLEAN:
        return click.option(f"--{option}/--no-{option}", parameter, default=None, help=help_text)
    kind = int if field.kind is Kind.INTEGER else str
    return click.option(f"--{option}", parameter, type=kind, multiple=is_list, help=help_text)


def _make_filter(name: str, list_view: ListView[Any, Any], option: str, parameter: str) -> Decorator:
    if name == "q":
        return click.option(f"--{option}", parameter, help="Only items that contain this text.")
    if name == "sort":
        fields = ", ".join(parameter_name(each).replace("_", "-") for each in sort_fields(list_view))
        help_text = f"Order by {fields}; several with commas; - before one to descend."
        return click.option(f"--{option}", parameter, type=SortOrder(), help=help_text)
    field, end = next(
        (field, name.removeprefix(field.name))
        for field in list_view.fields
        if name in (field.name, f"{field.name}From", f"{field.name}To")
    )
    label = list_view.heading(field, LANGUAGES.default)
    match = list_view.source.filters.get(field.listing_name or "")
    if end:
        said = f"{label}, {end.lower()} this time."
        return click.option(f"--{option}", parameter, metavar="TIME", help=said)
    kind = YesOrNo() if match is Match.IS else None
    explained = {
        Match.EQUALS: "repeat for any of several",
        Match.CONTAINS: "any part",
        Match.HAS: "one of them",
        Match.IS: "yes or no",
    }
    said = "" if match is None else f"; {explained[match]}"
    return click.option(
        f"--{option}", parameter, type=kind, multiple=match is Match.EQUALS, help=f"{label}{said}."
    )
