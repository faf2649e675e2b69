"""Put calls to the core over its reference store; return its answers in the specification's words.

The driver acts as the runtime around the core: it supplies the entropy, keeps the other half of the password
hashes, and takes turns. It judges nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuzz.shared.calls import ABOUT_OWN_FACTOR, WITH_A_TICKET, Answer, AnswerKind, Call, Verb, refusal
from fuzz.shared.core_answers import answer_of
from fuzz.shared.core_events import SOURCE, event_of, hash_of, person
from fuzz.shared.memory_store import ServerMemoryStore
from fuzz.shared.seeds import entropy
from ostiary_core import events, keys, load, take_turn
from ostiary_core.events import Event
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision, Insert
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import RECORD_TABLES, Key, Table
from ostiary_core.model.reply import AccountKnown, Done, PasswordOnFile
from ostiary_core.model.secret import Entropy
from ostiary_core.model.sign_in_ticket import read_ticket
from ostiary_core.retention import Expirable

NO_ENTROPY = Entropy(bytes(32))
"""Entropy for questions, which create no tokens."""
WITH_A_PASSWORD = ABOUT_OWN_FACTOR - {Verb.CONFIRM_FACTOR} | {Verb.CHANGE_PASSWORD, Verb.CHANGE_PHONE}
"""Operations that need the user's current password."""


class Crash(Exception):
    """The process died before the commit."""


class _Store(ServerMemoryStore):
    """The reference store, with a commit that can be made to fail."""

    crashing = False

    def write(self, changes: Sequence[Change]) -> None:
        if self.crashing:
            raise Crash
        super().write(changes)

    def keep_trail(self, trail: Sequence[AuditEntry]) -> None:
        """Begin with an audit trail of earlier turns."""
        self._audit = [*trail]
        self._entries_kept = trail[-1].number if trail else 0


@dataclass(slots=True)
class Outcome:
    """One call with the core's event and decision."""

    number: int
    call: Call
    event: Event | None
    """None if the call did not lead to an event."""
    decision: Decision | None
    """None if the turn failed."""
    answer: Answer


@dataclass(slots=True)
class Turn:
    """The results of one turn, and its rehearsal, whose result must be the same."""

    now: Instant
    outcomes: list[Outcome]
    events: list[Event]
    snapshot: Snapshot | None
    rehearsed: list[Decision] | None
    before: list[Decision]
    """Decisions on the sweeper's deletions before the turn."""
    failure: BaseException | None = None


class Driver:
    """The core, its reference store, and the small part of a runtime that both need."""

    def __init__(self, world: str, policy: Policy, *, rehearse_every: int = 1) -> None:
        self.world = world
        self.policy = policy
        self.rehearse_every = rehearse_every
        """Number of turns for each one that is first rehearsed on a snapshot of its own."""
        self.store = _Store(policy)
        self._before: list[Decision] = []
        self._turns = 0

    def restart(self) -> None:
        """Lose everything that is not stored."""
        records = [record for table in RECORD_TABLES for record in self.store.records(table)]
        trail = self.store.audit()
        self.store = _Store(self.policy)
        self.store.write([Insert(record) for record in records])
        self.store.keep_trail(trail)

    def take(self, numbered: Sequence[tuple[int, Call]], now: int, *, crash: bool = False) -> Turn:
        """Put the calls to the core in one turn."""
        instant = Instant(now)
        batch: list[Event] = []
        self._before = []
        turn = Turn(instant, [], batch, None, None, self._before)
        decisions: list[Decision] | None = None
        self.store.crashing = crash
        self._turns += 1
        try:
            for number, call in numbered:
                if call.verb is Verb.SWEEP:
                    self._purge(call, instant)
                prepared = self._event(call, number, instant)
                if isinstance(prepared, Answer):
                    turn.outcomes.append(Outcome(number, call, None, Decision(Done()), prepared))
                    return turn
                batch.append(prepared)
            if self._turns % self.rehearse_every == 0:
                turn.snapshot = load((keys(event) for event in batch), self.store.fetch)
                turn.rehearsed = take_turn(batch, turn.snapshot, instant, self.policy)
            decisions = self.store.turn(batch, instant, [self._origin(*each) for each in numbered])
        except Exception as failure:
            turn.failure = failure
        finally:
            self.store.crashing = False
        for place, (number, call) in enumerate(numbered):
            decision = None if decisions is None else decisions[place]
            answer = Answer(AnswerKind.FAILED) if decision is None else answer_of(call, decision)
            event = batch[place] if place < len(batch) else None
            turn.outcomes.append(Outcome(number, call, event, decision, answer))
        return turn

    def _origin(self, number: int, call: Call) -> Origin | None:
        """Return the origin of a call's request; None for the sweeper and the operator."""
        is_own = call.verb is Verb.SWEEP or (call.verb is Verb.FORCE_OUT_ALL and call.login is None)
        return None if is_own else Origin(f"{self.world}:{number}", SOURCE, call.user_agent)

    def _purge(self, call: Call, now: Instant) -> None:
        """Delete expired records, as the sweeper does; a named record that has not expired stays."""
        named = [Key(Table.SESSION, call.session_id or ""), self.store.records(Table.CLIENT)[0].key]
        for kind in Expirable:
            found = self.store.find_expired(kind, b"", now, 1_000).identifiers
            named += [Key(kind.table, each) for each in found]
            self._before += self.store.turn([events.RecordExpired(key=key) for key in named], now)
            named = []

    def ask(self, call: Call, now: int) -> Answer:
        """Return the answer to a call that changes nothing, to inspect the state from outside."""
        event = event_of(call, NO_ENTROPY, Instant(now))
        [decision] = take_turn([event], load([keys(event)], self.store.fetch), Instant(now), self.policy)
        return answer_of(call, decision)

    # --- from calls to events

    def _event(self, call: Call, number: int, now: Instant) -> Event | Answer:
        """Return the event that a runtime makes of `call`, or an answer if it makes none."""
        known: dict[str, Any] = {}
        if call.verb in WITH_A_TICKET:
            known["ticket"] = read_ticket(call.token or "")
            if known["ticket"] is None:
                return refusal("A1001")
        if call.verb is Verb.FORCE_OUT_ALL:
            known["client_ids"] = tuple(str(each.key.id) for each in self.store.records(Table.CLIENT))
        if call.verb in ABOUT_OWN_FACTOR:
            [found] = self.store.turn([events.AccountRequested(caller=person(call))], now)
            user = found.reply.user if isinstance(found.reply, AccountKnown) else None
            known["user_id"] = "nobody" if user is None else user.user_id
        if call.verb is Verb.SIGN_IN:
            known = self._verify_password(call.username or "", call, now)
            # As a runtime does if its hash parameters were raised since.
            known["new_password_hash"] = hash_of(call.password) if now % 4 == 0 else None
        elif call.verb in WITH_A_PASSWORD:
            known |= self._verify_password(person(call), call, now)
        return event_of(call, Entropy(entropy(self.world, number)), now, **known)

    def _verify_password(self, of: str | events.SignedIn, call: Call, now: Instant) -> dict[str, Any]:
        """Return the result of verifying a password against the hash that a runtime asks for first."""
        [decision] = self.store.turn([events.PasswordHashRequested(of=of)], now)
        on_file = decision.reply.password_hash if isinstance(decision.reply, PasswordOnFile) else None
        matches = on_file == hash_of(call.password)
        if call.overtaken:
            # A proof without a hash is one without a password.
            was_none = now % 2 and call.verb is not Verb.PROVE
            on_file = None if was_none else hash_of("the password before")
        return {"verified_against": on_file, "password_matches": matches}
