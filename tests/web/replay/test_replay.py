"""`ostiary audit export` and `ostiary replay`: the trail of real sessions under another policy."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ostiary_core import SPECIFICATION, MemoryStore, Policy
from ostiary_core.conformance.scenario import Backend, make_scenario
from ostiary_core.events import LoginRefreshed, Operator, PasswordChanged, SignedIn, UserForcedOut
from ostiary_core.history.backtest import Verdict, backtest
from ostiary_core.history.backtest_run import RECORDED, Rules
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.fact import FactKind
from ostiary_core.model.records import Table
from ostiary_core.model.reply import Done, LoginIssued, Refused, TokensIssued
from ostiary_core.model.why import Why
from ostiary_net.sqlite import SQLiteStore
from ostiary_web.cli.audit import read_trail
from ostiary_web.cli.command_line import main
from tests.support import asks

HASH = "the hash of a password"
Told = tuple[Verdict, Why | None, Why | None, int | None]


class Trail(Backend):
    """Sessions whose entries are replayed."""

    def __init__(self, policy: Policy = SPECIFICATION) -> None:
        super().__init__(MemoryStore(policy))
        self.populate()

    def session(self) -> TokensIssued:
        return self.ask(self.redemption(self.code(self.login("alice"))), TokensIssued)

    def retry(self, after_seconds: int, user_agent: str = "app/1.0") -> str:
        """A session that is rotated once, and whose spent token comes again; its identifier."""
        pair = self.session()
        self.wait(2_000)
        self.ask(self.refreshing(pair), TokensIssued)
        self.wait(after_seconds)
        self.ask(self.refreshing(pair, user_agent=user_agent), object)
        return str(self.trail()[-1].session_id)

    def sign_in(self) -> TokensIssued:
        attempt = asks.sign_in(against=HASH, user_agent="a browser", entropy=self.draw())
        return self.ask(attempt, LoginIssued).tokens

    def refresh(self, login: TokensIssued, after_seconds: int, user_agent: str = "a browser") -> None:
        self.wait(after_seconds)
        assert login.refresh_token is not None
        asked = LoginRefreshed(refresh_token=login.refresh_token, user_agent=user_agent, entropy=self.draw())
        self.ask(asked, object)

    def trail(self) -> tuple[AuditEntry, ...]:
        assert isinstance(self.store, MemoryStore)
        return self.store.audit()


def retries(*said: tuple[int] | tuple[int, str]) -> Callable[[Trail], object]:
    return lambda here: [here.retry(*each) for each in said]


two_programs = retries((5, "app/2.0"), (40, "app/2.0"))


def login_session(here: Trail) -> None:
    login = here.sign_in()
    for seconds, user_agent in ((60, "a browser"), (5, "a browser"), (5, "another")):
        here.refresh(login, seconds, user_agent)


def password_change(here: Trail) -> None:
    """The session in which it is changed lives on, and no other does."""
    other, own = here.sign_in(), here.sign_in()
    proof = {"caller": SignedIn(access_token=own.access_token), "verified_against": HASH}
    changed: Any = {**proof, "password_matches": True, "new_password_hash": "the hash of another password"}
    here.ask(PasswordChanged(**changed), Done)
    for seconds in (60, 5, 41):
        here.refresh(other, 0)
        here.refresh(own, seconds)


def two_generations(here: Trail) -> None:
    pair = here.session()
    second = here.ask(here.refreshing(pair), TokensIssued)
    here.ask(here.refreshing(second), TokensIssued)
    here.ask(here.refreshing(pair), Refused)


def end_from_above(here: Trail) -> None:
    pair = here.session()
    user_id = next(entry.user_id for entry in here.trail()[::-1] if entry.user_id)
    here.ask(UserForcedOut(caller=Operator(), user_id=user_id), object)
    here.ask(here.refreshing(pair), Refused)


GRACE_10 = Rules(policy=Policy(grace_seconds=10))
GRACE_60 = Rules(policy=Policy(grace_seconds=60))
ANY_AGENT = Rules(policy=Policy(compare_user_agent=False))
LATE, OTHER_AGENT = Why.REPLAYED_AFTER_GRACE, Why.REPLAYED_BY_ANOTHER_USER_AGENT
SHORT = Rules(refresh_token_seconds=1_999)
SAVED, LOST = Verdict.SAVED, Verdict.LOST

STORIES: dict[str, tuple[Callable[[Trail], object], Rules, list[Told], tuple[int, int, int]]] = {
    "late, and too late for more": (
        retries((45,), (61,)),
        GRACE_60,
        [(SAVED, LATE, None, 45_000)],
        (4, 2, 1),
    ),
    "in time for less": (retries((10,)), GRACE_10, [], (2, 0, 0)),
    "just too late for less": (retries((11,)), GRACE_10, [(LOST, None, LATE, 11_000)], (2, 0, 1)),
    "a safe retry": (retries((30,)), GRACE_10, [(LOST, None, LATE, 30_000)], (2, 0, 1)),
    "another program": (two_programs, ANY_AGENT, [(SAVED, OTHER_AGENT, None, 5_000)], (4, 2, 1)),
    "a login session": (login_session, RECORDED, [], (3, 1, 1)),
    "another browser": (login_session, ANY_AGENT, [(SAVED, OTHER_AGENT, None, 10_000)], (3, 1, 0)),
    "a password is changed": (password_change, GRACE_60, [(SAVED, LATE, None, 46_000)], (3, 1, 0)),
    "two generations late": (two_generations, GRACE_60, [], (3, 1, 1)),
    "ended from above": (end_from_above, GRACE_60, [], (0, 0, 0)),
    "past a shorter maximum": (retries((5,)), SHORT, [(LOST, None, Why.MAXIMUM_REACHED, None)], (2, 0, 0)),
}
"""What happened, the other rules, who fares differently; refreshes, and ends by a spent token in both."""


def test_each_story_goes_as_it_went_and_otherwise_under_other_rules() -> None:
    for name, (happen, otherwise, differences, counts) in STORIES.items():
        here = Trail()
        happen(here)
        found = backtest(here.trail(), otherwise)
        assert found.unexplained_session_ids == (), name
        said = [(each.verdict, each.recorded, each.alternative, each.delay_ms) for each in found.differences]
        assert said == differences, name
        assert (found.refreshes, found.ended, found.ended_by_alternative) == counts, name


def test_under_its_own_policy_a_whole_life_goes_as_it_went() -> None:
    store = MemoryStore()
    for batch in make_scenario():
        store.turn(batch.events, batch.at)
    found = backtest(store.audit(), RECORDED)
    assert (found.unexplained_session_ids, found.differences) == ((), ())
    assert found.ended == found.ended_by_alternative == 1
    told = [entry for entry in store.audit() if entry.kind is FactKind.SESSION_STARTED]
    assert found.sessions == len(told) > len(store.records(Table.SESSION)), "those that lapsed too"


def test_a_longer_access_token_makes_refreshes_early() -> None:
    here = Trail()
    here.retry(5)
    found = backtest(here.trail(), Rules(access_token_seconds=3_600))
    assert (found.early_refreshes, found.early_refreshes_by_alternative) == (0, 1)
    assert found.differences == ()


def test_a_refresh_of_a_session_that_the_trail_begins_in_the_middle_of_is_not_early() -> None:
    here = Trail()
    here.retry(5)
    middle = [entry for entry in here.trail() if entry.kind is not FactKind.SESSION_STARTED]
    found = backtest(middle, RECORDED)
    assert (found.sessions, found.refreshes, found.early_refreshes) == (1, 2, 0)


def test_a_session_of_another_policy_is_named_and_not_counted() -> None:
    recorded = Rules(policy=Policy(grace_seconds=120))
    here = Trail(recorded.policy)
    other = here.retry(90)
    found = backtest(here.trail(), GRACE_10)
    assert (found.unexplained_session_ids, found.differences) == ((other,), ())
    assert backtest(here.trail(), GRACE_10, recorded).of(LOST)


def test_a_trail_cut_off_overlapping_or_begun_twice_says_the_same_of_its_session() -> None:
    here = Trail()
    saved, trail = here.retry(45), here.trail()
    whole = backtest(trail, GRACE_60)
    assert [one.session_id for one in whole.of(SAVED)] == [saved]
    assert backtest((*trail, *trail[2:], *trail), GRACE_60) == whole
    cut = [entry for entry in trail if entry.kind not in ("session-started", "code-used")]
    [start] = [entry for entry in trail if entry.kind is FactKind.SESSION_STARTED and entry.scopes]
    for entries in (cut, [*trail, replace(start, number=0, at=trail[-1].at)]):
        found = backtest(entries, GRACE_60)
        assert [one.session_id for one in found.differences] == [saved]


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
    new = list(read_trail(exported.stdout.splitlines()))
    assert FieldChange("username", None, "alice") in [change for entry in new for change in entry.changes]
    old = [json.dumps({name: item[name] for name in item if name != "changes"}) for item in items]
    assert list(read_trail(old)) == [replace(entry, changes=()) for entry in new]
    [ended] = [item for item in items if item["why"] == "replayed_after_grace"]

    told = ostiary("replay", "-", "--grace", "60", "--json", lines=f"{exported.stdout}\n")
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


def test_what_is_no_trail_is_named_and_not_quoted(ostiary: Any) -> None:
    for line, words in {
        "{": "is not JSON",
        "[]": "is not a JSON object",
        '{"at": "yesterday", "kind": "refused"}': "`at`",
        '{"at": "2026-01-01T00:00:00Z", "kind": "a secret"}': "`kind`",
        '{"at": "2026-01-01T00:00:00", "kind": "refused"}': "`at`",
        '{"at": "2026-01-01T00:00:00Z", "kind": "refused", "id": "x"}': "`id`",
        '{"at": "2026-01-01T00:00:00Z", "kind": "refused", "clientId": 7}': "`clientId`",
        '{"at": "2026-01-01T00:00:00Z", "kind": "refused", "changes": [{"field": 7}]}': "`changes`",
    }.items():
        told = ostiary("replay", "-", lines=line)
        assert (told.exit_code, f"line 1: {words}" in told.stderr) == (2, True), line
        assert "a secret" not in told.stderr
    told = ostiary("replay", "/nowhere/trail.jsonl")
    assert (told.exit_code, "No such file" in told.stderr) == (2, True)
    assert ostiary("replay", "-", lines="").exit_code == 0
