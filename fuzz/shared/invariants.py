"""The list of invariants that every campaign checks, each with its name and its sentence.

The first eighteen are about the rules. `fuzz.rules.invariant_checker` checks them over the core: after every
turn for the records of the turn, and sometimes for everything. Number 13 is the model's, and its verdict
explains each violation. The others are about the server around the rules. `fuzz.simulation` checks both,
`fuzz.parsers` checks the last but one, `fuzz.processes.timing` the last.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Final


@dataclass(frozen=True, slots=True)
class Invariant:
    """A condition that must always hold."""

    name: str
    sentence: str
    number: int = field(default_factory=count(1).__next__)

    def __str__(self) -> str:
        return f"{self.number} {self.name}"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant, and how it showed; never with a bearer value."""

    invariant: Invariant
    detail: str
    step: int | None = None
    """Number of the step whose answer shows it, if one step alone does."""

    def __str__(self) -> str:
        return f"{self.invariant}: {self.detail}"


ONE_LIVE_PAIR: Final = Invariant("one-live-pair", "A session has at most one live pair of tokens.")
SPENT_IS_DEAD: Final = Invariant(
    "spent-is-dead", "A spent access token is dead from the moment its rotation is answered."
)
SAME_PAIR: Final = Invariant(
    "same-pair",
    "A retry inside the grace, by the same client and User-Agent, gives the same pair, byte for byte.",
)
REPLAY_ENDS: Final = Invariant(
    "replay-ends",
    "Any other use of a spent refresh token by its client ends the session, and both its tokens with it.",
)
NOTHING_OUTLIVES: Final = Invariant(
    "nothing-outlives",
    "Nothing outlives the session's maximum or the code's 300 seconds, and no refresh moves the maximum.",
)
ENDED_STAYS_ENDED: Final = Invariant(
    "ended-stays-ended", "An ending is final: no session, code, user or client comes back to life."
)
REDEEMED_ONCE: Final = Invariant("redeemed-once", "A code is redeemed at most once.")
CLIENTS_APART: Final = Invariant(
    "clients-apart",
    "Nothing of one client can be seen or changed by another, and nothing of the backend by any.",
)
SCOPE_NEVER_WIDENS: Final = Invariant(
    "scope-never-widens", "No token has a scope beyond what was granted, nor a grant beyond its request."
)
WIDE_ENDINGS: Final = Invariant(
    "wide-endings", "A user-wide, client-wide or consent-wide ending leaves nothing alive."
)
NO_SECRETS: Final = Invariant(
    "no-secrets", "No token, code or secret text is in the store, in a fact or in anything printed."
)
ACKNOWLEDGED_STAYS: Final = Invariant(
    "acknowledged-stays",
    "An acknowledged change survives a crash and a restart, and of a turn that failed nothing is kept.",
)
EXPLAINED: Final = Invariant(
    "explained",
    "Every answer is explained by some order of the events: the model, which restates the specification and "
    "shares nothing with the core, gives the same answers.",
)
STRANGERS: Final = Invariant(
    "strangers", "A caller that proved no identity changes nothing that belongs to another."
)
REFUSALS: Final = Invariant(
    "refusals", "A refusal changes only what the specification lists for it, and a question nothing at all."
)
PURE: Final = Invariant(
    "pure",
    "`decide` is pure and total, and `keys` covers what it reads: asked twice about the same snapshot it "
    "decides the same, changes nothing it was given, and raises nothing.",
)

RECORDED: Final = Invariant(
    "recorded",
    "The settings of a client, an account or a role change only with a fact that has each field before and "
    "after, nothing else and no whole telephone number; an administrator's refusal is recorded as well.",
)

HINDSIGHT: Final = Invariant(
    "hindsight",
    "Everything that can be read afterwards is what happened: why each session ended, every list, the "
    "summaries, the trail run again by its own rules, and each record that was written as text.",
)

DOCUMENTED: Final = Invariant(
    "documented",
    "Every answer is one that is documented; a failure of the store, and nothing else, is answered with 500.",
)
PROGRESS: Final = Invariant(
    "progress", "Every request is answered or its connection ends, and once nothing fails any more all is."
)
TIMELY: Final = Invariant(
    "timely",
    "An answered request took effect between question and answer, by the clock of the instance that "
    "answered; a request that never arrived whole took none.",
)
GUARDED: Final = Invariant(
    "guarded", "No write is lost, none is made twice, and none over another that was not seen."
)
SOURCED: Final = Invariant("sourced", "A session's source is the address that its request came from.")
READ_ALIKE: Final = Invariant(
    "read-alike",
    "Input from strangers is read as another reader of the same standard reads it, in one piece or many and "
    "within its bounds, or refused.",
)
UNTIMED: Final = Invariant(
    "untimed",
    "The time of a refusal does not reveal what exists: a client, an account, the beginning of a secret.",
)

TWO_FACTORS: Final = Invariant(
    "two-factors",
    "A user with a second factor signs in by the password and a code: each code once, in its step or beside "
    "it, and at most five tries in fifteen minutes; removing the factor needs both.",
)

INVARIANTS: Final = tuple(each for each in list(globals().values()) if isinstance(each, Invariant))
"""Invariants in the order of their numbers."""
OF_THE_RULES: Final = (*INVARIANTS[: HINDSIGHT.number], TWO_FACTORS)
OF_THE_SERVER: Final = tuple(each for each in INVARIANTS if each not in OF_THE_RULES)
