"""What a refresh token leads to, as a formula of Z3 over one session, and the core's own verdict beside it.

The formula restates `ostiary_core.oauth.session.refresh`. So that neither drifts from the other,
`differences` asks the core itself at every small session: around each boundary of time, for every generation.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import product
from typing import Any, Final, NamedTuple

import z3

from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS
from ostiary_core.decide import decide
from ostiary_core.events import AuthenticationMethod, ClientCredentials, RefreshRequested
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.instant import Arrival, Instant
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.records import (
    Client,
    Consent,
    Epochs,
    GrantType,
    RefreshToken,
    Session,
    SessionKind,
    Table,
    User,
)
from ostiary_core.model.reply import Refused, TokensIssued
from ostiary_core.model.secret import Entropy, Secret, digest_of
from ostiary_core.model.why import Why


class Outcome(IntEnum):
    """What becomes of a refresh token that its own client presents."""

    UNKNOWN = 0
    ENDED = 1
    EXPIRED = 2
    ROTATED = 3
    REPEATED = 4
    REPLAYED = 5
    """The session ends."""
    DOUBTED = 6
    """Not answered, as nobody can know when it arrived; nothing ends."""


class Presented(NamedTuple):
    """A refresh token, when it came, and the session that it meets; each value a number or a formula."""

    token_generation: Any
    earliest: Any
    latest: Any
    now: Any
    same_agent: Any
    generation: Any
    rotated_at: Any
    expires_at: Any
    has_salt: Any
    has_ended: Any
    grace: Any


Rule = Callable[[Presented], Any]


def outcome(seen: Presented) -> Any:
    """The `Outcome` of a refresh, by number. Instants are milliseconds, `grace` too."""
    late = seen.generation - seen.token_generation
    grace_ends_at = seen.rotated_at + seen.grace
    is_in_the_last_second = seen.now > seen.expires_at - 1_000
    cases = (
        (z3.Or(seen.token_generation < 0, late < 0), Outcome.UNKNOWN),
        (seen.has_ended, Outcome.ENDED),
        (seen.now >= seen.expires_at, Outcome.EXPIRED),
        (z3.And(late == 0, is_in_the_last_second), Outcome.EXPIRED),
        (late == 0, Outcome.ROTATED),
        (late > 1, Outcome.REPLAYED),
        (z3.And(seen.earliest > grace_ends_at, seen.now > grace_ends_at), Outcome.REPLAYED),
        (seen.rotated_at > seen.now + AHEAD_MS, Outcome.REPLAYED),
        (z3.Not(seen.same_agent), Outcome.REPLAYED),
        (is_in_the_last_second, Outcome.EXPIRED),
        (z3.Not(seen.has_salt), Outcome.DOUBTED),
        (z3.And(seen.latest > grace_ends_at, seen.now > grace_ends_at), Outcome.DOUBTED),
    )
    chosen: Any = z3.IntVal(Outcome.REPEATED)
    for condition, result in reversed(cases):
        chosen = z3.If(condition, z3.IntVal(result), chosen)
    return chosen


def of_variables() -> Presented:
    """A refresh of which nothing is known but that it arrived between two instants that follow each other."""
    flags = ("same_agent", "has_salt", "has_ended")
    return Presented(*(z3.Bool(name) if name in flags else z3.Int(name) for name in Presented._fields))


# --- beside the core

_GRACE_MS: Final = SPECIFICATION.grace_seconds * 1_000
AHEAD_MS: Final = SPECIFICATION.salt_seconds * 1_000
_ROTATED_AT: Final = BEGINNING_OF_TIME_MS
_EXPIRES_AT: Final = _ROTATED_AT + 2 * _GRACE_MS
_MOMENTS: Final = tuple(
    _ROTATED_AT + after
    for after in (
        -AHEAD_MS - 1,
        -AHEAD_MS,
        0,
        *(_GRACE_MS + by for by in (-1, 0, 1)),
        2 * _GRACE_MS - 1_000,
        2 * _GRACE_MS - 999,
        2 * _GRACE_MS,
    )
)
_SECRET: Final = Secret("of a client")


def differences(rule: Rule = outcome) -> Iterator[str]:
    """Where the formula and the core say different things of a refresh, over all small sessions."""
    variables = of_variables()
    formula = rule(variables)
    for seen in _small_refreshes():
        values = [
            (variable, z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value))
            for variable, value in zip(variables, seen, strict=True)
        ]
        said = Outcome(z3.simplify(z3.substitute(formula, *values)).as_long())
        decided = decide_in_the_core(seen)
        if said is not decided:
            yield f"the formula says {said.name}, the core {decided.name}: {seen}"


def _small_refreshes() -> Iterator[Presented]:
    for generation, token_generation in product(range(4), range(-1, 4)):
        if token_generation > generation:
            continue
        for now, earliest, latest in product(_MOMENTS, _MOMENTS, _MOMENTS):
            if not earliest <= latest <= now:
                continue
            for same_agent, has_salt, has_ended in product((True, False), repeat=3):
                yield Presented(
                    token_generation,
                    earliest,
                    latest,
                    now,
                    same_agent,
                    generation,
                    _ROTATED_AT,
                    _EXPIRES_AT,
                    has_salt,
                    has_ended,
                    _GRACE_MS,
                )


def decide_in_the_core(seen: Presented) -> Outcome:
    """Let the core decide the refresh of a session that is made to be as described."""
    snapshot, spent = _session_of(seen)
    event = RefreshRequested(
        ClientCredentials(client_id="app", secret=_SECRET, method=AuthenticationMethod.BASIC),
        spent,
        None,
        "phone" if seen.same_agent else "desk",
        Entropy(bytes(32)),
        Arrival(Instant(seen.earliest), Instant(seen.latest)),
    )
    decision = decide(event, snapshot, Instant(seen.now))
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


def _session_of(seen: Presented) -> tuple[Snapshot, Secret]:
    began = Instant(_ROTATED_AT)
    client = Client(
        client_id="app",
        name="App",
        secret_digest=_SECRET.digest,
        redirect_uris=("https://app.example/cb",),
        grant_types=(GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN),
        scopes=("user.read",),
        auto_approve_scopes=(),
        access_token_seconds=60,
        refresh_token_seconds=60,
        enabled=True,
        built_in=False,
        created_at=began,
        updated_at=began,
    )
    user = User(
        user_id="u",
        username="ann",
        name="Ann",
        password_hash=None,
        must_change_password=False,
        created_at=began,
        updated_at=began,
    )
    session = Session(
        "s",
        SessionKind.AUTHORIZATION_CODE,
        "app",
        "u",
        ("user.read",),
        Epochs(0, 0, 0),
        began,
        Instant(seen.expires_at),
        digest_of("access"),
        ("user.read",),
        Instant(seen.expires_at),
        "phone",
        "",
        seen.generation,
        bytes(32) if seen.has_salt else None,
        Instant(seen.rotated_at),
        "phone",
        Instant(seen.rotated_at) if seen.has_ended else None,
        Why.REVOKED_BY_CLIENT if seen.has_ended else None,
    )
    spent = Secret("spent")
    known = seen.token_generation >= 0
    token = RefreshToken(spent.digest, "s", seen.token_generation) if known else None
    records: dict[tuple[Table, Any], Any] = {
        (Table.CLIENT, "app"): client,
        (Table.USER, "u"): user,
        (Table.CONSENT, ("u", "app")): Consent(
            user_id="u", client_id="app", scopes=("user.read",), granted_at=began
        ),
        (Table.SESSION, "s"): session,
        (Table.REFRESH_TOKEN, spent.digest): token,
    }
    return Snapshot(records), spent
