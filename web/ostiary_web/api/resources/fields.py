"""What a resource of the interface is made of: its fields, and the list that they are shown in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import Generic, TypeVar

import msgspec

from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.storage.listing import ListingStore, Resource
from ostiary_core.texts import Language, Languages
from ostiary_web.api.resources.changes import changed_fields

T = TypeVar("T")
V = TypeVar("V")


class Kind(Enum):
    """What the values of a field are."""

    TEXT = "text"
    TEXTS = "texts"
    """An array of strings without white space: a cell has them line by line."""
    CODES = "codes"
    """An array of codes, which a cell may also have with commas between them."""
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TIME = "time"
    CHANGES = "changes"
    """What was done, a `FactKind`, and what changed by it. A cell has a line for each field."""


class Column(Enum):
    """What the sheets of a resource have of a field."""

    NONE = "none"
    EXPORT_ONLY = "export_only"
    """Exported; of no effect when imported."""
    IMPORT_EXPORT = "import_export"
    """Exported, and imported again."""
    IMPORT_ONLY = "import_only"
    """Imported, and never exported: a password."""


@dataclass(frozen=True, slots=True)
class Field(Generic[V]):
    """One field of a record, as the interface shows it."""

    name: str
    """Its JSON name, and that of its filter, sort and range."""
    kind: Kind
    read: Callable[[V], object]
    """Its value: text, texts, number or boolean as JSON has them, an `Instant` for a time; or None."""
    _: KW_ONLY
    listing_name: str | None = None
    """By which name the core's listing sorts, narrows or filters by it; None where it does not."""
    choices: Mapping[str, tuple[str, ...]] | None = None
    """The values that a filter takes, each with those that it means in the store; None for any text."""
    column: Column = Column.NONE
    is_shown: bool = True
    """False for what a list can be narrowed by, and does not tell."""
    note_values: Mapping[str, object] = field(default_factory=dict)
    """What stands in braces in its note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView(Generic[T, V]):
    """A list as the interface shows it: items of the core's listing, each shown with these fields."""

    name: str
    """What its texts are found by."""
    source: Resource[T]
    fields: tuple[Field[V], ...]
    shown: Callable[[ListingStore | None, Sequence[T]], Sequence[V]]
    """Adds to some items what else is shown of them; `as_they_are` where that is nothing. Without a store it
    adds nothing."""

    def title(self, language: Language) -> str:
        """What the items are called."""
        return language.text(f"title.{self.name}")

    def heading(self, field: Field[V], language: Language) -> str:
        """What a field is called, on a page and over its column in a sheet."""
        return language.text(f"column.{self.name}.{field.name}")

    def note(self, field: Field[V], language: Language, languages: Languages) -> str:
        """What an import expects of a field that it takes, for the template of a server that speaks
        `languages`."""
        values = {"locales": ", ".join(languages.tags), **field.note_values}
        return language.text(f"note.{self.name}.{field.name}", **values)


def as_they_are(store: ListingStore | None, items: Sequence[T]) -> Sequence[T]:
    """Items that hold all that is shown of them."""
    return items


def as_json(fields: Sequence[Field[V]], item: V) -> dict[str, object]:
    """An item as the interface shows it: times in ISO-8601, arrays as lists."""
    return {
        field.name: _json(field, field.read(item))
        for field in fields
        if field.is_shown and field.column is not Column.IMPORT_ONLY
    }


def _json(field: Field[V], value: object) -> object:
    match field.kind:
        case Kind.TIME:
            return iso_time(Instant(value)) if isinstance(value, int) else None
        case Kind.TEXTS | Kind.CODES:
            return list(value) if isinstance(value, tuple) else []
        case Kind.CHANGES:
            return msgspec.to_builtins(changed_fields(value[1])) if isinstance(value, tuple) else []
        case _:
            return value
