"""One session by rules at random: refresh, retry, replay and revoke ("Session and tokens").

Read this first: the life of a session is four rules and one invariant. Hypothesis draws which rule comes next
and how much time passes before it, and cuts a failure down to its shortest story. The campaigns of `fuzz`
(docs/proving.md) do the same with everything else that happens.
"""

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ostiary_core import Why
from ostiary_core.model.fact import FactKind
from ostiary_core.model.reply import Done, TokensIssued
from tests.support.asks import refresh, revoke
from tests.support.story import Outcome, given, tokens_of

AGENTS = st.sampled_from(["phone", "desk", None])
"""User-Agents; another one redeemed the code, as only that of the rotation counts."""
PAUSES = st.sampled_from([0, 1, 29.999, 30, 30.001])
"""Seconds, most of them at the edge of the grace."""


class Rotation(RuleBasedStateMachine):
    """A client with one session, and what the specification says of each of its pairs."""

    @initialize()
    def redeem_code(self) -> None:
        """Begin the session."""
        self.world = given()
        self.pairs = [self.world.tokens()]
        self.ended: Why | None = None
        self.waited = 0.0
        self.agent: str | None = None

    @rule(agent=AGENTS, seconds=PAUSES)
    def present_current_token(self, agent: str | None, seconds: float) -> None:
        """Expect the next pair."""
        if (outcome := self._refresh(-1, agent, seconds)) is not None:
            self.pairs.append(outcome.then(TokensIssued))
            self.waited, self.agent = 0.0, agent

    @precondition(lambda self: len(self.pairs) > 1)
    @rule(is_same_agent=st.booleans(), agent=AGENTS, seconds=PAUSES)
    def present_spent_token(self, is_same_agent: bool, agent: str | None, seconds: float) -> None:
        """Expect the same pair, in the grace and from the User-Agent of the rotation; else the end."""
        agent = self.agent if is_same_agent else agent
        if (outcome := self._refresh(-2, agent, seconds)) is None:
            return
        if self.waited > 30:
            self._expect_end(outcome, Why.REPLAYED_AFTER_GRACE)
        elif agent != self.agent:
            self._expect_end(outcome, Why.REPLAYED_BY_ANOTHER_USER_AGENT)
        else:
            repeated = outcome.then(TokensIssued, changes=[], facts=[FactKind.PAIR_REPEATED])
            assert tokens_of([repeated]) == tokens_of(self.pairs[-1:])

    @precondition(lambda self: len(self.pairs) > 2)
    @rule(agent=AGENTS, seconds=PAUSES)
    def present_older_token(self, agent: str | None, seconds: float) -> None:
        """Expect the end, in the grace too."""
        if (outcome := self._refresh(-3, agent, seconds)) is not None:
            self._expect_end(outcome, Why.REPLAYED_TWO_GENERATIONS_LATE)

    @rule(which=st.sampled_from(["access", "refresh", "spent access"]))
    def revoke_token(self, which: str) -> None:
        """Expect 200 whatever the token is; a spent access token belongs to no session (READINGS 54)."""
        pair = self.pairs[-2 if which == "spent access" and len(self.pairs) > 1 else -1]
        token = pair.refresh_token if which == "refresh" else pair.access_token
        self.world.when(revoke(self.world.basic(), token)).then(Done)
        if pair is self.pairs[-1] and self.ended is None:
            self.ended = Why.REVOKED_BY_CLIENT

    @invariant()
    def only_the_latest_pair_of_a_running_session_is_good(self) -> None:
        """Introspect both tokens of every pair."""
        if self.ended is None:
            assert self.world.is_active(self.pairs[-1].access_token)
            assert self.world.is_active(self.pairs[-1].refresh_token)
            assert not self.world.any_active(*self.pairs[:-1])
        else:
            assert not self.world.any_active(*self.pairs)
            assert self.world.the_session().ended_why is self.ended

    def _refresh(self, generation: int, agent: str | None, seconds: float) -> Outcome | None:
        """Present a refresh token after so long; once the session has ended, it is refused as such.

        Then another session begins, and None is returned: or most of what is drawn would meet one that ended.
        """
        self.world.wait(seconds)
        self.waited += seconds
        outcome = self.world.when(refresh(self.world.basic(), self.pairs[generation], user_agent=agent))
        if self.ended is None:
            return outcome
        outcome.then_refused(Why.SESSION_ENDED, error="invalid_grant")
        self.redeem_code()
        return None

    def _expect_end(self, outcome: Outcome, why: Why) -> None:
        outcome.then_refused(
            why, changes=["update session"], facts=[FactKind.SESSION_ENDED], error="invalid_grant"
        )
        self.ended = why


TestRotation = Rotation.TestCase
TestRotation.settings = settings(max_examples=120, stateful_step_count=20, deadline=None)
