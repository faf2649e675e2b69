"""The explanation of a session: every step and every reason for its end, in both languages.

explanations.txt has the explanation of each story; `python -m tests.web.audit.test_explain` writes it.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostiary_core import Entropy, LoginIssued, Policy, Secret, SessionKind, Why, events as e
from ostiary_core.history.explain import Explanation, HistoryStep, StepKind, explain
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Insert, Update
from ostiary_core.model.one_time_password import (
    derive_second_factor,
    digest_recovery_code,
    one_time_password,
    step_at,
)
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import RECORD_TABLES, SecondFactor, Session, Table, TextCodePurpose, revise
from ostiary_core.model.reply import InvitationIssued, PersonalTokenIssued, TextCodeDrawn, TokensIssued
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.oauth.state_tables import SESSION_ENDINGS
from ostiary_web.application.history_record import encode_history
from ostiary_web.application.history_texts import ENDINGS, duration_text, quote, safe_retries_text, step_text
from ostiary_web.pages.administration.audit import reason_text
from ostiary_web.texts import LANGUAGES
from tests.support import asks
from tests.support.asks import APP, BROWSER, caller_of, redeem, refresh
from tests.support.languages import made_up
from tests.support.story import World, client, given, user

MADE_UP = made_up(LANGUAGES.default)
TOLD = Path(__file__).with_name("explanations.txt")
PHONE, NEW_PHONE = "+8613800000000", "+8613900000000"
OTHER_APP = "app-backend/2.0"
MAXIMUM_SECONDS = 604_800


class Tale:
    """A world, and the session that is explained: that of a redeemed code, unless a story chooses another."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.world = given(client(), user(phone=PHONE), policy=policy or Policy(second_factor_key=bytes(32)))
        self.code = self.world.code()
        self.first = self.ask(redeem(self.world.basic(), self.code))
        self.session: Session = self.world.the_session()
        self.names = {self.world.user_ids["root"]: "root"}
        """The names of actors that are known when the session is explained."""
        self.waited = 60
        self.world.wait(self.waited)

    def ask(self, event: e.Event, user_agent: str | None = APP) -> TokensIssued:
        """Have a request bring an event; return the pair that it led to, or the first pair."""
        origin = Origin(trace_id="trace", source="198.51.100.5", user_agent=user_agent)
        [decision] = self.world.store.turn([event], self.world.now, [origin])
        return decision.reply if isinstance(decision.reply, TokensIssued) else self.first

    def refresh(
        self,
        pair: TokensIssued | None = None,
        *,
        after: float = 0,
        user_agent: str | None = APP,
        scopes: tuple[str, ...] | None = None,
    ) -> TokensIssued:
        self.world.wait(after)
        event = refresh(self.world.basic(), pair or self.first, user_agent=user_agent, scopes=scopes)
        return self.ask(event, user_agent)

    def by_root(self, kind: Callable[..., e.Event], **fields: object) -> None:
        self.ask(kind(caller=caller_of(self.world.login("root")), **fields), BROWSER)

    def by_alice(self, kind: Callable[..., e.Event], **fields: object) -> None:
        self.ask(kind(caller=caller_of(self.world.login()), **fields), BROWSER)

    def login(self) -> LoginIssued:
        """Sign alice in, and choose her login session to be explained."""
        login = self.world.login()
        digest = login.tokens.access_token.digest
        [self.session] = [each for each in self.world.sessions() if each.access_digest == digest]
        return login

    def text_code(self, purpose: TextCodePurpose, phone: str, caller: e.SignedIn | None = None) -> Secret:
        event = e.TextCodeRequested(caller=caller, purpose=purpose, phone=phone, entropy=asks.fresh_entropy())
        drawn = self.world.when(event).then(TextCodeDrawn).code
        assert drawn is not None
        return drawn

    def explain(self) -> Explanation:
        history = self.world.store.session_history(self.session.session_id)
        assert history is not None
        ending = history.inherited_ending
        if ending is not None and not self.names:
            # An earlier release kept no names.
            history = replace(history, inherited_ending=replace(ending, actor_name=None))
        return explain(history, self.world.now)


def of_user(kind: Callable[..., e.Event], **fields: object) -> Callable[[Tale], None]:
    """Return a story in which an administrator does something to alice."""
    return lambda tale: tale.by_root(kind, user_id=tale.world.user_ids["alice"], **fields)


def of_client(kind: Callable[..., e.Event]) -> Callable[[Tale], None]:
    """Return a story in which an administrator does something to the client."""
    return lambda tale: tale.by_root(kind, client_id="app")


def change_phone(tale: Tale) -> None:
    login = tale.world.login()
    code = tale.text_code(TextCodePurpose.CHANGE_PHONE, NEW_PHONE, caller_of(login))
    tale.ask(asks.phone_change(login, NEW_PHONE, code))


def disable_by_token(tale: Tale) -> None:
    made = asks.personal_token(tale.world.login("root"), permissions=[Permission.USER_UPDATE.value])
    token = tale.world.when(made).then(PersonalTokenIssued).token
    tale.ask(e.UserDisabled(caller=e.SignedIn(access_token=token), user_id=tale.world.user_ids["alice"]))


def change_phone_unknown(tale: Tale) -> None:
    of_user(e.UserChanged, fields={"phone": NEW_PHONE})(tale)
    tale.names = {}


def recover(tale: Tale) -> None:
    code = tale.text_code(TextCodePurpose.RESET_PASSWORD, PHONE)
    tale.ask(e.PasswordResetByTextMessage(phone=PHONE, code=code, new_password_hash=asks.hash_of("newer")))


def accept_invitation(tale: Tale) -> None:
    caller, alice = caller_of(tale.world.login("root")), tale.world.user_ids["alice"]
    invited = e.InvitationMade(caller=caller, user_id=alice, entropy=asks.fresh_entropy())
    token = tale.world.when(invited).then(InvitationIssued).token
    tale.ask(e.InvitationAccepted(token=token, new_password_hash=asks.hash_of("newer")))


def enter_wrong_passwords(tale: Tale) -> None:
    login = tale.world.login()
    for _ in range(5):
        tale.ask(asks.password_change(login, old="wrong"), BROWSER)


def take_machine_token(tale: Tale) -> None:
    tale.world.machine_token()
    tale.session = tale.world.the_session(SessionKind.CLIENT_CREDENTIALS)


def rotate_with_retries(tale: Tale) -> None:
    second = tale.refresh()
    tale.refresh(after=4.2)
    tale.refresh(after=10)
    tale.refresh(second, after=60)
    tale.refresh(second, after=1.5)


def ask_too_much(tale: Tale) -> None:
    tale.refresh(scopes=("user.read", "everything"))
    tale.refresh(after=1)


def replay_after(seconds: float, user_agent: str | None) -> Callable[[Tale], None]:
    def replay(tale: Tale) -> None:
        tale.refresh()
        tale.refresh(after=seconds, user_agent=user_agent)

    return replay


def replay_two_generations_late(tale: Tale) -> None:
    tale.refresh(tale.refresh(), after=5)
    tale.refresh(after=5)


def end_in_many_ways(tale: Tale) -> None:
    """End the session in several ways, of which the first counts."""
    user_id = tale.world.user_ids["alice"]
    for event in (
        e.UserForcedOut(caller=e.Operator(), user_id=user_id),
        e.ClientDisabled(caller=e.Operator(), client_id="app"),
        e.ClientEnabled(caller=e.Operator(), client_id="app"),
        e.UserDisabled(caller=e.Operator(), user_id=user_id),
        e.UserEnabled(caller=e.Operator(), user_id=user_id),
        e.ClientDeleted(caller=e.Operator(), client_id="app"),
    ):
        tale.ask(event)
        tale.world.wait(10)


def end_after_the_maximum(tale: Tale) -> None:
    tale.world.wait(MAXIMUM_SECONDS)
    end_in_many_ways(tale)


def ask_after_the_maximum(end: Callable[[Tale], object]) -> Callable[[Tale], None]:
    """Return a story with this ending that is explained when the session would be over anyway."""

    def ask_late(tale: Tale) -> None:
        end(tale)
        tale.world.wait(MAXIMUM_SECONDS)

    return ask_late


def without_the_trail(end: Callable[[Tale], object]) -> Callable[[Tale], None]:
    """Return a story with this ending whose records are in a store without an audit trail."""

    def move(tale: Tale) -> None:
        end(tale)
        bare = World(tale.world.policy, now=tale.world.now, user_ids=tale.world.user_ids)
        records = [record for table in RECORD_TABLES for record in tale.world.store.records(table)]
        bare.store.write([Insert(record) for record in records])
        tale.world = bare

    return move


RECOVERY_CODE = Secret("abcd-efgh-jkmn-pqrs")
PASSWORD_ENTERED: dict[str, Any] = {"verified_against": asks.hash_of("right"), "password_matches": True}


def own_factor(tale: Tale) -> dict[str, Any]:
    """Sign alice in, and return the fields of an event about her own second factor."""
    return {"caller": caller_of(tale.world.login()), "user_id": tale.world.user_ids["alice"]}


def give_second_factor(tale: Tale) -> None:
    """Give alice a second factor without a trace in the trail."""
    user_id = tale.world.user_ids["alice"]
    [alice] = tale.world.store.fetch(Table.USER, [user_id])
    digests = (digest_recovery_code(user_id, RECOVERY_CODE.reveal()),)
    factor = SecondFactor(
        user_id=user_id, salt=bytes(16), key_id="", recovery_digests=digests, confirmed_at=tale.world.now
    )
    tale.world.store.write([Insert(factor), Update(alice, revise(alice, has_second_factor=True))])


def set_up_second_factor(tale: Tale) -> None:
    key = tale.world.policy.second_factor_key
    own = own_factor(tale)
    tale.ask(e.SecondFactorBegun(**own, **PASSWORD_ENTERED, entropy=Entropy(bytes(32))), BROWSER)
    [factor] = tale.world.store.fetch(Table.SECOND_FACTOR, [own["user_id"]])
    assert isinstance(factor, SecondFactor)
    code = one_time_password(derive_second_factor(key, factor.salt), step_at(tale.world.now))
    tale.ask(e.SecondFactorConfirmed(**own, code=Secret(code)), BROWSER)


def remove_second_factor(tale: Tale) -> None:
    own = own_factor(tale)
    give_second_factor(tale)
    tale.ask(e.SecondFactorRemoved(**own, **PASSWORD_ENTERED, code=RECOVERY_CODE), BROWSER)


def reset_second_factor(tale: Tale) -> None:
    give_second_factor(tale)
    of_user(e.SecondFactorReset)(tale)


def end_personal_token(tale: Tale) -> None:
    login = tale.world.login("root")
    tale.ask(asks.personal_token(login, permissions=["audit.read"]), BROWSER)
    tale.session = tale.world.the_session(SessionKind.PERSONAL_TOKEN)
    tale.ask(e.OwnSessionEnded(caller=caller_of(login), session_id=tale.session.session_id), BROWSER)


def revoke(tale: Tale) -> None:
    tale.ask(asks.revoke(tale.world.basic(), tale.first.access_token))


STORIES: dict[str, Callable[[Tale], object]] = {
    "it runs": lambda tale: None,
    "its access token has expired": lambda tale: tale.world.wait(1_800),
    "it reached its maximum": lambda tale: tale.world.wait(MAXIMUM_SECONDS - tale.waited),
    "a token of a client's own": take_machine_token,
    "rotations and safe retries": rotate_with_retries,
    "a scope too wide": ask_too_much,
    "a replay after the grace": replay_after(30.001, OTHER_APP),
    "a replay by another User-Agent": replay_after(2, OTHER_APP),
    "a replay without a User-Agent": replay_after(2, None),
    "a hostile User-Agent": replay_after(2, "\x9b31mred\x07\n" + "long" * 100),
    "a replay two generations late": replay_two_generations_late,
    "revoked": revoke,
    "forced out": lambda tale: tale.by_root(e.SessionForcedOut, session_id=tale.session.session_id),
    "consent withdrawn": lambda tale: tale.by_alice(e.ConsentWithdrawn, client_id="app"),
    "consent withdrawn by an administrator": of_user(e.ConsentWithdrawnByAdministrator, client_id="app"),
    "password changed": lambda tale: tale.ask(asks.password_change(tale.world.login()), BROWSER),
    "password changed in this login session": lambda tale: tale.ask(
        asks.password_change(tale.login()), BROWSER
    ),
    "telephone changed": change_phone,
    "telephone changed by somebody unknown": change_phone_unknown,
    "password reset": of_user(e.PasswordResetByAdministrator, new_password_hash=asks.hash_of("newer")),
    "password recovered": recover,
    "invitation accepted": accept_invitation,
    "wrong passwords": enter_wrong_passwords,
    "user disabled": of_user(e.UserDisabled),
    "user disabled by a token": disable_by_token,
    "user deleted": of_user(e.UserDeleted),
    "user forced out": of_user(e.UserForcedOut),
    "client disabled": of_client(e.ClientDisabled),
    "client deleted": of_client(e.ClientDeleted),
    "client forced out": of_client(e.ClientForcedOut),
    "everybody forced out": lambda tale: tale.by_root(e.EverybodyForcedOut, client_ids=("console", "app")),
    "client disabled on the command line": lambda tale: tale.world.when(
        e.ClientDisabled(caller=e.Operator(), client_id="app")
    ),
    "client disabled on the command line, which says who is there": lambda tale: tale.world.when(
        e.ClientDisabled(caller=e.Operator("deploy"), client_id="app")
    ),
    "signed out": lambda tale: tale.ask(e.SignedOut(caller=caller_of(tale.login())), BROWSER),
    "signed out elsewhere": lambda tale: tale.by_alice(e.OtherSessionsEnded),
    "second factor set up": set_up_second_factor,
    "second factor removed": remove_second_factor,
    "second factor reset": reset_second_factor,
    "personal access token ended": end_personal_token,
    "several endings": end_in_many_ways,
    "endings after the maximum": end_after_the_maximum,
    "user disabled, asked about after the maximum": ask_after_the_maximum(of_user(e.UserDisabled)),
    "revoked, and no audit trail": without_the_trail(revoke),
    "client forced out, and no audit trail": without_the_trail(of_client(e.ClientForcedOut)),
    "user disabled, and no audit trail": without_the_trail(of_user(e.UserDisabled)),
}
STRICT: dict[str, Callable[[Tale], object]] = {
    "a code presented again": lambda tale: tale.ask(redeem(tale.world.basic(), tale.code))
}
"""Stories in which the session ends only if the policy says so."""


def tell_tale(name: str) -> Tale:
    tale = Tale(Policy(revoke_on_code_replay=True) if name in STRICT else None)
    {**STORIES, **STRICT}[name](tale)
    return tale


def list_texts(tale: Tale) -> list[str]:
    """Return all texts of the explanation, part by part."""
    explanation = tale.explain()
    misses = [safe_retries_text(explanation, language) for language in LANGUAGES]
    parts = [f"{explanation.state.value}, {explanation.why and explanation.why.value}", "\n".join(misses)]
    for step in explanation.steps:
        texts = [step_text(step, explanation, language, tale.names) for language in LANGUAGES]
        parts.append("\n    ".join([heading_of(step, tale), *texts]))
    for name, user_id in tale.world.user_ids.items():
        parts = [part.replace(user_id, f"<the id of {name}>") for part in parts]
    return parts


def heading_of(step: HistoryStep, tale: Tale) -> str:
    """Return the fields of a step that programs read."""
    since = None if step.at is None else (step.at - tale.session.started_at) / 1_000
    return ", ".join(
        [
            f"{step.kind.value} at {since} s",
            f"{step.fact and step.fact.value}",
            f"trace {step.trace_id}",
            *(["by a session"] if step.actor_session_id else []),
            *([f"{step.delay_ms} ms after {step.earlier_user_agent}"] if step.earlier_at else []),
            *(f"{each.field} changed" for each in step.changes),
        ]
    )


def section(name: str) -> str:
    """Return the file's text of a story: the whole of the first, and of the others what differs from it."""
    usual = list_texts(Tale()) if name != "it runs" else []
    return "\n".join(part for part in list_texts(tell_tale(name)) if part not in usual)


def sections() -> dict[str, str]:
    """Return the texts of the file by story."""
    parts = TOLD.read_text(encoding="utf-8").split("\n=== ")[1:]
    return {name: text.rstrip("\n") for name, _, text in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize("name", [*STORIES, *STRICT])
def test_a_session_is_explained_as_it_is_written_down(name: str) -> None:
    assert section(name) == sections()[name]
    tale = tell_tale(name)
    explanation = tale.explain()
    assert explanation.last is explanation.steps[-1]
    assert explanation.actor_ids <= {tale.world.user_ids["root"]}
    assert bool(explanation.actor_ids) == ("root" in list_texts(tale)[-1])
    shown = repr(explanation) + "".join(list_texts(tale))
    lines = "\n".join(list_texts(tale)).split("\n")
    assert all(line.strip().isprintable() and len(line) < 500 for line in lines)
    for secret in (tale.code, tale.first.access_token, tale.first.refresh_token):
        assert secret is not None
        assert secret.reveal() not in shown
        assert secret.digest.hex() not in shown
    made_up = [step_text(step, explanation, MADE_UP, tale.names) for step in explanation.steps]
    for text in (*made_up, safe_retries_text(explanation, MADE_UP)):
        assert re.fullmatch("«.*»", text), "a text that is in no catalogue"
        assert not re.search("[\u4e00-\u9fff]", text)


def test_entries_of_earlier_releases_show_the_command_line_by_having_no_request() -> None:
    ended = tell_tale("client disabled on the command line").explain().last
    earlier = replace(ended, actor_id=None)
    assert ended.is_by_operator
    assert earlier.is_by_operator
    by_operator = replace(earlier, why=Why.PHONE_CHANGED, actor_name=None)
    assert "The operator" in step_text(by_operator, tell_tale("it runs").explain(), LANGUAGES.default)
    for other in ({"trace_id": "trace"}, {"actor_id": "root"}, {"fact": None}):
        assert not replace(earlier, **other).is_by_operator, other


def test_words_of_a_later_release_are_told_as_far_as_they_are_known() -> None:
    of = tell_tale("revoked").explain()
    noted = replace(of.last, kind=StepKind.NOTED, fact=UnknownWord("moonlight"))
    assert "moonlight" in step_text(noted, of, LANGUAGES.default)
    assert reason_text("moonlight", LANGUAGES.default) == "moonlight"
    for why in (UnknownWord("moonlight"), Why.NOT_READY):
        assert "which ended" not in step_text(replace(of.last, why=why), of, LANGUAGES.default)


def test_programs_read_who_did_a_step_and_how_late_the_retries_came() -> None:
    tale = tell_tale("rotations and safe retries")
    misses = encode_history(tale.explain(), LANGUAGES.default, tale.names).near_misses
    assert (misses.count, misses.latest_delay_ms, misses.longest_delay_ms) == (3, 1_500, 14_200)
    for name, actor in (
        ("client disabled", "root"),
        ("client disabled on the command line, which says who is there", "deploy"),
    ):
        tale = tell_tale(name)
        last = encode_history(tale.explain(), LANGUAGES.default, {}).steps[-1]
        assert (last.actor_username, actor in last.text) == (actor, True)
    of = tell_tale("client disabled").explain()
    names = {str(of.last.actor_id): "root"}
    earlier = replace(of, steps=(replace(of.last, actor_name=None),))
    assert encode_history(earlier, LANGUAGES.default, names).steps[-1].actor_username == "root"


@pytest.mark.parametrize(
    "seconds, text",
    [
        *((0.001, "0.001 s"), (59.999, "59.999 s"), (60, "1 min"), (61, "1 min 1 s"), (3_599, "59 min 59 s")),
        *((3_600, "1 h"), (86_399, "23 h 59 min"), (86_400, "1 d"), (90_061, "1 d 1 h"), (86_460, "1 d")),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration_text(round(seconds * 1_000), LANGUAGES.default) == text


def test_a_text_of_a_client_is_cut_to_the_length_of_a_line() -> None:
    assert [quote("x" * length) for length in (200, 201)] == [f'"{"x" * 200}"', f'"{"x" * 199}…"']


def test_every_ending_there_is_has_its_story_and_no_other_is_written_down() -> None:
    assert set(sections()) == {*STORIES, *STRICT}
    states = [text.partition("\n")[0] for text in sections().values()]
    endings = {state.removeprefix("ended, ") for state in states if state.startswith("ended, ")}
    assert endings == {why.value for why in ENDINGS}
    assert set(SESSION_ENDINGS) <= set(ENDINGS)
    page = (Path(__file__).parents[3] / "docs" / "explain.md").read_text()
    assert {name for name in re.findall(r"`([a-z_]+)`", page) if name in set(Why)} == set(ENDINGS)


if __name__ == "__main__":
    parts = [f"=== {name}\n{section(name)}\n" for name in (*STORIES, *STRICT)]
    TOLD.write_text("\n".join(["What test_explain.py tells; written by it.\n", *parts]), encoding="utf-8")
