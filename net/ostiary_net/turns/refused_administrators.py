"""Tell the audit trail what administrators are refused, each at once and repeated ones by their number."""

from dataclasses import replace
from typing import Final

import structlog

from ostiary_core.events import AdministratorRefused
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Monotonic
from ostiary_core.model.permissions import Permission
from ostiary_core.throttling.refusal_counts import RefusalCounts
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import Turns

_log: Final = structlog.get_logger("ostiary")


class RefusedAdministrators:
    """The refusals that one process has told of or counts."""

    def __init__(self) -> None:
        self._counts: RefusalCounts[AdministratorRefused, Origin] = RefusalCounts()

    async def report(
        self,
        decision: Decision,
        permission: Permission | None,
        origin: Origin,
        turns: Turns,
        now: Monotonic,
    ) -> None:
        """Tell of the refusals in a decision, or count those that came before; log it if that fails."""
        for fact in decision.facts:
            if fact.kind is FactKind.REFUSED and fact.actor_id is not None and fact.why is not None:
                # All that an entry says but how often: refusals alike in it are the same.
                refusal = AdministratorRefused(
                    actor_id=fact.actor_id,
                    why=fact.why,
                    permission=permission,
                    user_id=fact.user_id,
                    client_id=fact.client_id,
                    role_id=fact.role_id,
                    times=0,
                    acting=fact.acting,
                )
                times = self._counts.count(refusal, origin, now)
                if times:
                    await _tell(refusal, origin, times, turns)

    async def report_repeated(self, turns: Turns, now: Monotonic | None) -> None:
        """Tell of counted refusals whose hour is over; of all if no time is given, as the process ends."""
        for refusal, origin, times in self._counts.take_due(now):
            await _tell(refusal, origin, times, turns)


async def _tell(refusal: AdministratorRefused, origin: Origin, times: int, turns: Turns) -> None:
    try:
        await turns.decide(replace(refusal, times=times), origin)
    except TurnFailed as failure:
        cause = type(failure.__cause__ or failure).__name__
        _log.error("refusal not kept", trace_id=origin.trace_id, cause=cause)
