"""The committed traces in `corpus`: stories that once were wrong, or that nobody should get wrong."""

from pathlib import Path
from typing import Final

from fuzz.rules.trace import read, replay
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.invariants import Violation

__all__ = ["FOLDER", "run", "violations_of"]

FOLDER: Final = Path(__file__).parent / "corpus"


def violations_of(path: Path) -> tuple[Violation, ...]:
    """What goes wrong when the trace in this file is run."""
    world, steps = read(path.read_text(encoding="utf-8"))
    with with_more_scopes():
        return replay(world, steps).violations


def run() -> int:
    """Run every committed trace; 0 where everything held."""
    wrong = 0
    for path in sorted(FOLDER.glob("*.trace")):
        violations = violations_of(path)
        wrong += bool(violations)
        print(f"{path.name:<50} {violations[0] if violations else 'held'}")
    return 1 if wrong else 0
