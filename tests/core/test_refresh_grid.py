"""A table of cases gives the outcome of each refresh, independently of the core's own verdict.

Both judge every session of up to four generations, around each boundary of time: 18,480 refreshes.
"""

from collections.abc import Iterator
from enum import Enum, auto
from itertools import product
from typing import Any, Final, NamedTuple

import pytest

from ostiary_core.decide import decide
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.instant import Arrival, Instant
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.records import Key, RefreshToken, Table, revise
from ostiary_core.model.reply import Refused, TokensIssued
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from tests.support.asks import refresh
from tests.support.story import given


class Outcome(Enum):
    """The outcome when a client presents its own refresh token."""

    UNKNOWN = auto()
    ENDED = auto()
    EXPIRED = auto()
    ROTATED = auto()
    REPEATED = auto()
    REPLAYED = auto()
    """The session ends."""
    DOUBTED = auto()
    """Refused, as the time of its arrival is unknown; nothing ends."""


class Presented(NamedTuple):
    """A refresh token, when it came, and the session that it meets; instants in milliseconds."""

    token_generation: int
    earliest: int
    latest: int
    now: int
    same_agent: bool
    generation: int
    has_salt: bool
    has_ended: bool


GRACE_MS: Final = SPECIFICATION.grace_seconds * 1_000
AHEAD_MS: Final = SPECIFICATION.salt_seconds * 1_000
ROTATED_AT: Final = 1_700_000_000_000
EXPIRES_AT: Final = ROTATED_AT + 2 * GRACE_MS


def expected_outcome(seen: Presented) -> Outcome:
    """Return what the specification says of a refresh."""
    late = seen.generation - seen.token_generation
    grace_ends_at = ROTATED_AT + GRACE_MS
    is_in_the_last_second = seen.now > EXPIRES_AT - 1_000
    cases = (
        (seen.token_generation < 0, Outcome.UNKNOWN),
        (seen.has_ended, Outcome.ENDED),
        (seen.now >= EXPIRES_AT, Outcome.EXPIRED),
        (late == 0 and is_in_the_last_second, Outcome.EXPIRED),
        (late == 0, Outcome.ROTATED),
        (late > 1, Outcome.REPLAYED),
        (seen.earliest > grace_ends_at and seen.now > grace_ends_at, Outcome.REPLAYED),
        (seen.now + AHEAD_MS < ROTATED_AT, Outcome.REPLAYED),
        (not seen.same_agent, Outcome.REPLAYED),
        (is_in_the_last_second, Outcome.EXPIRED),
        (not seen.has_salt, Outcome.DOUBTED),
        (seen.latest > grace_ends_at and seen.now > grace_ends_at, Outcome.DOUBTED),
    )
    return next((outcome for applies, outcome in cases if applies), Outcome.REPEATED)


_MOMENTS: Final = tuple(
    ROTATED_AT + after
    for after in (
        *(-AHEAD_MS - 1, -AHEAD_MS, 0, GRACE_MS - 1, GRACE_MS, GRACE_MS + 1),
        *(2 * GRACE_MS - 1_000, 2 * GRACE_MS - 999, 2 * GRACE_MS),
    )
)
_WORLD: Final = given()
_WORLD.tokens()
_SESSION: Final = _WORLD.the_session()
_RECORDS: Final = _WORLD.everything()


@pytest.mark.parametrize("generation", range(4))
def test_the_core_decides_each_refresh_as_the_table_says(generation: int) -> None:
    refreshes = [seen for seen in small_refreshes() if seen.generation == generation]
    assert len(refreshes) == 1_320 * (generation + 2)
    wrong = {seen: found for seen in refreshes if (found := decide_refresh(seen)) != expected_outcome(seen)}
    assert not wrong


def small_refreshes() -> Iterator[Presented]:
    """Yield a refresh for each generation, boundary of time, and truth of each condition."""
    for generation, token_generation in product(range(4), range(-1, 4)):
        for now, earliest, latest in product(_MOMENTS, repeat=3):
            if token_generation <= generation and earliest <= latest <= now:
                for flags in product((True, False), repeat=3):
                    same_agent, *others = flags
                    yield Presented(token_generation, earliest, latest, now, same_agent, generation, *others)


def decide_refresh(seen: Presented) -> Outcome:
    """Let the core decide the refresh of a session that is made to be as described."""
    spent = Secret("spent")
    event = refresh(
        _WORLD.basic(),
        spent,
        user_agent="phone" if seen.same_agent else "desk",
        arrival=Arrival(Instant(seen.earliest), Instant(seen.latest)),
    )
    decision = decide(event, Snapshot(_records_of(seen, spent)), Instant(seen.now))
    if isinstance(decision.reply, TokensIssued):
        return Outcome.ROTATED if decision.changes else Outcome.REPEATED
    assert isinstance(decision.reply, Refused)
    return Outcome.REPLAYED if decision.changes else _OF_REFUSALS[decision.reply.why]


_OF_REFUSALS: Final = {
    Why.TOKEN_UNKNOWN: Outcome.UNKNOWN,
    Why.SESSION_ENDED: Outcome.ENDED,
    Why.MAXIMUM_REACHED: Outcome.EXPIRED,
    Why.ARRIVAL_UNKNOWN: Outcome.DOUBTED,
}


def _records_of(seen: Presented, spent: Secret) -> dict[Key, Any]:
    session = revise(
        _SESSION,
        expires_at=Instant(EXPIRES_AT),
        access_expires_at=Instant(EXPIRES_AT),
        generation=seen.generation,
        salt=bytes(32) if seen.has_salt else None,
        rotated_at=Instant(ROTATED_AT),
        rotated_user_agent="phone",
        ended_at=Instant(ROTATED_AT) if seen.has_ended else None,
        ended_why=Why.REVOKED_BY_CLIENT if seen.has_ended else None,
    )
    known = seen.token_generation >= 0
    token = RefreshToken(spent.digest, session.session_id, seen.token_generation) if known else None
    return {**_RECORDS, session.key: session, Key(Table.REFRESH_TOKEN, spent.digest): token}
