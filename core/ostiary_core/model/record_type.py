"""What administrators may set of a record, declared once: every face of the product walks the declarations.

A `RecordType` reads a JSON object, fills in defaults, merges edits, and says what changed. Lists, JSON, the
OpenAPI document, sheets, forms, the command line and `ostiary apply` are made from the same fields.

Rules, all in this file:

- Every bad field is named at once ("General envelope", 400), with the first rule that it broke.
- A text or item is judged when it is new: what is stored already may be older than a rule, or a later
  release's, and stays as it is.
- Fields that are only shown may be sent back in a change as they are; with another value they are refused, as
  unknown ones are. Those of a new record and of an imported row are ignored, and of a change those that the
  record itself does not hold.
- Passwords, secrets and their hashes are no fields of a record, so no face can show them.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from ostiary_core.model.changes import FieldChange, Value, change_of
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import (
    FieldFault,
    FieldReader,
    FieldRule,
    Fields,
    differing_fields,
    merge_edits,
)
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.why import Why

R = TypeVar("R")

RESERVED: Final = frozenset({"batch-delete", "export", "import", "import-template", "new", "options"})
"""Path segments of the interface and the pages, which no identifier may be."""

_NO_VALUES: Final[frozenset[Value]] = frozenset({None, ()})


class Kind(Enum):
    """Kinds of values of a field."""

    TEXT = "text"
    TEXTS = "texts"
    """An array of strings without white space; a cell has one a line."""
    CODES = "codes"
    """An array of codes; a cell may also separate them with commas."""
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TIME = "time"
    CHANGES = "changes"
    """A `FactKind` and the changes it made; a cell has a line for each field."""


class Setting(Enum):
    """When an administrator sets a field."""

    NEVER = "never"
    """Shown only."""
    ONCE = "once"
    """When the record is created; immutable afterwards."""
    EDITED = "edited"
    """When the record is created and by a change."""
    SWITCHED = "switched"
    """When the record is created; afterwards by an event of its own."""
    IMPORTED = "imported"
    """Only created and imported, never shown: a password."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least, the most and the default of a number; its name has the unit."""

    least: int
    most: int
    default: int


@dataclass(frozen=True, slots=True)
class RecordField(Generic[R]):
    """A field of a record, under its name in the interface."""

    name: str
    kind: Kind
    attribute: str
    """Name of the record's attribute, also in lists."""
    setting: Setting = Setting.NEVER
    _: KW_ONLY
    is_required: bool = False
    most: int | None = None
    """Most characters of a text, or items of a list."""
    bounds: Bounds | None = None
    """Bounds of an integer."""
    choices: Callable[[Policy], tuple[str, ...]] | None = None
    """Return the allowed texts or items."""
    is_valid: Callable[[str], bool] = lambda text: True
    """Whether a text or an item has the right form."""
    rule: FieldRule = FieldRule.STRING
    """Rule that a value outside of bounds, choices or form breaks."""
    convert: Callable[[str], str] = str
    """Make the stored text or item of an allowed one."""
    read_value: Callable[[R], Value] | None = None
    """Return the value, if it is not the attribute."""
    mask: Callable[[str], str] | None = None
    """Return what the audit trail shows in place of a text."""
    is_audited: bool = False
    """Whether changes are in the audit trail although no administrator makes them."""
    is_sorted: bool = False
    is_filtered: bool = False
    is_searched: bool = False
    in_sheets: bool = True
    in_forms: bool = True

    def value(self, record: R) -> Value:
        """Return the value of the field in `record`, as the interface has it."""
        value: Value = getattr(record, self.attribute) if self.read_value is None else self.read_value(record)
        return tuple(map(str, value)) if isinstance(value, tuple) else value

    def read(self, reader: FieldReader, stored: Any, policy: Policy, *, is_new: bool) -> Any:
        """Read the field; `stored` is its present value, which it keeps if none is sent."""
        match self.kind:
            case Kind.INTEGER:
                assert self.bounds is not None
                return reader.number(self.name, stored, self.bounds.least, self.bounds.most, self.rule)
            case Kind.BOOLEAN:
                value = reader.boolean(self.name, stored)
                if self.setting is Setting.SWITCHED and not is_new:
                    reader.require_unchanged(self.name, stored)
                return value
            case Kind.TEXTS | Kind.CODES:
                return self._read_list(reader, stored, policy)
            case _:
                return self._read_text(reader, stored, policy, is_new=is_new)

    def _read_text(self, reader: FieldReader, stored: Any, policy: Policy, *, is_new: bool) -> str | None:
        text = (
            reader.text(self.name, stored, self.most or 0)
            if self.is_required
            else reader.optional_text(self.name, stored)
        )
        if text is None or (text == stored and not is_new):
            return text
        if not self.is_required and self.most is not None and len(text) > self.most:
            reader.fault(self.name, FieldRule.TOO_LONG)
        if self.setting is Setting.ONCE and not is_new:
            reader.fault(self.name, FieldRule.IMMUTABLE)
        elif not self._is_allowed(text, policy):
            reader.fault(self.name, self.rule, () if self.choices is None else self.choices(policy))
        elif self.setting is Setting.ONCE and text in RESERVED:
            reader.fault(self.name, FieldRule.RESERVED)
        return self.convert(text)

    def _read_list(self, reader: FieldReader, stored: Any, policy: Policy) -> tuple[str, ...]:
        values = reader.texts(self.name, stored)
        kept = {str(item): item for item in stored}
        read = list(values)
        for place, item in enumerate(values):
            if item in kept:
                read[place] = kept[item]
            elif self._is_allowed(item, policy):
                read[place] = self.convert(item)
            else:
                reader.fault(f"{self.name}.{place}", self.rule)
        if self.most is not None and len(values) > self.most:
            reader.fault(self.name, FieldRule.TOO_LONG)
        if self.is_required and not values:
            reader.fault(self.name, FieldRule.REQUIRED)
        return tuple(read)

    def _is_allowed(self, text: str, policy: Policy) -> bool:
        return self.is_valid(text) and (self.choices is None or text in self.choices(policy))


NAME: Final[RecordField[Any]] = RecordField(
    name="name",
    kind=Kind.TEXT,
    attribute="name",
    setting=Setting.EDITED,
    is_required=True,
    most=100,
    convert=str.strip,
    is_sorted=True,
    is_filtered=True,
    is_searched=True,
)
"""The name that people read, of a client, a role or a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType(Generic[R]):
    """A type of records that administrators create, change and import."""

    name: str
    """Name of the list, and of its texts and sheets."""
    identifier: str
    """Attribute with the identifier, under the same name in facts."""
    blank: R
    """A new record before anything is said of it; empty texts in it are required."""
    fields: tuple[RecordField[R], ...]
    default_sort: str
    check: Callable[[FieldReader, Mapping[str, Any]], None] = lambda reader, values: None
    """Refuse values, by attribute, that do not fit together."""

    @property
    def settable(self) -> tuple[RecordField[R], ...]:
        """Return the fields that an administrator sets when the record is created or later."""
        return tuple(
            field
            for field in self.fields
            if field.setting in (Setting.ONCE, Setting.EDITED, Setting.SWITCHED)
        )

    @property
    def audited(self) -> tuple[RecordField[R], ...]:
        """Return the fields whose changes are in the audit trail."""
        return tuple(
            field
            for field in self.fields
            if field.is_audited or field.setting in (Setting.EDITED, Setting.SWITCHED)
        )

    def values(self, record: R | None) -> dict[str, Value]:
        """Return the audited values, unmasked; None for each if there is no record."""
        return {field.name: None if record is None else field.value(record) for field in self.audited}

    def defaults(self) -> dict[str, Value]:
        """Return what a new record has in its audited fields; None for required texts."""
        return {name: None if value == "" else value for name, value in self.values(self.blank).items()}

    def read(
        self,
        fields: Fields,
        stored: R | None = None,
        policy: Policy = SPECIFICATION,
        faults: tuple[FieldFault, ...] = (),
    ) -> R | tuple[FieldFault, ...]:
        """Read a new record, or `stored` with some fields replaced; else return every fault.

        `faults` are those that the runtime found in what the core does not see. The record has the revision
        of `stored`.
        """
        reader = FieldReader(
            fields, frozenset(field.name for field in self.fields if field.setting is not Setting.IMPORTED)
        )
        record: Any = self.blank if stored is None else stored
        values = {
            field.attribute: field.read(
                reader, getattr(record, field.attribute), policy, is_new=stored is None
            )
            for field in self.settable
        }
        if stored is not None:
            self._require_shown_unchanged(reader, stored)
        self.check(reader, values)
        for fault in faults:
            reader.fault(fault.path, fault.rule, fault.choices)
        read: R = replace(record, **values)
        return reader.faults or read

    def _require_shown_unchanged(self, reader: FieldReader, stored: R) -> None:
        for field in self.fields:
            if field.setting is Setting.NEVER and hasattr(stored, field.attribute):
                value: object = field.value(stored)
                if field.kind is Kind.TIME and isinstance(value, int):
                    value = iso_time(Instant(value))
                reader.require_unchanged(field.name, value)

    def edit(
        self,
        stored: R,
        fields: Fields,
        shown: Fields | None,
        policy: Policy = SPECIFICATION,
        faults: tuple[FieldFault, ...] = (),
    ) -> R | tuple[FieldFault, ...]:
        """Return `stored` with edits merged into it (`merge_edits`); else the conflicts, or every fault."""
        edits = merge_edits(
            fields, shown, self.values(stored), lambda given: self.read(given, stored, policy)
        )
        if isinstance(edits, tuple):
            return edits
        return self.read(edits, stored, policy, tuple(fault for fault in faults if fault.path in edits))

    def find_row_edits(
        self, stored: R, row: Fields, policy: Policy = SPECIFICATION, faults: tuple[FieldFault, ...] = ()
    ) -> Fields:
        """Return the fields in which an imported row differs from `stored`; none if the rules see no change.

        Values are compared as sent: read by the rules, two invalid ones would be equal.
        """
        shown = {
            field.name: field.value(stored)
            for field in self.fields
            if field.setting is not Setting.IMPORTED and hasattr(stored, field.attribute)
        }
        # Sheets come from exports, so what is only shown may be of another time or server.
        only_shown = {field.name for field in self.fields if field.setting is Setting.NEVER}
        edits = {name: row[name] for name in differing_fields(shown, row) if name not in only_shown}
        return edits if edits and self.read(edits, stored, policy, faults) != stored else {}

    def changes(self, before: R | None, after: R | None) -> tuple[FieldChange, ...]:
        """Return the audited fields in which two records differ; None for a record that is not there."""
        old, new = self.values(before), self.values(after)
        return tuple(
            change_of(field.name, old[field.name], new[field.name], field.mask)
            for field in self.audited
            if differing_fields({field.name: old[field.name]}, {field.name: new[field.name]})
            and not {old[field.name], new[field.name]} <= _NO_VALUES
        )

    def fact(
        self, kind: FactKind, before: R | None, after: R | None, actor_id: str | None, why: Why | None = None
    ) -> Fact:
        """Make the fact of what was done to a record, with its changes."""
        identifier = getattr(after or before, self.identifier)
        subject: dict[str, Any] = {self.identifier: identifier}
        return Fact(kind=kind, actor_id=actor_id, why=why, changes=self.changes(before, after), **subject)
