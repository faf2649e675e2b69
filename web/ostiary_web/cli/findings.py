"""What `ostiary check` finds: how bad it is, what it is about, and in what words."""

from dataclasses import dataclass
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
    text: str
