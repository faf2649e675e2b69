"""`python -m fuzz months`: a SQLite store through months of the same days, which must not grow.

Each day people sign in, authorize, refresh, retry, leave or stay away, and the sweeper clears what has
expired, the old part of the trail and the old summaries, all on a clock of our own. Once everything that is
kept for some time has been there for that time, each month ends with as many records of each kind, and as
many bytes.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import apsw
import trio

from fuzz.shared.campaign import Report, conduct
from fuzz.shared.invariants import ACKNOWLEDGED_STAYS, Violation
from ostiary_core.conformance.lives import Backend
from ostiary_core.model.instant import SECOND_MS
from ostiary_core.model.records import RECORD_TABLES, RefreshToken, Session, Table
from ostiary_core.model.reply import TokensIssued
from ostiary_net.runtime.system import SystemClock, run_inline
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.turns import open_turns
from ostiary_net.upkeep.summarising import SUMMARIES_SECONDS, Summarising
from ostiary_net.upkeep.sweeping import Purge, sweep_once

_DAY_SECONDS: Final = 86_400
_MONTH_DAYS: Final = 30
_TRAIL_SECONDS: Final = 90 * _DAY_SECONDS
_NANOSECONDS: Final = 1_000_000
_PEOPLE: Final = ("alice", "bob")
_DAILY: Final = 12
"""Of everything that happens on a day."""
_FULL_AFTER: Final = 2 + SUMMARIES_SECONDS // _DAY_SECONDS // _MONTH_DAYS
"""Months, after which nothing is kept any longer than it was before."""
_MOST_GROWTH: Final = 1.02


class Life:
    """The days of one store."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._store = SQLiteStore(file)
        self._backend = Backend(self._store)
        self._backend.populate()
        self._clock = SystemClock(self._nanoseconds, self._nanoseconds)

    def _nanoseconds(self) -> int:
        return self._backend.now * _NANOSECONDS

    def live_a_month(self) -> Counter[str]:
        """Live for a month, and count what is left of it."""
        for _ in range(_MONTH_DAYS):
            self._live_a_day()
            trio.run(self._clear)
        sizes = Counter({table.name: len(self._store.records(table)) for table in RECORD_TABLES})
        # By the library that the store has the file open with: another in this process would drop its locks.
        with closing(apsw.Connection(str(self._file))) as connection:
            [[pages, unused]] = connection.execute(
                "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count"
            )
        return sizes + Counter(pages=pages - unused)

    def _live_a_day(self) -> None:
        here = self._backend
        for number in range(_DAILY):
            login = here.login(_PEOPLE[number % 2])
            pair = here.ask(here.redemption(here.code(login)), TokensIssued)
            here.code(login)  # nobody comes for it
            here.wait(2_000)
            rotated = here.ask(here.refreshing(pair), TokensIssued)
            here.wait(number)
            here.ask(here.refreshing(pair), TokensIssued)
            if number % 3 == 0:
                here.wait(40)
                here.ask(here.refreshing(pair), object)
            elif number % 3 == 1:
                here.ask(here.refreshing(rotated), TokensIssued)
            here.ask(here.machine(), TokensIssued)
            here.waves.clear()
        here.ask(here.recovery("+15550100"), object)
        here.wait(_DAY_SECONDS - here.now // SECOND_MS % _DAY_SECONDS)

    async def _clear(self) -> None:
        async with open_turns(self._store, self._clock, run_inline) as turns:
            await sweep_once(turns, self._store, self._clock, run_inline)
            purge = Purge(turns, self._store, self._clock, audit_seconds=_TRAIL_SECONDS, run_sync=run_inline)
            await purge.purge_once()
        await Summarising(self._store, self._clock, run_sync=run_inline).summarise_once()

    def is_whole(self) -> bool:
        """Whether each token that is kept belongs to a session that is kept."""
        sessions = {one.session_id for one in self._store.records(Table.SESSION) if isinstance(one, Session)}
        tokens = self._store.records(Table.REFRESH_TOKEN)
        return all(one.session_id in sessions for one in tokens if isinstance(one, RefreshToken))

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def run(months: int) -> int:
    """Live for so many months; 0 where the store stays as large."""
    return conduct(live(months), _figures)


def live(months: int) -> Iterator[Report]:
    """A report for each month."""
    with TemporaryDirectory() as folder:
        life = Life(Path(folder, "ostiary.db"))
        full = Counter[str]()
        for month in range(1, months + 1):
            sizes = life.live_a_month()
            full = sizes if month == _FULL_AFTER else full
            grown = [what for what in sizes if full and sizes[what] > _MOST_GROWTH * full[what]]
            figures = ", ".join(f"{what.lower()} {number:,}" for what, number in sorted(sizes.items()))
            report = Report(counts=Counter(months=1), line=f"{month:>3} {figures}")
            if grown:
                report.violations = (Violation(ACKNOWLEDGED_STAYS, f"{', '.join(grown)} grow"),)
            if not life.is_whole():
                report.violations = (Violation(ACKNOWLEDGED_STAYS, "a token outlives its session"),)
            yield report
        life.close()


def _figures(total: Report, seconds: float) -> str:
    return f"{total.counts['months']} virtual months, {seconds:.0f} s"
