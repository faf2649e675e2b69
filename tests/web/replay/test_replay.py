"""`ostiary audit export` and `ostiary replay`: the trail of real sessions under another policy."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ostiary_core import SPECIFICATION, MemoryStore, Policy
from ostiary_core.conformance.lives import Backend, a_life
from ostiary_core.events import (
    LoginRefreshed,
    Operator,
    PasswordChanged,
    SignedIn,
    SignInAttempted,
    UserForcedOut,
)
from ostiary_core.history.backtest import Backtest, Verdict, backtest
from ostiary_core.history.backtest_run import RECORDED, Rules
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.records import Table
from ostiary_core.model.reply import Done, LoginIssued, Refused, TokensIssued
from ostiary_core.model.why import Why
from ostiary_net.sqlite import SQLiteStore
from ostiary_web.cli.command_line import main

HASH = "the hash of a password"
GRACE_10 = Rules(policy=Policy(grace_seconds=10))
GRACE_60 = Rules(policy=Policy(grace_seconds=60))
ANY_AGENT = Rules(policy=Policy(compare_user_agent=False))


class Trail(Backend):
    """Sessions whose entries are replayed."""

    def __init__(self, policy: Policy = SPECIFICATION) -> None:
        super().__init__(MemoryStore(policy))
        self.populate()

    def session(self) -> TokensIssued:
        return self.ask(self.redemption(self.code(self.login("alice"))), TokensIssued)

    def retried(self, after_seconds: int, user_agent: str = "app/1.0") -> str:
        """A session that is rotated once, and whose spent token comes again; its identifier."""
        pair = self.session()
        self.wait(2_000)
        self.ask(self.refreshing(pair), TokensIssued)
        self.wait(after_seconds)
        self.ask(self.refreshing(pair, user_agent=user_agent), object)
        return str(self.trail()[-1].session_id)

    def signed_in(self) -> TokensIssued:
        attempt = SignInAttempted(
            username="alice",
            verified_against=HASH,
            password_matches=True,
            user_agent="a browser",
            source="203.0.113.7",
            entropy=self.draw(),
        )
        return self.ask(attempt, LoginIssued).tokens

    def refreshed(self, login: TokensIssued, user_agent: str = "a browser") -> LoginRefreshed:
        assert login.refresh_token is not None
        return LoginRefreshed(refresh_token=login.refresh_token, user_agent=user_agent, entropy=self.draw())

    def trail(self) -> tuple[AuditEntry, ...]:
        assert isinstance(self.store, MemoryStore)
        return self.store.audit()

    def replay(self, otherwise: Rules, recorded: Rules = RECORDED) -> Backtest:
        return backtest(self.trail(), otherwise, recorded)


def test_under_its_own_policy_a_whole_life_goes_as_it_went() -> None:
    store = MemoryStore()
    for wave in a_life():
        store.turn(wave.events, wave.at)
    found = backtest(store.audit(), RECORDED)
    assert found.unlike_the_trail == ()
    assert found.differences == ()
    assert found.ended == found.ended_otherwise == 1
    told = [entry for entry in store.audit() if entry.kind is FactKind.SESSION_STARTED]
    assert found.sessions == len(told) > len(store.records(Table.SESSION)), "those that lapsed too"


def test_a_longer_grace_saves_what_came_too_late_and_says_when() -> None:
    here = Trail()
    saved, lost_all_the_same = here.retried(45), here.retried(61)
    found = here.replay(GRACE_60)
    [difference] = found.differences
    assert difference.session_id == saved != lost_all_the_same
    assert difference.verdict is Verdict.SAVED
    assert (difference.recorded, difference.otherwise) == (Why.REPLAYED_AFTER_GRACE, None)
    assert difference.delay_ms == 45_000
    assert (found.ended, found.ended_otherwise) == (2, 1)


@pytest.mark.parametrize("seconds, lost", [(10, 0), (11, 1), (30, 1)])
def test_a_shorter_grace_loses_what_was_a_safe_retry(seconds: int, lost: int) -> None:
    here = Trail()
    here.retried(seconds)
    found = here.replay(GRACE_10)
    assert len(found.of(Verdict.LOST)) == lost == found.ended_otherwise
    assert found.ended == 0


def test_a_user_agent_that_is_not_compared_saves_only_what_was_in_time() -> None:
    here = Trail()
    in_time = here.retried(5, "app/2.0")
    here.retried(40, "app/2.0")
    found = here.replay(ANY_AGENT)
    assert [difference.session_id for difference in found.of(Verdict.SAVED)] == [in_time]
    assert found.of(Verdict.SAVED)[0].recorded is Why.REPLAYED_BY_ANOTHER_USER_AGENT


def test_login_sessions_are_replayed_too() -> None:
    here = Trail()
    login = here.signed_in()
    for seconds, user_agent in ((60, "a browser"), (5, "a browser"), (5, "another")):
        here.wait(seconds)
        here.ask(here.refreshed(login, user_agent), object)
    assert not here.replay(RECORDED).unlike_the_trail
    assert len(here.replay(ANY_AGENT).of(Verdict.SAVED)) == 1


def test_the_session_in_which_a_password_was_changed_lives_on_and_no_other_does() -> None:
    here = Trail()
    other, own = here.signed_in(), here.signed_in()
    change = PasswordChanged(
        caller=SignedIn(access_token=own.access_token),
        verified_against=HASH,
        password_matches=True,
        new_password_hash="the hash of another password",
    )
    here.ask(change, Done)
    for seconds in (60, 5, 41):
        here.wait(seconds)
        here.ask(here.refreshed(own), object)
        here.ask(here.refreshed(other), Refused)
    found = here.replay(GRACE_60)
    assert not found.unlike_the_trail
    assert [one.session_id for one in found.of(Verdict.SAVED)] == [here.trail()[-1].session_id]
    assert (found.refreshes, found.ended) == (3, 1)


def test_a_token_two_generations_late_is_lost_under_every_grace() -> None:
    here = Trail()
    pair = here.session()
    second = here.ask(here.refreshing(pair), TokensIssued)
    here.ask(here.refreshing(second), TokensIssued)
    here.ask(here.refreshing(pair), Refused)
    found = here.replay(GRACE_60)
    assert not found.unlike_the_trail
    assert not found.differences
    assert found.ended == found.ended_otherwise == 1


def test_a_shorter_maximum_loses_sessions_that_were_refreshed_past_it() -> None:
    here = Trail()
    here.retried(5)
    found = here.replay(Rules(refresh_token_seconds=1_999))
    assert [one.otherwise for one in found.of(Verdict.LOST)] == [Why.MAXIMUM_REACHED]


def test_a_longer_access_token_makes_refreshes_early() -> None:
    here = Trail()
    here.retried(5)
    found = here.replay(Rules(access_token_seconds=3_600))
    assert (found.early_refreshes, found.early_refreshes_otherwise) == (0, 1)
    assert found.differences == ()


def test_what_ended_from_above_stays_ended_in_both() -> None:
    here = Trail()
    pair = here.session()
    user_id = next(entry.user_id for entry in here.trail()[::-1] if entry.user_id)
    here.ask(UserForcedOut(caller=Operator(), user_id=user_id), object)
    here.ask(here.refreshing(pair), Refused)
    found = here.replay(GRACE_60)
    assert not found.unlike_the_trail
    assert not found.differences


def test_a_session_of_another_policy_is_named_and_not_counted() -> None:
    here = Trail(Policy(grace_seconds=120))
    other = here.retried(90)
    found = here.replay(GRACE_10)
    assert found.unlike_the_trail == (other,)
    assert found.differences == ()
    assert here.replay(GRACE_10, Rules(policy=Policy(grace_seconds=120))).of(Verdict.LOST)


def test_a_trail_that_begins_in_the_middle_is_replayed_from_the_first_rotation() -> None:
    here = Trail()
    saved = here.retried(45)
    rest = [entry for entry in here.trail() if entry.kind not in ("session-started", "code-used")]
    assert [one.session_id for one in backtest(rest, GRACE_60).of(Verdict.SAVED)] == [saved]


def test_entries_that_come_twice_count_once() -> None:
    here = Trail()
    here.retried(45)
    once, overlapping = here.trail(), (*here.trail(), *here.trail()[2:], *here.trail())
    assert backtest(overlapping, GRACE_60) == backtest(once, GRACE_60)


def test_a_session_that_is_said_to_have_begun_twice_began_the_first_time() -> None:
    here = Trail()
    here.retried(45)
    [start] = [entry for entry in here.trail() if entry.kind is FactKind.SESSION_STARTED and entry.scopes]
    again = replace(start, number=0, at=here.trail()[-1].at)
    found = backtest((*here.trail(), again), GRACE_60)
    assert found.differences == backtest(here.trail(), GRACE_60).differences != ()


# --- the command line


@pytest.fixture
def ostiary(tmp_path: Path) -> Any:
    file = tmp_path / "ostiary.db"
    environment = {"DATABASE_URL": f"sqlite:///{file}", "DATA_DIR": str(tmp_path), "LANG": "C"}

    def ask(*arguments: str, lines: str | None = None) -> Result:
        return CliRunner().invoke(main, arguments, input=lines, env=environment)

    with SQLiteStore(file) as store:
        here = Backend(store)
        here.populate()
        pair = here.ask(here.redemption(here.code(here.login("alice"))), TokensIssued)
        here.wait(60)
        here.ask(here.refreshing(pair), TokensIssued)
        here.wait(45)
        here.ask(here.refreshing(pair), Refused)
        # At one instant, and more than fit on a page.
        store.turn([here.machine() for _ in range(1_100)], here.now)
    return ask


def test_an_exported_trail_is_replayed_and_the_session_named(ostiary: Any) -> None:
    exported = ostiary("audit", "export")
    assert exported.exit_code == 0, exported.output
    items = [json.loads(line) for line in exported.stdout.splitlines()]
    assert len(items) > 1_100
    assert [int(item["id"]) for item in items] == sorted({int(item["id"]) for item in items})
    [ended] = [item for item in items if item["why"] == "replayed_after_grace"]

    told = ostiary("replay", "-", "--grace", "60", "--json", lines=exported.stdout)
    assert told.exit_code == 0, told.output
    content = json.loads(told.stdout)
    assert content["entries"] == len(items)
    assert content["endedBySpentToken"] == {"recorded": 1, "otherwise": 0}
    assert content["saved"] == [
        {
            "sessionId": ended["sessionId"],
            "clientId": "app",
            "userId": ended["userId"],
            "at": ended["at"],
            "recorded": "replayed_after_grace",
            "otherwise": "tokens-issued",
            "delayMs": 45_000,
        }
    ]
    assert content["lost"] == content["unlikeTheTrail"] == []

    table = ostiary("replay", "-", "--grace", "60", lines=exported.stdout).stdout
    assert f"{ended['sessionId']}  app" in table
    assert "45.0 s" in table
    assert "Sessions saved" in table
    assert "可保留的会话" in ostiary("replay", "-", "--language", "zh-CN", lines=exported.stdout).stdout


@pytest.mark.parametrize(
    "line, words",
    [
        ("{", "line 1: is not JSON"),
        ("[]", "line 1: is not a JSON object"),
        ('{"at": "yesterday", "kind": "refused"}', "line 1: `at`"),
        ('{"at": "2026-01-01T00:00:00Z", "kind": "a secret"}', "line 1: `kind`"),
        ('{"at": "2026-01-01T00:00:00", "kind": "refused"}', "line 1: `at`"),
        ('{"at": "2026-01-01T00:00:00Z", "kind": "refused", "id": "x"}', "line 1: `id`"),
        ('{"at": "2026-01-01T00:00:00Z", "kind": "refused", "clientId": 7}', "line 1: `clientId`"),
    ],
)
def test_a_line_that_is_no_entry_is_named_and_not_quoted(ostiary: Any, line: str, words: str) -> None:
    told = ostiary("replay", "-", lines=line)
    assert told.exit_code == 2
    assert words in told.stderr
    assert "a secret" not in told.stderr


def test_a_file_that_is_not_there_is_said(ostiary: Any) -> None:
    told = ostiary("replay", "/nowhere/trail.jsonl")
    assert told.exit_code == 2
    assert "No such file" in told.stderr


def test_an_empty_trail_is_no_fault(ostiary: Any) -> None:
    assert ostiary("replay", "-", lines="").exit_code == 0
