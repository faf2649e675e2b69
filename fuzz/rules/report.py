"""What a campaign tells the person who runs it: progress, the figures, and a failure as a short story."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fuzz.rules.sequences import Campaign, Failure
from fuzz.rules.trace import Replay, write
from fuzz.shared.options import command
from fuzz.shared.shrinking import shrink
from fuzz.shared.state_tables import DECIDED_ROWS

__all__ = ["figures", "progress", "story"]

EVERY_SECONDS = 10


def progress(total: int) -> Callable[[Campaign], None]:
    """A line every few seconds: worlds, steps, steps a second."""
    began = last = time.monotonic()

    def tell(campaign: Campaign) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY_SECONDS:
            last = now
            rate = campaign.steps / (now - began)
            print(
                f"  {campaign.steps:>10,} of {total:,} steps, {campaign.worlds:,} worlds, "
                f"{rate:,.0f} steps/s, {len(campaign.failures)} failures",
                flush=True,
            )

    return tell


def figures(campaign: Campaign, seconds: float) -> str:
    """What a campaign did."""
    missed = [row for row in DECIDED_ROWS if not campaign.transitions[row]]
    return (
        f"{campaign.steps:,} steps in {campaign.worlds:,} worlds, {seconds:.1f} s "
        f"({campaign.steps / max(seconds, 1e-9):,.0f} steps/s), "
        f"{campaign.virtual_ms / 3_600_000:,.0f} virtual hours\n"
        f"{len(campaign.clauses)} sentences of the model decided, "
        f"{len(DECIDED_ROWS) - len(missed)} of {len(DECIDED_ROWS)} transitions taken"
        + (f"; not taken: {', '.join(missed)}" if missed else "")
        + f"\ntrace digest {campaign.digest}"
    )


def story(failure: Failure, folder: Path | None = None) -> str:
    """The shortest history found for a failure, and the commands that replay it."""
    numbers = frozenset(violation.invariant.number for violation in failure.violations)
    shortest = shrink(failure.world, failure.steps, numbers)
    if not shortest.violations:
        shortest = Replay(failure.steps, (), failure.violations)
    remarks = [str(violation) for violation in shortest.violations]
    text = write(failure.world, shortest.steps, shortest.told, remarks)
    folder = folder or Path(tempfile.gettempdir()) / "ostiary-fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.world.replace('/', '-')}.trace"
    path.write_text(text, encoding="utf-8")
    seed, _, number = failure.world.partition("/")
    return (
        f"FAILED in world {failure.world} after {len(failure.steps)} steps; "
        f"the shortest history found has {len(shortest.steps)}:\n\n{text}\n"
        f"replay it:        {command('replay', path)}\n"
        f"the whole world:  {command('sequences', '--seed', seed, '--world', number)}"
    )
