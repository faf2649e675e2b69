"""Forms of records, made from the declaration of their fields: what they show, and how they are read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from werkzeug.datastructures import MultiDict

from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.record_type import Kind, RecordField, RecordType, Setting
from ostiary_core.model.user import LONGEST_PASSWORD
from ostiary_core.model.why import Why
from ostiary_web.application.resources.fields import ListView, SheetUse
from ostiary_web.pages.context import PageContext
from ostiary_web.texts import heading_key

Form = MultiDict[str, str]
Values = dict[str, Any]
Options = Sequence[tuple[str, str | Sequence[str]]]
"""Values with their texts, or labels of groups with the values in them."""

_ALWAYS_SHOWN: Final = ("lastUsedAt", "secretLastUsedAt", "lastSignInAt")
_INPUTS: Final = {FieldRule.PHONE: "tel", FieldRule.DATE: "date"}
_LONGEST_TEXT: Final = 100
_LONGEST_NUMBER: Final = 9
"""Digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form, as the template shows it."""

    name: str
    control: str
    """Macro of `fields.html` that draws it."""
    label: str
    hint: str
    is_required: bool
    most: int
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFact:
    """A field of a record on its page."""

    label: str
    kind: str
    value: object


def list_facts(
    page: PageContext,
    record_type: RecordType[Any],
    list_view: ListView[Any, Any],
    shown: Any,
    in_title: Collection[str],
    options: Mapping[str, Options],
) -> list[RecordFact]:
    """Return the fields of a record's page; `options` name codes, and `in_title` is shown above.

    A field that only sometimes says something is left out while it does not.
    """
    facts = []
    lifetimes = {field.name for field in record_type.fields if field.bounds is not None}
    for field in list_view.fields:
        value = field.read(shown)
        if field.sheet is SheetUse.IMPORT_ONLY or field.name in in_title:
            continue
        if field.sheet is SheetUse.EXPORT_ONLY and not value and field.name not in _ALWAYS_SHOWN:
            continue
        if isinstance(value, tuple):
            words = dict(options.get(field.name, ()))
            value = tuple(words.get(each, each) for each in value)
        label = list_view.heading(field, page.language)
        if field.name in lifetimes and isinstance(value, int):
            value = f"{value} ({page.duration(value)})"
        facts.append(RecordFact(label=label, kind=field.kind.value, value=value))
    return facts


def form_fields(record_type: RecordType[Any], *, is_new: bool) -> list[RecordField[Any]]:
    """Return the fields of the form for a new record, or for changing one."""
    settings = {Setting.EDITED, *((Setting.ONCE, Setting.IMPORTED) if is_new else ())}
    return [field for field in record_type.fields if field.setting in settings and field.in_forms]


def describe_form(
    page: PageContext,
    record_type: RecordType[Any],
    *,
    is_new: bool,
    left_out: Collection[str] = (),
    hints: Mapping[str, str],
    options: Mapping[str, Options],
    stored: Values,
) -> list[FormField]:
    """Return the form of a record; `hints` and `options` are those that no declaration has, by field.

    What is `stored` is offered too, also if only a later release knows it: a form that left it out would
    take it away.
    """
    return [
        FormField(
            name=field.name,
            control=_control(field, options),
            label=page.text(heading_key(page.language, record_type.name, field.name)),
            hint=_hint(page, field, is_new=is_new) or hints.get(field.name, ""),
            is_required=field.is_required or field.setting is Setting.IMPORTED,
            most=_most_characters(field),
            options=_offer(field, options, stored.get(field.name)),
        )
        for field in form_fields(record_type, is_new=is_new)
        if field.name not in left_out
    ]


def _offer(field: RecordField[Any], options: Mapping[str, Options], stored: object) -> Options:
    declared = field.choices(SPECIFICATION) if field.choices else ()
    offered = options.get(field.name) or [(each, each) for each in declared]
    held = stored if isinstance(stored, list) else [stored] if isinstance(stored, str) else []
    values = {each for value, text in offered for each in ((value,) if isinstance(text, str) else text)}
    return [*offered, *((each, each) for each in held if each not in values)]


def read_form(record_type: RecordType[Any], form: Form, *, is_new: bool) -> Values:
    """Return a form as the JSON object that says the same."""
    values: Values = {}
    for field in form_fields(record_type, is_new=is_new):
        text = form.get(field.name, "")
        match field.kind:
            case Kind.CODES:
                values[field.name] = form.getlist(field.name)
            case Kind.TEXTS:
                values[field.name] = [line.strip() for line in text.splitlines() if line.strip()]
            case Kind.INTEGER:
                # An empty field says nothing, so a new record gets the default.
                if text.strip():
                    values[field.name] = read_number(text.strip())
            case _ if field.setting is Setting.IMPORTED:
                values[field.name] = text
            case _:
                values[field.name] = text.strip() or ("" if field.is_required else None)
    return values


def read_number(text: str) -> int | str:
    """Return a whole number; any other text as it is, for the rules to refuse."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else text


def fill_form(record_type: RecordType[Any], item: Any) -> Values:
    """Return the values of a stored record for its form, those that cannot be changed too."""
    fields = form_fields(record_type, is_new=True)
    values = {field.name: field.value(item) for field in fields if field.setting is not Setting.IMPORTED}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _control(field: RecordField[Any], options: Mapping[str, Options]) -> str:
    match field.kind:
        case Kind.CODES:
            return "choices"
        case Kind.TEXTS:
            return "lines"
        case _ if field.name in options:
            return "select"
        case _ if field.setting is Setting.IMPORTED:
            return "password"
        case _:
            return _INPUTS.get(field.rule, "text")


def _hint(page: PageContext, field: RecordField[Any], *, is_new: bool) -> str:
    if field.bounds is None:
        return ""
    key = "page.client_hint_seconds" if is_new else "page.client_hint_seconds_kept"
    numbers = {"least": field.bounds.least, "most": field.bounds.most, "default": field.bounds.default}
    words = {f"{name}_words": page.duration(seconds) for name, seconds in numbers.items()}
    return page.text(key, **numbers, **words)


def _most_characters(field: RecordField[Any]) -> int:
    if field.kind is Kind.INTEGER:
        return _LONGEST_NUMBER
    return LONGEST_PASSWORD if field.setting is Setting.IMPORTED else field.most or _LONGEST_TEXT


# --- what was sent


def read_original(form: Form) -> Values | None:
    """Return what the form was filled with when it was sent out; None if it does not say."""
    try:
        original: Values = msgspec.json.decode(form.get("shown", ""), type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return original


def keep_order(record_type: RecordType[Any], fields: Values, original: Values) -> Values:
    """Return the fields, with unchanged checkboxes in the order of the record, not of the page."""
    names = [field.name for field in record_type.fields if field.kind is Kind.CODES]
    before = {name: original[name] for name in names if isinstance(original.get(name), list)}
    return fields | {
        name: values for name, values in before.items() if sorted(map(str, values)) == sorted(fields[name])
    }


def faults_by_field(page: PageContext, faults: tuple[FieldFault, ...], stored: Values) -> Mapping[str, str]:
    """Return the faults by field of the form, with the stored value if another user changed it."""
    found: dict[str, list[str]] = {}
    for fault in faults:
        field, _, place = fault.path.partition(".")
        text = field_text(fault, page.language)
        if fault.rule is Why.CHANGED_MEANWHILE:
            text = f"{text} {page.text('page.stands_now', value=_format_value(page, stored.get(field)))}"
        number = f"{int(place) + 1}: " if place.isdigit() else ""
        found.setdefault(field, []).append(f"{number}{text}")
    return {field: "; ".join(texts) for field, texts in found.items()}


def _format_value(page: PageContext, value: object) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return words or page.text("page.nothing")
