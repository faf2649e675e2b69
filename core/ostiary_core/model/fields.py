"""The fields of a JSON object: the rules they break, their reader, and edits by several people."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from ostiary_core.model.immutable import immutable
from ostiary_core.model.visible_text import is_visible_name
from ostiary_core.model.why import Why

Fields = Mapping[str, object]
"""Fields of a JSON object, by name."""


class FieldRule(StrEnum):
    """The rules that a field can break, for the message that names the field."""

    REQUIRED = "required"
    UNKNOWN = "unknown"
    IMMUTABLE = "immutable"
    STRING = "string"
    STRINGS = "strings"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TOO_LONG = "too-long"
    DUPLICATE = "duplicate"
    RESERVED = "reserved"
    CLIENT_ID = "client-id"
    REDIRECT_URI = "redirect-uri"
    REDIRECT_URI_NEEDED = "redirect-uri-needed"
    GRANT_TYPE = "grant-type"
    SCOPE = "scope"
    AUTO_APPROVE_SCOPE = "auto-approve-scope"
    ACCESS_LIFETIME = "access-lifetime"
    REFRESH_LIFETIME = "refresh-lifetime"
    OVERLAP = "overlap"
    USERNAME = "username"
    PHONE = "phone"
    PASSWORD = "password"
    PASSWORD_UNCHANGED = "password-unchanged"
    PASSWORD_HASH = "password-hash"
    PASSWORD_HASH_COST = "password-hash-cost"
    PASSWORD_TWICE = "password-twice"
    LOCALE = "locale"
    TIMEZONE = "timezone"
    ROLE = "role"
    ROLE_CODE = "role-code"
    PERMISSION = "permission"
    DATE = "date"
    TOKEN_LIFETIME = "token-lifetime"
    TEXT_CODE_PURPOSE = "text-code-purpose"
    PICTURE = "picture"
    PICTURE_TOO_LARGE = "picture-too-large"
    PARAMETER = "parameter"
    CODE_CHALLENGE = "code-challenge"
    CODE_CHALLENGE_METHOD = "code-challenge-method"
    PAGE = "page"
    PAGE_SIZE = "page-size"
    SORT = "sort"
    TIME = "time"
    TIME_ORDER = "time-order"
    CHOICE = "choice"
    IMPORT_MODE = "import-mode"
    INVITE_LATER = "invite-later"
    SHEET = "sheet"
    CSV = "csv"
    SHEET_EMPTY = "sheet-empty"
    SHEET_TOO_LARGE = "sheet-too-large"
    SHEET_NOT_KEPT = "sheet-not-kept"
    COLUMN = "column"
    COLUMN_TWICE = "column-twice"
    HEADINGS = "headings"
    CELL_ERROR = "cell-error"
    CELL_FORMULA = "cell-formula"
    CELL_NUMBER = "cell-number"
    CELL_FORMAT = "cell-format"
    CELL_WITHOUT_HEADING = "cell-without-heading"


@immutable()
class FieldFault:
    """One bad field and the rule it broke; for a whole record, the reason it was refused."""

    path: str
    """Name of the field in the JSON object, form or query."""
    rule: FieldRule | Why
    choices: tuple[str, ...] = ()
    """Allowed values, for rules whose message lists them."""
    found: str = ""
    """What was sent, for rules whose message repeats it."""


MOST_FAULTS: Final = 100
"""Bad fields and items of lists that one answer names: a body can hold far more of them."""


class FieldReader:
    """Reads typed values from a JSON object and collects every bad field ("General envelope", 400)."""

    def __init__(self, fields: Fields, known: frozenset[str]) -> None:
        self._fields = fields
        self._faults: dict[str, FieldFault] = {}
        for name in fields:
            if name not in known:
                self.fault(name, FieldRule.UNKNOWN)

    @property
    def faults(self) -> tuple[FieldFault, ...]:
        """The first fault of each bad field, of at most `MOST_FAULTS` fields."""
        return tuple(self._faults.values())

    def fault(self, path: str, rule: FieldRule | Why, choices: tuple[str, ...] = ()) -> None:
        """Add that the field `path` broke `rule`, if `choices` are allowed."""
        if len(self._faults) < MOST_FAULTS:
            self._faults.setdefault(path, FieldFault(path, rule, choices))

    def has_field(self, path: str) -> bool:
        """Whether the object has a field `path`."""
        return path in self._fields

    def text(self, path: str, default: str | None, longest: int) -> str:
        """Read a visible string that is not blank; it is required if there is no default.

        White space around it is left for the caller to take off, or to refuse.
        """
        value = self._fields.get(path, default)
        # A stored value is not judged again: it may be older than a rule.
        if default and value == default:
            return default
        if value is None:
            self.fault(path, FieldRule.REQUIRED)
        elif not isinstance(value, str):
            self.fault(path, FieldRule.STRING)
        elif not value.strip():
            self.fault(path, FieldRule.REQUIRED)
        elif len(value) > longest or not is_visible_name(value.strip()):
            self.fault(path, FieldRule.TOO_LONG if len(value) > longest else FieldRule.STRING)
        else:
            return value
        return ""

    def optional_text(self, path: str, default: str | None) -> str | None:
        """Read a string that may be missing; None if it is null or empty."""
        value = self._fields.get(path, default)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            return value
        self.fault(path, FieldRule.STRING)
        return None

    def texts(self, path: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Read an array of strings, no two of them equal; `default` in another order is `default`."""
        value = self._fields.get(path, default)
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            self.fault(path, FieldRule.STRINGS)
            return ()
        if len(set(value)) != len(value):
            self.fault(path, FieldRule.DUPLICATE)
        return default if len(value) == len(default) and set(value) == set(default) else tuple(value)

    def boolean(self, path: str, default: bool) -> bool:
        """Read a boolean."""
        value = self._fields.get(path, default)
        if isinstance(value, bool):
            return value
        self.fault(path, FieldRule.BOOLEAN)
        return default

    def number(self, path: str, default: int, least: int, most: int, rule: FieldRule) -> int:
        """Read a whole number within a range."""
        value = self._fields.get(path, default)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fault(path, FieldRule.INTEGER)
        elif not least <= value <= most:
            self.fault(path, rule)
        else:
            return value
        return default

    def require_unchanged(self, path: str, stored: object) -> None:
        """Check that a field that cannot be changed here is missing or sent back as it is."""
        if self.has_field(path) and self._fields[path] != stored:
            self.fault(path, FieldRule.IMMUTABLE)


def differing_fields(before: Fields, after: Fields, *, in_any_order: bool = False) -> tuple[str, ...]:
    """Return the fields of `after` that `before` has not, or not with this value.

    Lists of the same texts are equal with `in_any_order`.

    >>> differing_fields({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": True, "c": 1.0})
    ('b', 'c')
    """
    return tuple(
        name
        for name, value in after.items()
        if name not in before or not _are_same(before[name], value, in_any_order=in_any_order)
    )


def _are_same(one: object, other: object, *, in_any_order: bool) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if in_any_order and all(isinstance(item, str) for item in (*one, *other)):
            return sorted(one) == sorted(other)
        return list(one) == list(other)
    # Python equates True, 1 and 1.0; JSON does not.
    return one == other and all(isinstance(one, kind) == isinstance(other, kind) for kind in (bool, float))


def merge_edits(
    fields: Fields, shown: Fields | None, stored: Fields, read: Callable[[Fields], object]
) -> Fields | tuple[FieldFault, ...]:
    """Return the fields to change; if others changed the same ones meanwhile, the conflicts instead.

    A form sends all its fields, so one that is sent as it was `shown` is no change; without `shown`, every
    field is. `stored` has the present values. `read` returns the record with some fields replaced, to compare
    values however they are spelled, or faults if the record breaks today's rules.
    """
    if shown is None:
        return fields
    asked = {name: fields[name] for name in differing_fields(shown, fields)}
    as_it_is = read({})

    def is_unchanged(name: str, value: object) -> bool:
        if not differing_fields(stored, {name: value}):
            return True
        return not isinstance(as_it_is, tuple) and read({name: value}) == as_it_is

    faults = tuple(
        FieldFault(name, Why.CHANGED_MEANWHILE)
        for name, value in asked.items()
        if name in shown and not is_unchanged(name, shown[name]) and not is_unchanged(name, value)
    )
    return faults or asked
