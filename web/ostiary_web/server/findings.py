"""What `ostiary check` finds: how bad it is, what it is about, and in what words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    FINE = "fine"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the list."""

    level: Level
    about: str
    key: str
    """Of its text."""
    values: Mapping[str, object] = field(default_factory=dict)
    """What stands in braces in the text."""
