"""Known mistakes of authorization servers, planted one at a time to see whether they are caught.

They are made from outside: functions of the core read otherwise for a while, and nothing in the core knows.
"""

from typing import Final

from fuzz.faults import of_accounts, of_codes, of_endings, of_history, of_second_factors, of_sessions
from fuzz.faults.planting import Fault

__all__ = ["FAULTS", "Fault", "find_faults"]

FAULTS: Final = (
    *of_sessions.FAULTS,
    *of_codes.FAULTS,
    *of_endings.FAULTS,
    *of_accounts.FAULTS,
    *of_second_factors.FAULTS,
    *of_history.FAULTS,
)


def find_faults(*names: str) -> tuple[Fault, ...]:
    """The mistakes in the rules that have these names, in this order."""
    faults = {fault.name: fault for fault in FAULTS}
    return tuple(faults[name] for name in names)
