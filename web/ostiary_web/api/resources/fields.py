"""What a resource of the interface is made of: its fields, and the list that they are shown in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from ostiary_core.http.language import Language
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.storage.listing import ListingStore, Resource

T = TypeVar("T")
V = TypeVar("V")


class LocalizedText(NamedTuple):
    """One text in both languages."""

    en: str
    zh: str

    def in_language(self, language: Language) -> str:
        return self.zh if language is Language.ZH else self.en


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
    heading: LocalizedText
    """Of its column in a sheet."""
    read: Callable[[V], object]
    """Its value: text, texts, number or boolean as JSON has them, an `Instant` for a time; or None."""
    _: KW_ONLY
    listing_name: str | None = None
    """By which name the core's listing sorts, narrows or filters by it; None where it does not."""
    choices: Mapping[str, tuple[str, ...]] | None = None
    """The values that a filter takes, each with those that it means in the store; None for any text."""
    column: Column = Column.NONE
    note: LocalizedText | None = None
    """What an import expects, for the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView(Generic[T, V]):
    """A list as the interface shows it: items of the core's listing, each shown with these fields."""

    source: Resource[T]
    fields: tuple[Field[V], ...]
    shown: Callable[[ListingStore | None, Sequence[T]], Sequence[V]]
    """Adds to some items what else is shown of them; `as_they_are` where that is nothing. Without a store it
    adds nothing."""


def as_they_are(store: ListingStore | None, items: Sequence[T]) -> Sequence[T]:
    """Items that hold all that is shown of them."""
    return items


def as_json(fields: Sequence[Field[V]], item: V) -> dict[str, object]:
    """An item as the interface shows it: times in ISO-8601, arrays as lists."""
    return {
        field.name: _json(field, field.read(item))
        for field in fields
        if field.column is not Column.IMPORT_ONLY
    }


def _json(field: Field[V], value: object) -> object:
    match field.kind:
        case Kind.TIME:
            return iso_time(Instant(value)) if isinstance(value, int) else None
        case Kind.TEXTS | Kind.CODES:
            return list(value) if isinstance(value, tuple) else []
        case _:
            return value
