"""What changed in a record, as the interface tells it: as JSON, and a line of words for each field."""

from collections.abc import Iterable, Mapping
from typing import Any

from ostiary_core.model.changes import FieldChange, Value
from ostiary_core.model.fact import FactKind
from ostiary_core.texts import Language
from ostiary_web.api.answer_data import AnswerData

Told = str | int | bool | list[str] | None


class ChangedField(AnswerData):
    """A field before and after; null where there was no record, or no value. A telephone number has its last
    two digits, and of a long list what is left out shows as an item `…`."""

    field: str
    before: Told
    after: Told


def changed_fields(changes: Iterable[FieldChange]) -> list[ChangedField]:
    """The changes of an entry."""
    return [
        ChangedField(field=change.field, before=_plain(change.before), after=_plain(change.after))
        for change in changes
    ]


def changes_from_json(content: object) -> tuple[FieldChange, ...]:
    """The changes that the interface shows so; raises `ValueError`."""
    if not isinstance(content, list):
        raise ValueError("changes are a list")
    return tuple(_read(change) for change in content)


def change_lines(kind: FactKind, changes: Iterable[FieldChange], language: Language) -> list[str]:
    """What changed, a line for each field. What is new has no before, what was deleted no after."""

    def line(change: FieldChange) -> str:
        before, after = _said(change.before, language), _said(change.after, language)
        key = f"column.{_list_of(kind)}.{change.field}"
        # A release after this one may have told of fields that it does not know.
        name = language.text(key) if key in language.texts else change.field
        if kind.value.endswith("-registered"):
            return language.text("change.value", field=name, value=after)
        if kind.value.endswith("-deleted"):
            return language.text("change.value", field=name, value=before)
        return language.text("change.values", field=name, before=before, after=after)

    return [line(change) for change in changes]


def _list_of(kind: FactKind) -> str:
    """The list with the names of the fields of what this was done to."""
    subject = kind.value.partition("-")[0]
    return {"client": "clients", "role": "roles"}.get(subject, "users")


def _said(value: Value, language: Language) -> str:
    match value:
        case bool():
            return language.text("page.yes" if value else "page.no")
        case tuple():
            return language.text("change.between").join(value) or "—"
        case _:
            return "—" if value is None else str(value)


def _plain(value: Value) -> Told:
    return list(value) if isinstance(value, tuple) else value


def _read(change: Any) -> FieldChange:
    if not isinstance(change, Mapping) or not isinstance(change.get("field"), str):
        raise ValueError("a change has a field")
    return FieldChange(change["field"], _value(change.get("before")), _value(change.get("after")))


def _value(told: object) -> Value:
    if isinstance(told, list) and all(isinstance(item, str) for item in told):
        return tuple(told)
    if told is None or isinstance(told, str | int):
        return told
    raise ValueError("a value is a text, a number, a boolean, a list of texts or null")
