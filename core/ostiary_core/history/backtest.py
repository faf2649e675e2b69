"""Run an audit trail through the rules again, under its own policy and an alternative, and compare.

Rules, all in this file:

- The trail is run twice (`backtest_run`), under the recorded policy and under the alternative.
- Under the recorded policy a session must go as the trail says. One that does not, as the trail begins in the
  middle of it or its policy was another, is listed as unexplained and not counted.
- The first use of a spent token with another outcome decides that a session is saved or lost.
- Only recorded requests are run: what a client would have asked next is unknown.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ostiary_core.history.backtest_run import RECORDED, BacktestRun, Outcome, Rules
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why


class Verdict(StrEnum):
    """The result for a session under the alternative: saved or lost."""

    SAVED = "saved"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A session that would have ended differently, and the first request that differs."""

    session_id: str
    client_id: str | None
    user_id: str | None
    at: Instant
    verdict: Verdict
    recorded: Why | None
    """Reason of the refusal; None where tokens were issued."""
    alternative: Why | None
    delay_ms: int | None
    """Delay of the spent token after its first use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The result of running a trail under two sets of rules."""

    entries: int
    sessions: int
    refreshes: int
    ended: int
    """Sessions that a spent token ended."""
    ended_by_alternative: int
    differences: tuple[Difference, ...]
    early_refreshes: int
    """Rotations while the access token was still good."""
    early_refreshes_by_alternative: int
    unexplained_session_ids: tuple[str, ...]
    """Sessions that the recorded rules do not explain."""

    def of(self, verdict: Verdict) -> tuple[Difference, ...]:
        """Return the differences with one verdict."""
        return tuple(difference for difference in self.differences if difference.verdict is verdict)


def backtest(entries: Iterable[AuditEntry], alternative: Rules, recorded: Rules = RECORDED) -> Backtest:
    """Run `entries`, in any order, under `recorded` and under `alternative`.

    An entry that comes twice, as where two exports overlap, counts once.
    """
    in_order = sorted(dict.fromkeys(entries), key=lambda entry: (entry.at, entry.number))
    retry_seconds = recorded.policy.grace_seconds
    first, second = BacktestRun(recorded, retry_seconds), BacktestRun(alternative, retry_seconds)
    differences: dict[str, Difference] = {}
    unlike: dict[str, None] = {}
    refreshes = 0
    for entry in in_order:
        was, would = first.run(entry), second.run(entry)
        session_id = entry.session_id
        if was is None or would is None or session_id is None:
            continue
        refreshes += 1
        if not _is_as_recorded(was, entry):
            unlike[session_id] = None
        elif was.is_issued is not would.is_issued and session_id not in differences:
            differences[session_id] = _difference(entry, was, would)
    explained = [one for name, one in differences.items() if name not in unlike]
    return Backtest(
        entries=len(in_order),
        sessions=len(first.sessions),
        refreshes=refreshes,
        ended=len(first.ended - unlike.keys()),
        ended_by_alternative=len(second.ended - unlike.keys()),
        differences=tuple(explained),
        early_refreshes=first.early_refreshes,
        early_refreshes_by_alternative=second.early_refreshes,
        unexplained_session_ids=tuple(unlike),
    )


def _is_as_recorded(was: Outcome, entry: AuditEntry) -> bool:
    if entry.kind is FactKind.SESSION_ENDED:
        return was.why is entry.why
    return was.kind is entry.kind


def _difference(entry: AuditEntry, was: Outcome, would: Outcome) -> Difference:
    is_repeated = entry.kind is not FactKind.PAIR_ROTATED and entry.earlier_at is not None
    return Difference(
        session_id=entry.session_id or "",
        client_id=entry.client_id,
        user_id=entry.user_id,
        at=entry.at,
        verdict=Verdict.SAVED if would.is_issued else Verdict.LOST,
        recorded=None if was.is_issued else was.why,
        alternative=None if would.is_issued else would.why,
        delay_ms=entry.at - entry.earlier_at if is_repeated and entry.earlier_at is not None else None,
    )
