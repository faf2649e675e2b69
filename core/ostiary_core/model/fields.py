"""Reading a JSON object field by field, every bad field named at once ("General envelope", 400)."""

from collections.abc import Mapping

from ostiary_core.model.decision import FieldFault, FieldRule
from ostiary_core.model.why import Why

__all__ = ["FieldReader"]


class FieldReader:
    """Takes typed values out of an object that may hold anything, and collects what is wrong with it."""

    def __init__(self, fields: Mapping[str, object], known: frozenset[str]) -> None:
        self._fields = fields
        self._faults: dict[str, FieldFault] = {}
        for name in fields:
            if name not in known:
                self.fault(name, FieldRule.UNKNOWN)

    @property
    def faults(self) -> tuple[FieldFault, ...]:
        """The first fault of each bad field."""
        return tuple(self._faults.values())

    def fault(self, path: str, rule: FieldRule | Why) -> None:
        """Hold `path` to have broken `rule`."""
        self._faults.setdefault(path, FieldFault(path, rule))

    def given(self, path: str) -> bool:
        """Whether the object says anything about `path`."""
        return path in self._fields

    def text(self, path: str, default: str | None, longest: int) -> str:
        """A printable string that is not blank; required where there is no default."""
        value = self._fields.get(path, default)
        if value is None:
            self.fault(path, FieldRule.REQUIRED)
        elif not isinstance(value, str):
            self.fault(path, FieldRule.STRING)
        elif not value.strip():
            self.fault(path, FieldRule.REQUIRED)
        elif len(value) > longest or not value.isprintable():
            self.fault(path, FieldRule.TOO_LONG if len(value) > longest else FieldRule.STRING)
        else:
            return value
        return ""

    def optional_text(self, path: str, default: str | None) -> str | None:
        """A string, or None where it is null or empty."""
        value = self._fields.get(path, default)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            return value
        self.fault(path, FieldRule.STRING)
        return None

    def texts(self, path: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """An array of strings, no two alike."""
        value = self._fields.get(path, default)
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            self.fault(path, FieldRule.STRINGS)
            return ()
        if len(set(value)) != len(value):
            self.fault(path, FieldRule.DUPLICATE)
        return tuple(value)

    def truth(self, path: str, default: bool) -> bool:
        """True or false."""
        value = self._fields.get(path, default)
        if isinstance(value, bool):
            return value
        self.fault(path, FieldRule.BOOLEAN)
        return default

    def number(self, path: str, default: int, least: int, most: int, rule: FieldRule) -> int:
        """A whole number of a range."""
        value = self._fields.get(path, default)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fault(path, FieldRule.INTEGER)
        elif not least <= value <= most:
            self.fault(path, rule)
        else:
            return value
        return default

    def unchanged(self, path: str, standing: object) -> None:
        """A field that cannot be changed here; it may be sent back as it is."""
        if self.given(path) and self._fields[path] != standing:
            self.fault(path, FieldRule.IMMUTABLE)
