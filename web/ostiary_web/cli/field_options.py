"""Options of commands for the fields of records, made from the declaration of these."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

import click

from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.record_type import Kind, RecordField, RecordType, Setting
from ostiary_web.texts import LANGUAGES, heading_key

Command = Callable[..., None]


def with_field_options(
    record_type: RecordType[Any], names: Mapping[str, str], left_out: Collection[str] = ()
) -> Callable[[Command], Command]:
    """Give a command an option for each field of a record, and pass those given as `fields`.

    `names` are options that are not called as their fields are.
    """
    options = {
        names.get(field.name) or re.sub("([A-Z])", r"-\1", field.name).lower(): field
        for field in record_type.fields
        if field.setting is Setting.EDITED and field.name not in left_out
    }

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_fields(*args: Any, **given: Any) -> None:
            fields: dict[str, object] = {}
            for option, field in options.items():
                value = given.pop(option.replace("-", "_"))
                if value is not None and value != ():
                    fields[field.name] = [each for each in value if each] if _is_list(field) else value
            command(*args, fields=fields, **given)

        decorated: Command = with_fields
        for option, field in reversed(options.items()):
            decorated = _make_option(option, field, record_type.name)(decorated)
        return decorated

    return decorate


def _make_option(option: str, field: RecordField[Any], list_name: str) -> Callable[[Command], Command]:
    explained = [LANGUAGES.default.text(heading_key(LANGUAGES.default, list_name, field.name))]
    if field.choices is not None:
        explained.append(f"any of {', '.join(field.choices(SPECIFICATION))}")
    if field.bounds is not None:
        explained.append(f"{field.bounds.least} to {field.bounds.most}")
    if _is_list(field):
        explained.append("repeat for more")
    help_text = f"{'; '.join(explained)}."
    if field.kind is Kind.BOOLEAN:
        return click.option(f"--{option}/--no-{option}", default=None, help=help_text)
    kind = int if field.kind is Kind.INTEGER else str
    return click.option(f"--{option}", type=kind, multiple=_is_list(field), help=help_text)


def _is_list(field: RecordField[Any]) -> bool:
    return field.kind in (Kind.TEXTS, Kind.CODES)
