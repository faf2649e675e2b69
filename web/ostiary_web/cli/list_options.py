"""Options of commands for the filters of lists, made from the declaration of these."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import click

from ostiary_core.http.envelope import field_text
from ostiary_core.storage.listing import Listing, Match
from ostiary_web.api.resources.fields import ListView
from ostiary_web.api.resources.queries import Arguments, filter_fields, list_parameters, read_filters
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")
Command = Callable[..., None]


def with_filter_options(
    list_view: ListView[Any, Any], names: Mapping[str, str]
) -> Callable[[Command], Command]:
    """Give a command an option for each filter, range and search of a list; pass those given as `filters`.

    `names` are options that are not called as the parameters of the interface are.
    """
    options = {
        names.get(name) or re.sub("([A-Z])", r"-\1", name).lower(): name
        for name in list_parameters(list_view)
        if name != "sort"
    }

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_filters(*args: Any, **given: Any) -> None:
            filters: dict[str, list[str]] = {}
            for option, name in options.items():
                value = given.pop(option.replace("-", "_"))
                if value:
                    filters[name] = [value] if isinstance(value, str) else list(value)
            command(*args, filters=filters, **given)

        decorated: Command = with_filters
        for option, name in reversed(options.items()):
            decorated = _make_option(option, name, list_view)(decorated)
        return decorated

    return decorate


def read_listing(list_view: ListView[T, Any], filters: Arguments, page_size: int) -> Listing[T]:
    """Return the list that the options ask for; raise `click.UsageError` for values that it does not take."""
    listing = read_filters(list_view, filters, page_size)
    if isinstance(listing, Listing):
        return listing
    faults = (f"{fault.path}: {field_text(fault, LANGUAGES.default)}" for fault in listing)
    raise click.UsageError("; ".join(faults))


def _make_option(option: str, name: str, list_view: ListView[Any, Any]) -> Callable[[Command], Command]:
    if name == "q":
        return click.option(f"--{option}", help="Only items that contain this text.")
    field, end = next(
        (field, name.removeprefix(field.name))
        for field in filter_fields(list_view)
        if name in (field.name, f"{field.name}From", f"{field.name}To")
    )
    label = list_view.heading(field, LANGUAGES.default)
    match = list_view.source.filters.get(field.listing_name or "")
    if end:
        return click.option(f"--{option}", metavar="TIME", help=f"{label}, {end.lower()} this time.")
    kind = click.Choice(("true", "false")) if match is Match.IS else None
    several = match is Match.EQUALS
    explained = {
        Match.EQUALS: "repeat for any of several",
        Match.CONTAINS: "any part",
        Match.HAS: "one of them",
        Match.IS: "yes or no",
    }
    said = "" if match is None else f"; {explained[match]}"
    return click.option(f"--{option}", type=kind, multiple=several, help=f"{label}{said}.")
