"""How a sheet is refused, from wherever in it that is seen."""

from ostiary_core.model.fields import FieldRule


class UnreadableSheet(Exception):
    """Not a sheet, or one that nobody needs to read."""

    def __init__(self, rule: FieldRule) -> None:
        super().__init__(rule.value)
        self.rule = rule
