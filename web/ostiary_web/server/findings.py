"""Describe what `ostiary check` finds: severity, subject and text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    """Severity of a finding."""

    FINE = "fine"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the list."""

    level: Level
    about: str
    key: str
    """Key of its text."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Values for the braces in the text."""
