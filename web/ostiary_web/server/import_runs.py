"""Run imports that take longer than a request, and report their progress.

- Of a run all rows are one turn at its end, as of any import; what takes long is hashing passwords before.
- How far it is stands in a file in `DATA_DIR/imports`, which all workers and machines share, so that
  whichever is asked knows. It has counts, the headings of the sheet, and what is wrong by row and field: no
  row, no password, no hash.
- A run whose file was not written for a while is lost: the process has ended. Nothing of it is there, or all.
- A process has few runs at a time, each with the rows of one sheet. What it has told is kept for an hour.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import structlog
import trio

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_net.observability.log import list_frames, unwrap_error
from ostiary_net.runtime.system import Clock, EntropySource, RunSync

_log = structlog.get_logger("ostiary")

_AT_A_TIME: Final = 2
_REPORT_SECONDS: Final = 1.0
_LOST_AFTER_MS: Final = 60 * SECOND_MS
"""Milliseconds without a report after which a run is lost; machines' clocks may differ by some of it."""

_KEPT_MS: Final = 60 * 60 * SECOND_MS
_NAME: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


class TooManyRuns(Exception):
    """The process has as many runs as it may have."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: its counts, or the reason of its refusal."""

    counts: tuple[int, int, int, int] | None = None
    cannot_sign_in: list[str] = []
    """New users without a password."""
    why: str | None = None
    faults: list[tuple[str, str, bool, list[str]]] = []
    """Path, rule or reason, whether it is a reason, choices."""

    @classmethod
    def of_refusal(cls, reply: Refused) -> "Ending":
        """Return the ending of a refused run."""
        faults = [
            (fault.path, fault.rule.value, isinstance(fault.rule, Why), [*fault.choices])
            for fault in reply.faults
        ]
        return cls(why=reply.why.value, faults=faults)

    def read_faults(self) -> tuple[FieldFault, ...]:
        """Return what was wrong with the sheet."""
        return tuple(
            FieldFault(path, Why(rule) if is_reason else FieldRule(rule), tuple(choices))
            for path, rule, is_reason, choices in self.faults
        )


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a run."""

    owner: str
    kind: str
    """Name of the resource."""
    rows: int
    headings: dict[str, str]
    prepared: int = 0
    told_at: int = 0
    ending: Ending | None = None


Work = Callable[[Callable[[], None]], Awaitable[Ending]]
"""Does the work of a run; calls its argument for each row that is prepared."""


@dataclass(eq=False)
class ImportRuns:
    """The runs of this process, and the reports of those of all processes."""

    folder: Path
    _: KW_ONLY
    clock: Clock
    entropy_source: EntropySource
    nursery: trio.Nursery
    run_sync: RunSync
    _limiter: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(_AT_A_TIME))
    _running: int = 0

    async def start(self, run: Run, work: Work) -> str:
        """Begin a run and return its name; raise `TooManyRuns`, `OSError`."""
        if self._running == _AT_A_TIME:
            raise TooManyRuns
        self._running += 1
        try:
            name = self.entropy_source.draw()[:16].hex()
            await self._touch(partial(_delete_old, self.folder, self.clock.now() - _KEPT_MS))
            await self._write_progress(name, run)
        except BaseException:
            self._running -= 1
            raise
        self.nursery.start_soon(self._work, name, run, work)
        return name

    async def read(self, name: str) -> Run | None:
        """Return a run's last report; None for an unknown name."""
        if _NAME.fullmatch(name) is None:
            return None
        return await self._touch(partial(_read, self.folder / f"{name}.json"))

    def is_lost(self, run: Run) -> bool:
        """Whether the outcome of a run is unknown."""
        return run.ending is None and self.clock.now() - run.told_at > _LOST_AFTER_MS

    async def _work(self, name: str, run: Run, work: Work) -> None:
        prepared = 0

        def count() -> None:
            nonlocal prepared
            prepared += 1

        async def report() -> None:
            while True:
                await trio.sleep(_REPORT_SECONDS)
                await self._write_progress(name, msgspec.structs.replace(run, prepared=prepared))

        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(report)
                ending = await work(count)
                with trio.CancelScope(shield=True):
                    await self._write_progress(name, msgspec.structs.replace(run, ending=ending))
                nursery.cancel_scope.cancel()
        except Exception as error:
            # What is said of it is what is known: that it is lost.
            fault = unwrap_error(error)
            where = list_frames(fault)
            _log.error("an import went wrong after its request", cause=type(fault).__name__, where=where)
        finally:
            self._running -= 1

    async def _write_progress(self, name: str, run: Run) -> None:
        content = msgspec.json.encode(msgspec.structs.replace(run, told_at=self.clock.now()))
        await self._touch(partial(_write, self.folder, name, content))

    async def _touch(self, work: Callable[[], "Run | None"]) -> Run | None:
        return await self.run_sync(work, limiter=self._limiter)


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{name}"
    unfinished.write_bytes(content)
    unfinished.replace(folder / f"{name}.json")


def _read(path: Path) -> Run | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Run)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _delete_old(folder: Path, before: Instant | int) -> None:
    for path in folder.glob("*.json"):
        run = _read(path)
        if run is None or run.told_at < before:
            path.unlink(missing_ok=True)
