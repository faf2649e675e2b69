"""Whether every row of the two state tables was really taken, and not only told about."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from fuzz.rules.world import World
from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS
from fuzz.shared.state_tables import STATE_TABLES, Transition, transitions_of
from ostiary_core import Decision, Instant, Keys, load
from ostiary_core.model.records import AuthorizationCode, Session, Table
from ostiary_core.oauth import code as code_machine
from ostiary_core.oauth import session as session_machine

ROWS: Final = {f"{machine}: {row.name}": row for machine, table in STATE_TABLES.items() for row in table}

States = dict[str, dict[object, str]]
"""The state of every code and every session, by machine and key."""


class Coverage:
    """Rows of both tables, counted where a record really made the move that the row states."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    @property
    def missing(self) -> list[str]:
        """The rows that nothing has taken yet."""
        return [name for name in ROWS if not self.taken[name]]

    def note(self, decisions: list[Decision], before: States, after: Callable[[], States]) -> None:
        """Count the rows that the decisions told of; the first time, only if the records took them too."""
        for name in {name for decision in decisions for name in transitions_of(decision)}:
            machine = name.partition(":")[0]
            if self.taken[name] or _moved(ROWS[name], before[machine], after()[machine]):
                self.taken[name] += 1

    def note_time(self, before: States, after: States) -> None:
        """Count the rows whose trigger is the passing of time."""
        for machine, table in STATE_TABLES.items():
            for row in table:
                if row.fact is None and not row.refusal and _moved(row, before[machine], after[machine]):
                    self.taken[f"{machine}: {row.name}"] += 1


def states(world: World, at: int) -> States:
    """The state of every code and session at an instant, as the core's own machines compute it."""
    now = Instant(BEGINNING_OF_TIME_MS + at)
    store, policy = world.driver.store, world.driver.policy
    born = [*store.records(Table.CODE), *store.records(Table.SESSION)]
    snapshot = load([Keys(tuple(record.key for record in born))], store.fetch)
    found: States = {machine: {} for machine in STATE_TABLES}
    for record in born:
        if isinstance(record, AuthorizationCode):
            found["code"][record.key] = code_machine.state_of(record, snapshot, now, policy)
        elif isinstance(record, Session):
            found["session"][record.key] = session_machine.state_of(record, snapshot, now)
    return found


def _moved(row: Transition, before: dict[object, str], after: dict[object, str]) -> bool:
    """Whether some record went from the row's source to its target; None is before it was made."""
    return any(
        before.get(key, "(none)") == row.source and state == row.target for key, state in after.items()
    )
