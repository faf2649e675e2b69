"""A session's life as it is told to whoever asks why it ended: every step, every ending, both languages."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.shared.state_tables import STATE_TABLES
from ostiary_core import Policy, Why
from ostiary_core.events import (
    ClientDeleted,
    ClientDisabled,
    ClientEnabled,
    ConsentWithdrawn,
    Event,
    Operator,
    PasswordResetByAdministrator,
    PasswordResetByTextMessage,
    SessionForcedOut,
    SignedOut,
    TextCodeRequested,
    UserChanged,
    UserDeleted,
    UserDisabled,
    UserEnabled,
    UserForcedOut,
)
from ostiary_core.history.explain import Explanation, Step, StepKind, explain
from ostiary_core.history.history_texts import ENDINGS, near_misses_text, step_text
from ostiary_core.http.language import Language
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision, Insert, LoginIssued, TokensIssued
from ostiary_core.model.instant import iso_time
from ostiary_core.model.records import RECORD_TABLES, Session, TextCodePurpose
from ostiary_core.model.secret import Secret
from ostiary_core.oauth.session import SessionState
from tests.core import asks
from tests.core.asks import APP, BROWSER, phone_change, redeem, refresh, revoke, signed_in
from tests.core.story import World, client, given, user

OTHER_APP = "app-backend/2.0"


def ask(world: World, event: Event, *, trace_id: str = "trace", user_agent: str | None = APP) -> Decision:
    """An event that a request from somewhere asked for."""
    origin = Origin(trace_id=trace_id, source="198.51.100.5", user_agent=user_agent)
    [decision] = world.store.turn([event], world.now, [origin])
    return decision


def told(world: World, kind: str = "authorization_code") -> Explanation:
    """The only session of its kind, explained."""
    return explained(world, world.the_session(kind))


def explained(world: World, session: Session) -> Explanation:
    life = world.store.session_history(session.session_id)
    assert life is not None
    return explain(life, world.now)


def in_words(of: Explanation, language: Language = Language.EN, **names: str) -> list[str]:
    return [step_text(step, of, language, names) for step in of.steps]


def kinds(of: Explanation) -> list[StepKind]:
    return [step.kind for step in of.steps]


def pair(decision: Decision) -> TokensIssued:
    assert isinstance(decision.reply, TokensIssued)
    return decision.reply


# --- the steps


def test_the_first_step_says_to_whom_by_which_client_and_from_where() -> None:
    world = given()
    code = world.code()
    ask(world, redeem(world.basic(), code), trace_id="redemption")

    life = told(world)
    issued = life.steps[0]

    assert (issued.kind, issued.at) == (StepKind.ISSUED, world.now)
    assert (issued.source, issued.user_agent, issued.trace_id) == ("198.51.100.5", APP, "redemption")
    assert in_words(life)[0] == (
        "The client app (The client app) redeemed an authorization code of the user alice (Alice), "
        f'for user.read, from 198.51.100.5, User-Agent "{APP}".'
    )
    assert "客户端 app (The client app) 兑换了用户 alice (Alice) 的授权码" in in_words(life, Language.ZH)[0]


def test_a_login_and_a_client_of_its_own_are_told_for_what_they_are() -> None:
    world = given()
    world.login()
    world.machine_token()

    assert in_words(told(world, "login"))[0].startswith("The user alice (Alice) signed in, from 203.0.113.7")
    assert in_words(told(world, "client_credentials"))[0].startswith(
        "The client app (The client app) took a token for itself, for user.read"
    )


def test_rotations_and_safe_retries_are_told_in_order_with_the_delay_after_the_first_use() -> None:
    world = given()
    first = world.tokens()
    world.wait(60)
    second = pair(ask(world, refresh(world.basic(), first)))
    first_use = world.now
    world.wait(4.2)
    assert pair(ask(world, refresh(world.basic(), first))).access_token == second.access_token
    world.wait(10)
    ask(world, refresh(world.basic(), first))
    world.wait(60)
    third = pair(ask(world, refresh(world.basic(), second)))
    world.wait(1.5)
    ask(world, refresh(world.basic(), second))
    assert world.all_active(third)

    life = told(world)

    assert kinds(life) == [
        StepKind.ISSUED,
        StepKind.ROTATED,
        StepKind.RETRIED,
        StepKind.RETRIED,
        StepKind.ROTATED,
        StepKind.RETRIED,
        StepKind.RUNNING,
    ]
    assert [step.delay_ms for step in life.steps] == [None, None, 4_200, 14_200, None, 1_500, None]
    assert life.steps[2].earlier_at == first_use
    assert "came again 4.200 s after its first use, and got the same pair" in in_words(life)[2]
    assert "首次使用 4.200 秒后" in in_words(life, Language.ZH)[2]
    instants = [step.at for step in life.steps if step.at is not None]
    assert instants == sorted(instants)


def test_near_misses_are_counted_with_the_latest_and_the_longest_delay() -> None:
    world = given()
    tokens = world.tokens()
    assert near_misses_text(told(world), Language.EN) == "No safe retry was needed."
    for delay in (20.0, 3.0):
        rotated = pair(ask(world, refresh(world.basic(), tokens)))
        world.wait(delay)
        ask(world, refresh(world.basic(), tokens))
        tokens = rotated

    misses = told(world).near_misses

    assert (misses.count, misses.latest_delay_ms, misses.longest_delay_ms) == (2, 3_000, 20_000)
    assert near_misses_text(told(world), Language.EN) == (
        "Safe retries that saved the client: 2; the latest came 3.000 s after the first use, "
        "the slowest 20.000 s."
    )


def test_a_rotation_whose_scope_was_too_wide_says_so_and_is_retried_without() -> None:
    world = given()
    tokens = world.tokens()
    ask(world, refresh(world.basic(), tokens, scopes=("user.read", "everything")))
    world.wait(1)
    ask(world, refresh(world.basic(), tokens))

    life = told(world)

    assert kinds(life)[1:3] == [StepKind.ROTATED, StepKind.RETRIED]
    assert life.steps[1].why is Why.SCOPE_TOO_WIDE
    assert "asked for a scope beyond the grant, from 198.51.100.5" in in_words(life)[1]
    assert "超出授权" in in_words(life, Language.ZH)[1]


def test_a_replay_is_no_near_miss() -> None:
    world = given()
    tokens = world.tokens()
    ask(world, refresh(world.basic(), tokens))
    world.wait(31)
    ask(world, refresh(world.basic(), tokens))

    assert told(world).near_misses.count == 0


def test_a_running_session_says_until_when() -> None:
    world = given()
    world.tokens()
    life = told(world)
    session = world.the_session()

    assert (life.state, life.why, life.last.kind) == (SessionState.ACTIVE, None, StepKind.RUNNING)
    assert in_words(life)[-1] == (
        f"It is running until {iso_time(session.expires_at)} at the latest; "
        f"its access token is good until {iso_time(session.access_expires_at)}."
    )

    world.wait(1_800)
    assert "its access token expired at" in in_words(told(world))[-1]


def test_the_maximum_is_told_with_its_duration_and_at_its_own_time() -> None:
    world = given()
    world.tokens()
    session = world.the_session()
    world.wait(604_800 + 50)

    life = told(world)

    assert (life.state, life.why) == (SessionState.EXPIRED, None)
    assert (life.last.kind, life.last.at) == (StepKind.MAXIMUM_REACHED, session.expires_at)
    assert in_words(life)[-1] == ("It reached its maximum duration of 7 d, which refreshing does not extend.")
    assert in_words(life, Language.ZH)[-1] == "已达到最长有效期 7 天，刷新不会延长该期限。"


# --- replays: both times, both User-Agents


def test_a_replay_after_the_grace_tells_both_uses() -> None:
    world = given()
    tokens = world.tokens()
    first_use = world.now
    ask(world, refresh(world.basic(), tokens))
    world.wait(30.001)
    ask(world, refresh(world.basic(), tokens, user_agent=OTHER_APP), user_agent=OTHER_APP)

    life = told(world)

    assert life.why is Why.REPLAYED_AFTER_GRACE
    assert (life.last.earlier_at, life.last.earlier_user_agent) == (first_use, APP)
    assert (life.last.at, life.last.user_agent, life.last.delay_ms) == (world.now, OTHER_APP, 30_001)
    assert in_words(life)[-1] == (
        "A refresh token that had been used came again 30.001 s after its first use, past the 30 s in which "
        f'a safe retry is answered. First use: {iso_time(first_use)}, User-Agent "{APP}". '
        f'Again: {iso_time(world.now)}, User-Agent "{OTHER_APP}", from 198.51.100.5.'
    )


def test_a_replay_by_another_user_agent_tells_of_one_that_was_absent() -> None:
    world = given()
    tokens = world.tokens()
    ask(world, refresh(world.basic(), tokens))
    world.wait(2)
    ask(world, refresh(world.basic(), tokens, user_agent=None), user_agent=None)

    life = told(world)

    assert life.why is Why.REPLAYED_BY_ANOTHER_USER_AGENT
    assert f'User-Agent "{APP}". Again: {iso_time(world.now)}, without a User-Agent' in in_words(life)[-1]
    assert f"再次：{iso_time(world.now)}，无 User-Agent" in in_words(life, Language.ZH)[-1]


def test_a_replay_two_generations_late_tells_of_the_last_rotation() -> None:
    world = given()
    first = world.tokens()
    second = pair(ask(world, refresh(world.basic(), first)))
    world.wait(5)
    ask(world, refresh(world.basic(), second))
    rotated_at = world.now
    world.wait(5)
    ask(world, refresh(world.basic(), first))

    life = told(world)

    assert life.why is Why.REPLAYED_TWO_GENERATIONS_LATE
    assert f"Last rotation: {iso_time(rotated_at)}" in in_words(life)[-1]
    assert life.last.delay_ms == 5_000


# --- every ending

End = Callable[[World, TokensIssued], None]


def _by_root(make: Callable[[World], Event]) -> End:
    """An administrator signs in and does it, by a request."""

    def end(world: World, tokens: TokensIssued) -> None:
        ask(world, make(world), trace_id="the deed", user_agent=BROWSER)

    return end


def _root(world: World) -> LoginIssued:
    return world.login("root")


def _text_code(world: World, purpose: TextCodePurpose, phone: str) -> Secret:
    caller = signed_in(world.login()) if purpose is TextCodePurpose.CHANGE_PHONE else None
    drawn = world.when(
        TextCodeRequested(caller=caller, purpose=purpose, phone=phone, entropy=asks.fresh_entropy())
    ).reply
    code = getattr(drawn, "code", None)
    assert isinstance(code, Secret)
    return code


def _phone_changed(world: World, tokens: TokensIssued) -> None:
    code = _text_code(world, TextCodePurpose.CHANGE_PHONE, "+8613900000000")
    ask(world, phone_change(world.login(), "+8613900000000", code), trace_id="the deed")


def _reset_by_text(world: World, tokens: TokensIssued) -> None:
    code = _text_code(world, TextCodePurpose.RESET_PASSWORD, "+8613800000000")
    event = PasswordResetByTextMessage(
        phone="+8613800000000", code=code, new_password_hash=asks.hash_of("newer")
    )
    ask(world, event, trace_id="the deed")


def _wrong_five_times(world: World, tokens: TokensIssued) -> None:
    login = world.login()
    for _ in range(5):
        ask(world, asks.password_change(login, old="wrong"), trace_id="the deed")


ENDED_BY: dict[Why, tuple[End, str]] = {
    Why.REVOKED_BY_CLIENT: (
        lambda world, tokens: _none(ask(world, revoke(world.basic(), tokens.access_token))),
        "The client revoked the session",
    ),
    Why.SESSION_FORCED_OUT: (
        _by_root(
            lambda world: SessionForcedOut(
                caller=signed_in(_root(world)), session_id=world.the_session().session_id
            )
        ),
        "The administrator root ended this one session",
    ),
    Why.CONSENT_WITHDRAWN: (
        lambda world, tokens: _none(
            ask(world, ConsentWithdrawn(caller=signed_in(world.login()), client_id="app"))
        ),
        "The user withdrew what the client was allowed",
    ),
    Why.PASSWORD_CHANGED: (
        lambda world, tokens: _none(ask(world, asks.password_change(world.login()))),
        "The user changed the password",
    ),
    Why.PHONE_CHANGED: (_phone_changed, "The user changed the telephone number"),
    Why.PASSWORD_RESET_BY_ADMINISTRATOR: (
        _by_root(
            lambda world: PasswordResetByAdministrator(
                caller=signed_in(_root(world)),
                user_id=world.user_ids["alice"],
                new_password_hash=asks.hash_of("newer"),
            )
        ),
        "The administrator root reset the user's password",
    ),
    Why.PASSWORD_RESET_BY_TEXT_MESSAGE: (_reset_by_text, "The user's password was reset by text message"),
    Why.CURRENT_PASSWORD_WRONG_REPEATEDLY: (
        _wrong_five_times,
        "The current password was entered wrongly too often",
    ),
    Why.USER_DISABLED: (
        _by_root(lambda world: UserDisabled(caller=signed_in(_root(world)), user_id=world.user_ids["alice"])),
        "The administrator root disabled the user",
    ),
    Why.USER_DELETED: (
        _by_root(lambda world: UserDeleted(caller=signed_in(_root(world)), user_id=world.user_ids["alice"])),
        "The administrator root deleted the user",
    ),
    Why.USER_FORCED_OUT: (
        _by_root(
            lambda world: UserForcedOut(caller=signed_in(_root(world)), user_id=world.user_ids["alice"])
        ),
        "The administrator root signed the user out everywhere",
    ),
    Why.CLIENT_DISABLED: (
        _by_root(lambda world: ClientDisabled(caller=signed_in(_root(world)), client_id="app")),
        "The administrator root disabled the client",
    ),
    Why.CLIENT_DELETED: (
        _by_root(lambda world: ClientDeleted(caller=signed_in(_root(world)), client_id="app")),
        "The administrator root deleted the client",
    ),
}
"""How each ending is brought about, and how it is told. Replays, sign-out and a replayed code stand above
and below, because their sessions or settings are others."""

ELSEWHERE = {
    Why.REPLAYED_AFTER_GRACE,
    Why.REPLAYED_BY_ANOTHER_USER_AGENT,
    Why.REPLAYED_TWO_GENERATIONS_LATE,
    Why.SIGNED_OUT,
    Why.CODE_REPLAYED,
}


def _none(decision: Decision) -> None:
    assert decision.facts, "nothing happened"


@pytest.mark.parametrize("why", ENDED_BY, ids=lambda why: why.value)
def test_every_ending_is_told_with_who_when_and_from_where(why: Why) -> None:
    world = given(client(), user(phone="+8613800000000"))
    tokens = world.tokens()
    session = world.the_session()
    world.wait(100)
    end, words = ENDED_BY[why]

    end(world, tokens)
    ended_at = world.now
    world.wait(100)
    life = explained(world, session)

    if world.client().enabled:
        assert not world.any_active(tokens)
    assert (life.state, life.why, life.last.kind) == (SessionState.ENDED, why, StepKind.ENDED)
    assert life.last.at == ended_at
    assert (life.last.source, life.last.trace_id is not None) == ("198.51.100.5", True)
    names = {world.user_ids["root"]: "root"}
    assert step_text(life.last, life, Language.EN, names).startswith(
        f"{words}, from 198.51.100.5, User-Agent"
    )
    assert step_text(life.last, life, Language.ZH, names).endswith("。")


def test_a_sign_out_is_told() -> None:
    world = given()
    login = world.login()
    ask(world, SignedOut(caller=signed_in(login)))

    assert in_words(told(world, "login"))[-1].startswith("The user signed out, from 198.51.100.5")


def test_a_code_presented_again_is_told_where_it_ends_the_session() -> None:
    world = given(client(), user(), policy=Policy(revoke_on_code_replay=True))
    code = world.code()
    ask(world, redeem(world.basic(), code))
    ask(world, redeem(world.basic(), code))

    life = told(world)

    assert life.why is Why.CODE_REPLAYED
    assert in_words(life)[-1].startswith("The authorization code that the session came from was presented")


def test_there_is_no_other_ending() -> None:
    assert set(ENDINGS) == set(ENDED_BY) | ELSEWHERE
    own = {why for transition in STATE_TABLES["session"] for why in transition.why}
    assert own <= set(ENDINGS)


@pytest.mark.parametrize("why", ENDINGS, ids=lambda why: why.value)
def test_both_languages_fill_the_same_places(why: Why) -> None:
    english, chinese = ENDINGS[why]

    assert english != chinese
    for place in ("{actor}", "{user}", "{delay}", "{grace}"):
        assert (place in english) == (place in chinese)


def test_the_operators_page_explains_every_ending() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explain.md").read_text()

    assert {name for name in re.findall(r"`([a-z_]+)`", page) if name in set(Why)} == set(ENDINGS)


# --- which of several endings, and who


def test_the_first_of_several_endings_from_above_is_the_one_that_ended_it() -> None:
    world = given()
    world.tokens()
    ask(world, UserForcedOut(caller=Operator(), user_id=world.user_ids["alice"]))
    forced_out_at = world.now
    for event in (
        ClientDisabled(caller=Operator(), client_id="app"),
        ClientEnabled(caller=Operator(), client_id="app"),
        UserDisabled(caller=Operator(), user_id=world.user_ids["alice"]),
        UserEnabled(caller=Operator(), user_id=world.user_ids["alice"]),
        ClientDeleted(caller=Operator(), client_id="app"),
    ):
        world.wait(10)
        ask(world, event)

    life = told(world)

    assert (life.why, life.last.at) == (Why.USER_FORCED_OUT, forced_out_at)


def test_an_ending_after_the_maximum_ended_nothing() -> None:
    world = given()
    world.tokens()
    world.wait(604_800)
    ask(world, UserForcedOut(caller=Operator(), user_id=world.user_ids["alice"]))

    assert told(world).last.kind is StepKind.MAXIMUM_REACHED


def test_a_login_session_that_lived_through_its_own_password_change_runs_on() -> None:
    world = given()
    login = world.login()
    ask(world, asks.password_change(login))

    assert told(world, "login").state is SessionState.ACTIVE


def test_what_the_command_line_ended_is_told_as_the_operators() -> None:
    world = given()
    world.tokens()
    world.when(ClientDisabled(caller=Operator(), client_id="app"))

    life = told(world)

    assert life.last.source is None
    assert in_words(life)[-1] == "The operator, on the command line, disabled the client."
    assert in_words(life, Language.ZH)[-1] == "运维人员通过命令行停用了客户端。"


def test_an_administrator_who_gave_another_number_is_named_and_an_unknown_one_told_by_id() -> None:
    world = given()
    world.tokens()
    root = signed_in(world.login("root"))
    ask(world, UserChanged(caller=root, user_id=world.user_ids["alice"], fields={"phone": "+8613911111111"}))

    life = told(world)

    assert life.actor_ids == {world.user_ids["root"]}
    assert in_words(life)[-1].startswith(
        f"The administrator {world.user_ids['root']} changed the telephone number, from"
    )


# --- what is not on record, and what is never shown


def test_records_without_a_trail_are_still_explained() -> None:
    world = given()
    tokens = world.tokens()
    world.when(revoke(world.basic(), tokens.access_token))
    ended = world.the_session()
    world.given(user("bob"))
    second = world.tokens("bob")
    [running] = [s for s in world.sessions() if s.user_id == world.user_ids["bob"] and s.client_id == "app"]
    world.when(ClientDisabled(caller=Operator(), client_id="app"))
    bare = _without_trail(world)

    life = explained(bare, ended)
    assert (life.why, life.last.at) == (Why.REVOKED_BY_CLIENT, ended.ended_at)
    life = explained(bare, running)
    assert (life.why, life.last.at) == (Why.CLIENT_DISABLED, None)
    assert in_words(life)[-1] == "An administrator disabled the client, at a time that is not on record."
    assert second.access_token.reveal() not in repr(life)


def _without_trail(world: World) -> World:
    """The same records in a store that has no audit trail, as after moving them."""
    bare = World(world.policy, now=world.now)
    bare.store.write([Insert(record) for table in RECORD_TABLES for record in world.store.records(table)])
    return bare


def test_no_token_code_or_secret_is_in_an_explanation() -> None:
    world = given()
    code = world.code()
    first = pair(ask(world, redeem(world.basic(), code)))
    second = pair(ask(world, refresh(world.basic(), first)))
    ask(world, refresh(world.basic(), first))
    world.wait(31)
    ask(world, refresh(world.basic(), first))
    life = told(world)

    everything = repr(life) + "".join(in_words(life)) + "".join(in_words(life, Language.ZH))

    secrets = [code, world.secrets["app"]]
    for tokens in (first, second):
        assert tokens.refresh_token is not None
        secrets += [tokens.access_token, tokens.refresh_token]
    for secret in secrets:
        assert secret.reveal() not in everything
        assert secret.digest.hex() not in everything


def test_a_user_agent_cannot_command_a_terminal_or_fill_the_screen() -> None:
    world = given()
    tokens = world.tokens()
    hostile = "\x9b31mred\x07\n" + "long" * 100
    ask(world, refresh(world.basic(), tokens, user_agent=hostile), user_agent=hostile)

    [sentence] = [text for text in in_words(told(world)) if "rotated" in text]

    assert sentence.isprintable()
    assert r"\x9b31mred\x07\n" in sentence
    assert len(sentence) < 400


def test_a_step_without_times_has_no_delay() -> None:
    assert Step(kind=StepKind.ENDED, at=None).delay_ms is None
