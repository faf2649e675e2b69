"""Encode the changes of a record: as JSON, and as a line of text for each field."""

from collections.abc import Iterable

from ostiary_core.model.changes import FieldChange, Value
from ostiary_core.model.fact import FactKind
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.texts import Language
from ostiary_web.application.answer_data import AnswerData
from ostiary_web.texts import heading_key

JSONValue = str | int | bool | list[str] | None


class ChangedField(AnswerData):
    """A field before and after, null for no value.

    A telephone number keeps two digits, `…` marks omitted items.
    """

    field: str
    before: JSONValue
    after: JSONValue


def encode_changes(changes: Iterable[FieldChange]) -> list[ChangedField]:
    """Return an entry's changes as the interface shows them."""
    return [
        ChangedField(
            field=change.field, before=_encode_value(change.before), after=_encode_value(change.after)
        )
        for change in changes
    ]


def format_changes(
    kind: FactKind | UnknownWord, changes: Iterable[FieldChange], language: Language
) -> list[str]:
    """Return a line of text for each changed field; a new record has no before, a deleted one no after."""

    def line(change: FieldChange) -> str:
        before, after = _format_value(change.before, language), _format_value(change.after, language)
        key = heading_key(language, _list_name(kind), change.field)
        # A release after this one may have content of fields that it does not know.
        name = language.text(key) if key in language.texts else change.field
        if kind.value.endswith(("-registered", "-created", "-refused")):
            return language.text("change.value", field=name, value=after)
        if kind.value.endswith("-deleted"):
            return language.text("change.value", field=name, value=before)
        return language.text("change.values", field=name, before=before, after=after)

    return [line(change) for change in changes]


def _list_name(kind: FactKind | UnknownWord) -> str:
    """Return the list whose column headings name the changed fields."""
    subject = kind.value.partition("-")[0]
    lists = {"client": "clients", "role": "roles", "administrator": "refusals", "personal": "tokens"}
    return lists.get(subject, "users")


def _format_value(value: Value, language: Language) -> str:
    match value:
        case bool():
            return language.text("page.yes" if value else "page.no")
        case tuple():
            return language.text("change.between").join(value) or "—"
        case _:
            return "—" if value is None else str(value)


def _encode_value(value: Value) -> JSONValue:
    return list(value) if isinstance(value, tuple) else value
