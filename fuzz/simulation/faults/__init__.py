"""Known mistakes of servers, planted one at a time to check that the simulation catches them.

Mistakes in the rules are planted by the sequences (`fuzz.faults`); a few of them are here again, to show that
they are caught through HTTP as well. All others are in the server around the rules: storage, turns, the front
door, the lane, the log, and the texts of refusals.
"""

from pathlib import Path
from typing import Final

from fuzz.faults import find_faults
from fuzz.faults.planting import read_faults
from fuzz.simulation.faults import of_answers, of_storage, of_turns

__all__ = ["FAULTS"]

FAULTS: Final = (
    *of_storage.FAULTS,
    *of_turns.FAULTS,
    *read_faults(Path(__file__).with_name("of_the_door.txt")),
    *of_answers.FAULTS,
    *find_faults("judged-by-its-turn", "retry-mints", "grace-slides", "owner-unchecked", "secret-unchecked"),
    *find_faults("unlock-spares-codes"),
)
