"""Known mistakes of authorization servers, planted one at a time to check that each is caught.

A fault is planted from outside: some functions of the core run changed code for a while. The core contains no
hook for it.
"""

from pathlib import Path
from typing import Final
from unittest.mock import patch

from fuzz.faults.planting import Fault, read_faults
from ostiary_core.model.records import RefreshToken

__all__ = ["FAULTS", "Fault", "find_faults"]

FAULTS: Final = (
    *(
        fault
        for subject in (
            *("sessions", "codes", "endings", "accounts", "invitations", "second_factors", "proofs"),
            "history",
        )
        for fault in read_faults(Path(__file__).with_name(f"of_{subject}.txt"))
    ),
    Fault(
        "references-forgotten",
        "keys do not cover what is read",
        lambda: patch.object(RefreshToken, "references", ()),
    ),
)


def find_faults(*names: str) -> tuple[Fault, ...]:
    """Return the mistakes in the rules that have these names, in this order."""
    faults = {fault.name: fault for fault in FAULTS}
    return tuple(faults[name] for name in names)
