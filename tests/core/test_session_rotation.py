"""Rotation, safe retry, replay and scope at refresh ("Session and tokens", READINGS 1-5).

Every boundary of time and of arrival (READINGS 46): test_refresh_grid.py. Any order of requests:
test_rotation_machine.py.
"""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from ostiary_core import Policy, Secret, Why, events as e, keys, load, take_turn
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.records import Record, Table, revise
from ostiary_core.model.reply import Done, TokenActive, TokenInactive, TokensIssued
from ostiary_core.model.secret import derive_successor
from tests.rows import row
from tests.support import asks
from tests.support.asks import profile, redeem, refresh
from tests.support.story import World, given, tokens_of

ROTATION = ["update session", "insert refresh token"]
ENDING = ["update session"]
ERRORS = "Token-service errors"


def make_rotated() -> tuple[World, TokensIssued, TokensIssued]:
    """Make a world with a pair, and the pair that followed it just now."""
    world = given()
    first = world.tokens()
    return world, first, world.when(refresh(world.basic(), first)).then(TokensIssued)


# --- rotation


@row("Session and tokens", "refresh with the current refresh token")
@row("Grants", "refresh_token")
def test_the_current_refresh_token_rotates_the_pair(world: World) -> None:
    first = world.tokens()

    second = world.when(refresh(world.basic(), first)).then(
        TokensIssued, changes=ROTATION, facts=[FactKind.PAIR_ROTATED]
    )

    assert not world.any_active(first)
    world.when(profile(first.access_token)).then_refused(Why.NOT_SIGNED_IN)
    assert world.all_active(second)
    assert world.the_session().generation == 1


def test_the_trail_names_client_user_and_user_agent_of_each_request() -> None:
    world = given()
    agents = ["desk", "phone", "phone", "thief"]
    redemption = world.when(redeem(world.basic(), world.code(), user_agent=agents[0]))
    first = redemption.then(TokensIssued)
    refreshes = [world.when(refresh(world.basic(), first, user_agent=agent)) for agent in agents[1:]]
    told = [outcome.decision.facts[-1] for outcome in (redemption, *refreshes)]
    assert [fact.user_agent for fact in told] == agents
    assert {(fact.client_id, fact.user_id) for fact in told} == {("app", world.user_ids["alice"])}
    assert told[0].scopes == first.scopes
    assert world.the_session().salt is None, "what ended leads to no pair any more"


def test_where_user_agents_are_not_compared_a_retry_may_come_from_another() -> None:
    world = given(policy=Policy(compare_user_agent=False))
    first = world.tokens()
    second = world.when(refresh(world.basic(), first)).then(TokensIssued)
    assert world.when(refresh(world.basic(), first, user_agent="thief")).then(TokensIssued) == second


def test_within_one_turn_too_a_session_is_found_by_the_access_token_it_has_by_then(world: World) -> None:
    first, credentials = world.tokens(), world.basic()
    rotation = refresh(credentials, first)

    def asked(token: Secret) -> e.IntrospectionRequested:
        return e.IntrospectionRequested(credentials=credentials, token=token)

    # The successor pair is derived from the event alone, so it is known before the turn.
    [foreseen] = take_turn([rotation], load([keys(rotation)], world.store.fetch), world.now)
    assert isinstance(foreseen.reply, TokensIssued)
    second = foreseen.reply.access_token
    ending = e.RevocationRequested(credentials=credentials, token=second)
    events: list[e.Event] = [asked(first.access_token), asked(second), rotation]
    events += [asked(first.access_token), asked(second), ending, asked(second)]
    assert [type(decision.reply) for decision in world.store.turn(events, world.now)] == [
        *(TokenActive, TokenInactive, TokensIssued),
        *(TokenInactive, TokenActive, Done, TokenInactive),
    ]


def test_a_token_found_among_access_tokens_is_not_looked_for_among_refresh_tokens() -> None:
    world, _, second = make_rotated()
    asked: list[tuple[Table, int]] = []

    def fetch(table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        asked.append((table, len(identifiers)))
        return world.store.fetch(table, identifiers)

    tokens = (second.access_token, second.refresh_token, Secret("unknown"))
    events = [e.IntrospectionRequested(credentials=world.basic(), token=token) for token in tokens]
    load([keys(event) for event in events], fetch)
    assert asked[:2] == [(Table.ACCESS_TOKEN, 3), (Table.REFRESH_TOKEN, 2)]


def test_a_successor_is_derived_from_the_spent_token_and_a_salt_that_is_stored() -> None:
    """Derive it from both, as neither alone leads to it (READINGS 1)."""
    world, first, second = make_rotated()
    salt = world.the_session().salt
    assert salt is not None
    assert len(salt) == 32
    assert first.refresh_token is not None
    assert second.access_token == derive_successor(salt, "access:", first.refresh_token)
    assert second.refresh_token == derive_successor(salt, "refresh:", first.refresh_token)
    assert second.access_token != second.refresh_token
    assert derive_successor(b"another salt", "refresh:", first.refresh_token) != second.refresh_token


def test_the_sweeper_erases_the_salt_after_the_grace_and_not_before() -> None:
    world, first, second = make_rotated()
    lapse = e.GraceExpired(session_id=world.the_session().session_id)

    world.wait(30)
    assert world.when(lapse).changes == []
    assert world.when(refresh(world.basic(), first)).then(TokensIssued).access_token == second.access_token

    world.wait(0.001)
    before, erased = world.the_session(), world.when(lapse).decision
    fact = Fact(
        FactKind.SALT_ERASED,
        user_id=before.user_id,
        client_id="app",
        session_id=before.session_id,
        earlier_at=before.rotated_at,
        earlier_user_agent=before.rotated_user_agent,
    )
    assert erased == Decision(Done(), (Update(before, revise(before, salt=None)),), (fact,))
    assert world.all_active(second)
    assert world.when(lapse).changes == []


# --- a spent token


@row("Session and tokens", "old refresh token within 30 s, same User-Agent")
@row("Limits rules", "4 refresh grace period 30 s")
@pytest.mark.parametrize("seconds", [0, 30])
def test_the_old_refresh_token_gives_the_same_pair_again(seconds: float) -> None:
    world, first, second = make_rotated()
    world.wait(seconds)
    retried = world.when(refresh(world.basic(), first))
    again = retried.then(TokensIssued, changes=[], facts=[FactKind.PAIR_REPEATED])
    assert tokens_of([again]) == tokens_of([second])
    assert world.all_active(second)


@row(ERRORS, "invalid_grant: refresh token replayed outside the grace")
@row("Session and tokens", "old refresh token after 30 s")
def test_the_old_refresh_token_after_30_s_ends_the_session() -> None:
    world, first, second = make_rotated()
    rotated = world.wait(30.001).the_session()
    replayed = world.when(refresh(world.basic(), first, user_agent="a thief"))
    replayed.then_refused(Why.REPLAYED_AFTER_GRACE, changes=ENDING, error="invalid_grant")
    assert replayed.decision.facts == (
        Fact(
            FactKind.SESSION_ENDED,
            user_id=rotated.user_id,
            client_id="app",
            session_id=rotated.session_id,
            why=Why.REPLAYED_AFTER_GRACE,
            user_agent="a thief",
            earlier_at=rotated.rotated_at,
            earlier_user_agent=asks.APP,
        ),
    )
    assert world.the_session().ended_why is Why.REPLAYED_AFTER_GRACE
    world.assert_ended(second)


@row("Session and tokens", "old refresh token with a different User-Agent")
@pytest.mark.parametrize(
    "used_by, retried_by",
    [
        *((asks.APP, other) for other in ("another", asks.APP + " ", asks.APP.upper(), None)),
        *((None, other) for other in (asks.APP, "")),
    ],
)
def test_another_user_agent_ends_the_session(used_by: str | None, retried_by: str | None) -> None:
    world = given()
    first = world.tokens()
    second = world.when(refresh(world.basic(), first, user_agent=used_by)).then(TokensIssued)
    world.when(refresh(world.basic(), first, user_agent=retried_by)).then_refused(
        Why.REPLAYED_BY_ANOTHER_USER_AGENT, changes=ENDING, facts=[FactKind.SESSION_ENDED]
    )
    world.assert_ended(second)


@pytest.mark.parametrize("seconds", [0, 31])
def test_a_token_two_generations_back_is_a_replay_whatever_the_time(seconds: float) -> None:
    """READINGS 3."""
    world, first, second = make_rotated()
    third = world.when(refresh(world.basic(), second)).then(TokensIssued)
    world.wait(seconds)
    replayed = world.when(refresh(world.basic(), first))
    replayed.then_refused(Why.REPLAYED_TWO_GENERATIONS_LATE, changes=ENDING, facts=[FactKind.SESSION_ENDED])
    world.assert_ended(third)


# --- scope at refresh


@row(ERRORS, "invalid_scope: refresh beyond the original grant")
@row("Session and tokens", "refresh with a scope beyond the original")
def test_a_scope_too_wide_is_refused_and_the_pair_rotated_all_the_same(world: World) -> None:
    """READINGS 5."""
    first = world.tokens()

    world.when(refresh(world.basic(), first, scopes=("more",))).then_refused(
        Why.SCOPE_TOO_WIDE, changes=ROTATION, facts=[FactKind.PAIR_ROTATED], error="invalid_scope"
    )
    assert not world.any_active(first)
    world.when(refresh(world.basic(), first, scopes=("user.read", "more"))).then_refused(Why.SCOPE_TOO_WIDE)

    world.wait(30)
    pair = world.when(refresh(world.basic(), first)).then(TokensIssued, changes=[])
    assert world.all_active(pair)
    assert pair.scopes == ("user.read",)


def test_a_narrower_scope_narrows_only_the_new_access_token(world: World) -> None:
    """Give the session a second scope by hand, as there is one today (READINGS 5)."""
    first = world.tokens()
    asks.grant_more(world.store, world.the_session(), ("user.read", "more"))

    second = world.when(refresh(world.basic(), first, scopes=("more",))).then(TokensIssued)
    assert second.scopes == ("more",)
    repeated = world.when(refresh(world.basic(), first)).then(TokensIssued)
    assert repeated.scopes == ("more",), "a retry is answered with the scope of the pair"

    def scopes_of(token: Secret | None) -> tuple[str, ...]:
        asked = e.IntrospectionRequested(credentials=world.basic(), token=token)
        return world.when(asked).then(TokenActive).scopes

    assert scopes_of(second.access_token) == ("more",)
    assert scopes_of(second.refresh_token) == ("user.read", "more")
    assert world.when(refresh(world.basic(), second)).then(TokensIssued).scopes == ("user.read", "more")


def test_a_session_keeps_its_scope_when_the_client_loses_it(world: World) -> None:
    """Check only codes again (READINGS 34)."""
    first = world.tokens()
    world.given(asks.client_change(scopes=[], autoApproveScopes=[]))
    assert world.when(refresh(world.basic(), first)).then(TokensIssued).scopes == ("user.read",)
