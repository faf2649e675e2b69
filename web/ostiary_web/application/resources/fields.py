"""Declare the fields of a resource, and the list that shows them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

import msgspec

from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.record_type import Kind, RecordField, RecordType, Setting
from ostiary_core.storage.listing import Listable, ListingStore
from ostiary_core.texts import Language, Languages
from ostiary_web.application.resources.changes import encode_changes
from ostiary_web.texts import heading_key

T = TypeVar("T")
V = TypeVar("V")


class SheetUse(Enum):
    """How sheets use a field."""

    NONE = "none"
    EXPORT_ONLY = "export_only"
    """Exported; ignored by an import."""
    IMPORT_EXPORT = "import_export"
    """Exported and imported."""
    IMPORT_ONLY = "import_only"
    """Imported, never exported: a password."""


@dataclass(frozen=True, slots=True)
class Field(Generic[V]):
    """A field of a record, as the interface shows it."""

    name: str
    """JSON name, also of its filter, sort and range."""
    kind: Kind
    read: Callable[[V], object]
    """Return its value as JSON has it, an `Instant` for a time, or None."""
    _: KW_ONLY
    listing_name: str | None = None
    """Name in the core's listing; None if the list neither sorts nor filters by it."""
    choices: Mapping[str, tuple[str, ...]] | None = None
    """Accepted filter values, each with the stored values that it matches; None for any text."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Filter values beside its choices that match several of them, and that no record has."""
    sheet: SheetUse = SheetUse.NONE
    is_filter_only: bool = False
    """Whether the list filters by it and never shows it."""
    note_values: Mapping[str, object] = field(default_factory=dict)
    """Values for the braces in its note."""


def add_no_details(store: ListingStore | None, items: Sequence[Any]) -> Sequence[Any]:
    """Return items whose fields need nothing else."""
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView(Generic[T, V]):
    """A list as the interface shows it: items of the core's listing, and their fields."""

    name: str
    """Name of the list in keys of texts."""
    source: Listable[T]
    fields: tuple[Field[V], ...]
    add_details: Callable[[ListingStore | None, Sequence[T]], Sequence[V]] = add_no_details
    """Add to items what else their fields show; without a store, add nothing."""
    other_names: Mapping[str, str] = field(default_factory=dict)
    """Parameters whose values are added to those of an equality filter, each with the name of its field."""

    def title(self, language: Language) -> str:
        """Return the name of the items."""
        return language.text(f"page.{self.name}")

    def heading(self, field: Field[V], language: Language) -> str:
        """Return a field's name, for a page or a column of a sheet."""
        return language.text(heading_key(language, self.name, field.name))

    def note(self, field: Field[V], language: Language, languages: Languages) -> str:
        """Return what an import expects of a field, for a server that speaks `languages`."""
        values = {"locales": ", ".join(languages.tags), **field.note_values}
        return language.text(f"note.{self.name}.{field.name}", **values)


def fields_of(record_type: RecordType[Any], path: str = "") -> tuple[Field[Any], ...]:
    """Return the fields of a declared record; `path` leads from a list's item to the record's attributes."""
    return tuple(
        Field(
            field.name,
            field.kind,
            _reader(field, path),
            listing_name=field.attribute if field.is_filtered or field.is_sorted else None,
            sheet=_sheet_use(field),
            note_values=_note_values(field),
        )
        for field in record_type.fields
    )


def _reader(field: RecordField[Any], path: str) -> Callable[[Any], object]:
    if field.setting is Setting.IMPORTED:
        return lambda item: None

    def read(item: Any) -> object:
        # A detail that is added to the record stands beside it.
        is_beside = not path or hasattr(item, field.attribute)
        return field.value(item if is_beside else getattr(item, path))

    return read


def _sheet_use(field: RecordField[Any]) -> SheetUse:
    if not field.in_sheets:
        return SheetUse.NONE
    match field.setting:
        case Setting.NEVER:
            return SheetUse.EXPORT_ONLY
        case Setting.IMPORTED:
            return SheetUse.IMPORT_ONLY
        case _:
            return SheetUse.IMPORT_EXPORT


def _note_values(field: RecordField[Any]) -> Mapping[str, object]:
    if field.bounds is not None:
        return asdict(field.bounds)
    return {} if field.choices is None else {"choices": ", ".join(field.choices(SPECIFICATION))}


def encode_item(fields: Sequence[Field[V]], item: V) -> dict[str, object]:
    """Return an item as the interface shows it: times in ISO-8601, arrays as lists."""
    return {
        field.name: _encode_value(field, field.read(item))
        for field in fields
        if not field.is_filter_only and field.sheet is not SheetUse.IMPORT_ONLY
    }


def _encode_value(field: Field[V], value: object) -> object:
    match field.kind:
        case Kind.TIME:
            return iso_time(Instant(value)) if isinstance(value, int) else None
        case Kind.TEXTS | Kind.CODES:
            return list(value) if isinstance(value, tuple) else []
        case Kind.CHANGES:
            return msgspec.to_builtins(encode_changes(value[1])) if isinstance(value, tuple) else []
        case _:
            return value
