"""Keep the evidence for the invariants and check them: after every turn, and sometimes for everything.

Every check uses as little evidence as possible: the history of answers, the writes of a decision, or a
question to the core (user-info, introspection) that any caller could ask. None uses the model, and none
relies on the core's own view of its state.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fuzz.rules.answer_checks import Use, faults_of_answer, faults_of_honouring, use_of
from fuzz.rules.driver import Crash, Driver, Turn
from fuzz.rules.write_checks import faults_of_writes, find_secrets, secrets_of
from fuzz.shared.calls import ABOUT_OWN_FACTOR, Answer, AnswerKind, Call, Verb, split_batch
from fuzz.shared.history import History
from fuzz.shared.invariants import (
    ACKNOWLEDGED_STAYS,
    ENDED_STAYS_ENDED,
    NO_SECRETS,
    ONE_LIVE_PAIR,
    PURE,
    REPLAY_ENDS,
    WIDE_ENDINGS,
    Invariant,
    Violation,
)
from fuzz.shared.knowledge import KnownCode, KnownSession, Place
from fuzz.shared.record_checks import split_change
from ostiary_core.decide import take_turn
from ostiary_core.model.decision import Decision, Insert
from ostiary_core.model.records import RECORD_TABLES, Identifier, Key, Record, Session

SAMPLED_EVERY = 16
"""Number of turns for each one that is also checked by slow printing and comparing."""

ENDING_A_USER = frozenset(
    {
        *(Verb.DISABLE_USER, Verb.DELETE_USER, Verb.FORCE_OUT_USER, Verb.SIGN_OUT_ELSEWHERE),
        *(Verb.RESET_PASSWORD, Verb.RECOVER_PASSWORD, Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE),
        Verb.ACCEPT_INVITATION,
        *(Verb.CONFIRM_FACTOR, Verb.REMOVE_FACTOR, Verb.RESET_FACTOR),
    }
)
BY_THEMSELVES = ABOUT_OWN_FACTOR | {Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE, Verb.SIGN_OUT_ELSEWHERE}
"""Operations of users on their own account, mostly with the current password."""
ENDING_A_CLIENT = frozenset({Verb.DISABLE_CLIENT, Verb.DELETE_CLIENT, Verb.FORCE_OUT_CLIENT})


class InvariantChecker:
    """The invariants over one world."""

    def __init__(self, history: History, driver: Driver) -> None:
        self.history = history
        self.driver = driver
        self.dead: dict[int, Invariant] = {}
        """Sessions and codes that ended, by the step that began them."""
        self.turns = 0
        self._ledger: dict[Key, Record] = {}
        """Records as the acknowledged decisions left them."""
        self._before_turn: dict[Key, Record | None] = {}
        """Records that this turn wrote, as they were before it."""
        self._unmade: set[Key] = set()
        """Records that this turn deleted, even if it created them again."""
        self._suspects: dict[int, KnownSession] = {}
        """Sessions to check after this turn."""

    def begin(self) -> None:
        """Take the stored records as acknowledged."""
        self._ledger = self._read_store()

    def after(self, turn: Turn) -> Iterator[Violation]:
        """Yield every violation of a turn, and add its answers to the history."""
        self.turns += 1
        sampled = self.turns % SAMPLED_EVERY == 0
        now = int(turn.now)
        yield from self._faults_of_running(turn, sampled)
        self._suspects = suspects = dict[int, KnownSession]()
        for decision in turn.before:
            self._note_writes(decision)
        self._before_turn, self._unmade = {}, set()
        for outcome in turn.outcomes:
            if outcome.decision is None:
                continue
            call, answer, history = outcome.call, outcome.answer, self.history
            parts = split_batch(call, answer)
            yield from faults_of_writes(outcome, now, history)
            for part, own in parts:
                yield from faults_of_answer(part, now, own, history, self.dead)
            yield from find_secrets(outcome, printed=sampled)
            place = history.tokens.get(call.token or "")
            use = use_of(call, place, now, history, self.dead)
            ended = {part.user_id for part, own in parts if history.moves_phone(part, own)}
            if call.verb is Verb.ENTER_FACTOR and answer.kind is AnswerKind.LOGIN:
                owner = history.owner_of_factor(call)
                # A code at sign-in that completes the second factor's setup ends all earlier sessions.
                ended |= set() if owner is None or owner.factor is not None else {owner.user_id}
            history.note(outcome.number, call, now, answer)
            for part, own in parts:
                self._note_endings(part, now, own, outcome.decision, place, use)
            for user_id in ended:
                self._mark_all_ended_of(user_id, history.sessions.get(outcome.number))
            if place is not None and place.generation in place.session.spent_at:
                suspects[place.session.number] = place.session
            self._note_writes(outcome.decision)
        for session in suspects.values():
            latest = len(session.pairs) - 1
            generation = latest if session.number in self.dead else max(session.spent_at, default=0)
            yield from self._faults_of_session(session, now, range(generation, generation + 1))
        if sampled:
            yield from self._faults_of_store()

    def check_everything(self, now: int) -> Iterator[Violation]:
        """Check everything that was ever issued."""
        for session in self.history.sessions.values():
            yield from self._faults_of_session(session, now, range(len(session.pairs)))
        yield from self._faults_of_store()

    # --- purity

    def _faults_of_running(self, turn: Turn, sampled: bool) -> Iterator[Violation]:
        """Yield a violation if the rehearsal of the turn on the same records came out differently."""
        if turn.failure is not None:
            if not isinstance(turn.failure, Crash):
                yield Violation(PURE, f"{type(turn.failure).__name__} was raised")
                text = f"{turn.failure} {turn.failure!r}"
                for outcome in turn.outcomes:
                    if any(secret in text for secret in secrets_of(outcome.call, outcome.answer)):
                        yield Violation(NO_SECRETS, "an exception tells one")
            return
        if not turn.events or turn.snapshot is None:
            return
        if turn.rehearsed is not None and turn.rehearsed != [outcome.decision for outcome in turn.outcomes]:
            yield Violation(PURE, f"{turn.outcomes[0].call.verb} is decided in two ways")
        if sampled and turn.rehearsed is not None:
            again = take_turn(turn.events, turn.snapshot, turn.now, self.driver.policy)
            if again != turn.rehearsed:
                yield Violation(PURE, f"{turn.outcomes[0].call.verb} changes the snapshot it was given")

    # --- endings

    def _note_endings(
        self, call: Call, now: int, answer: Answer, decision: Decision, place: Place | None, use: Use
    ) -> None:
        """Record the sessions and codes that an acknowledged call ended."""
        history = self.history
        if use is Use.REPLAY and place is not None:
            self._mark_ended([place.session], REPLAY_ENDS)
        if call.verb is Verb.REVOKE and answer.kind is AnswerKind.DONE and place is not None:
            forgotten = place.is_access and place.generation in place.session.spent_at
            if place.session.client_id == call.client_id and not forgotten:
                self._mark_ended([place.session], ENDED_STAYS_ENDED)
        if call.verb is Verb.REDEEM and answer.kind is AnswerKind.REFUSED:
            self._note_failed_exchange(call, now)
        entered = call.verb in BY_THEMSELVES
        login = history.tokens.get(call.login or "")
        if entered and answer.error == "A1001" and decision.changes and login is not None:
            # The last allowed wrong entry ends everything of the user, this login included.
            self._mark_all_ended_of(login.session.user_id, None)
        if answer.kind not in (AnswerKind.DONE, AnswerKind.USER):
            return
        if call.verb in ENDING_A_USER and (call.verb is not Verb.RESET_FACTOR or decision.changes):
            own = call.verb in BY_THEMSELVES
            user_id = (login.session.user_id if login is not None else None) if own else call.user_id
            kept = login.session if own and login is not None else None
            written = (split_change(change)[1] for change in decision.changes)
            if call.verb is Verb.REMOVE_FACTOR and not any(isinstance(record, Session) for record in written):
                kept = None  # If a second factor is required, this login ends as well.
            self._mark_all_ended_of(user_id, kept)
        elif call.verb in ENDING_A_CLIENT:
            self._mark_all_ended(lambda one: one.client_id == call.client_id)
        elif call.verb is Verb.FORCE_OUT_ALL:
            self._mark_all_ended(lambda one: True)
        elif call.verb in (Verb.WITHDRAW, Verb.WITHDRAW_FOR):
            by_user = call.verb is Verb.WITHDRAW and login is not None
            both = (call.client_id, login.session.user_id if by_user and login else call.user_id)
            self._mark_all_ended(lambda one: (one.client_id, one.user_id) == both)
        elif call.verb is Verb.SIGN_OUT and login is not None:
            self._mark_ended([login.session], ENDED_STAYS_ENDED)
        elif call.verb in (Verb.END_SESSION, Verb.END_OWN_SESSION):
            named = history.by_session_id.get(call.session_id or "")
            self._mark_ended([] if named is None else [named], ENDED_STAYS_ENDED)

    def _note_failed_exchange(self, call: Call, now: int) -> None:
        """Mark the code of a failed exchange as void, by an authenticated client (READINGS 18)."""
        client = self.history.clients.get(call.client_id or "")
        code = self.history.code_texts.get(call.token or "")
        grants = () if client is None else client.settings.grants
        if code is not None and self.history.is_authentic(call, now) and "authorization_code" in grants:
            self.dead.setdefault(code.number, ENDED_STAYS_ENDED)

    def _mark_ended(self, sessions: Iterable[KnownSession], why: Invariant) -> None:
        for session in sessions:
            if session.number not in self.dead:
                self.dead[session.number] = why
                self._suspects[session.number] = session

    def _mark_all_ended_of(self, user_id: str | None, kept: KnownSession | None) -> None:
        """Mark all sessions and codes of a user as ended, except one session."""
        self._mark_all_ended(lambda one: one.user_id == user_id and one is not kept)

    def _mark_all_ended(self, is_meant: Callable[[KnownSession | KnownCode], bool]) -> None:
        self._mark_ended(filter(is_meant, self.history.sessions.values()), WIDE_ENDINGS)
        for code in filter(is_meant, self.history.codes.values()):
            self.dead.setdefault(code.number, WIDE_ENDINGS)

    # --- questions from outside

    def _faults_of_session(self, session: KnownSession, now: int, generations: range) -> Iterator[Violation]:
        """Ask about some of the pairs that a session ever had, as their holders could."""
        live = {True: 0, False: 0}
        for generation in generations:
            pair = session.pairs[generation]
            access = Place(session, generation, is_access=True)
            asked = Call(Verb.USER_INFO, token=pair.access)
            if self.driver.ask(asked, now).error != "A1001":
                live[True] += 1
                yield from faults_of_honouring(Verb.USER_INFO, access, now, self.dead)
            client = self.history.clients.get(session.client_id or "")
            if pair.refresh is None or client is None or not client.enabled or client.deleted:
                continue
            asked = Call(Verb.INTROSPECT, client.client_id, client.secret, pair.refresh)
            if self.driver.ask(asked, now).kind is AnswerKind.ACTIVE:
                live[False] += 1
                refresh = Place(session, generation, is_access=False)
                yield from faults_of_honouring(Verb.INTROSPECT, refresh, now, self.dead)
        if max(live.values()) > 1:
            yield Violation(ONE_LIVE_PAIR, "two access tokens or two refresh tokens of a session are live")

    # --- stored records

    def _note_writes(self, decision: Decision) -> None:
        for change in decision.changes:
            _, after = split_change(change)
            key = change.record.key if isinstance(change, Insert) else change.before.key
            stood = self._before_turn.setdefault(key, self._ledger.get(key))
            if after is None:
                self._ledger.pop(key, None)
                self._unmade.add(key)
            elif stood is not None and key in self._unmade:
                self._ledger[key] = _merge_deletion(stood, after)
            else:
                self._ledger[key] = after
            if isinstance(after, Session) and after.ended_at is not None:
                seen = self.history.by_session_id.get(after.session_id)
                if seen is not None:
                    self.dead.setdefault(seen.number, ENDED_STAYS_ENDED)

    def _read_store(self) -> dict[Key, Record]:
        records = (record for table in RECORD_TABLES for record in self.driver.store.records(table))
        return {record.key: record for record in records}

    def _faults_of_store(self) -> Iterator[Violation]:
        """Yield each difference between the store and the writes of the acknowledged decisions."""
        stored, ledger = self._read_store(), self._ledger
        if stored != ledger:
            keys = {key for key in stored.keys() | ledger.keys() if stored.get(key) != ledger.get(key)}
            tables = ", ".join(sorted({key.table.name for key in keys}))
            yield Violation(ACKNOWLEDGED_STAYS, f"the store differs from what was acknowledged: {tables}")


def _merge_deletion(stood: Record, after: Record) -> Record:
    """Return the stored record after one turn deletes and creates it again: next revision or no change."""
    if isinstance(stood, Identifier):
        return after
    is_as_it_was = replace(after, revision=stood.revision) == stood
    return stood if is_as_it_was else replace(after, revision=stood.revision + 1)
