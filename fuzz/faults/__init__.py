"""Known mistakes of authorization servers, planted one at a time to see whether they are caught.

They are made from outside: functions of the core are substituted, and nothing in the core knows.
"""

from typing import Final

from fuzz.faults import of_administration, of_codes, of_endings, of_reach, of_rotation, of_tokens
from fuzz.faults.planting import Fault

__all__ = ["FAULTS", "Fault"]

FAULTS: Final = (
    *of_rotation.FAULTS,
    *of_tokens.FAULTS,
    *of_codes.FAULTS,
    *of_endings.FAULTS,
    *of_administration.FAULTS,
    *of_reach.FAULTS,
)
