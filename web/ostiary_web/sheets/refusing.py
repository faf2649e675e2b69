"""Refuse a sheet from anywhere in its reading."""

from ostiary_core.model.fields import FieldRule


class UnreadableSheet(Exception):
    """A file that is no sheet, or one that costs too much."""

    def __init__(self, rule: FieldRule) -> None:
        super().__init__(rule.value)
        self.rule = rule
