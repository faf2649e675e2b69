"""Puts calls to the core over its reference store, and gives its answers back in the specification's words.

It plays the runtime around the core: it brings the entropy, keeps the other half of the password hashes, and
takes turns. It judges nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuzz.shared.calls import ABOUT_OWN_FACTOR, WITH_A_TICKET, Answer, AnswerKind, Call, Verb, refusal
from fuzz.shared.core_answers import answer_of
from fuzz.shared.core_events import (
    SOURCE,
    administration_event,
    arrival_of,
    choice_event,
    fields_of_token,
    hash_of,
    parameters,
    person,
    runtime_event,
    token_service_event,
)
from fuzz.shared.memory_store import ServerMemoryStore
from fuzz.shared.seeds import entropy
from ostiary_core import events, keys, load, take_turn
from ostiary_core.events import Event
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision, Insert
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import RECORD_TABLES, Key, Table, TextCodePurpose
from ostiary_core.model.reply import AccountKnown, Done, PasswordOnFile
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.model.sign_in_ticket import read_ticket
from ostiary_core.retention import Expirable

NO_ENTROPY = Entropy(bytes(32))
"""For questions, which mint nothing."""


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
        """Begin with a trail of earlier turns."""
        self._audit = [*trail]
        self._entries_kept = trail[-1].number if trail else 0


@dataclass(slots=True)
class Outcome:
    """One call with what the core made of it."""

    number: int
    call: Call
    event: Event | None
    """None where it did not come to one."""
    decision: Decision | None
    """None where the turn failed."""
    answer: Answer


@dataclass(slots=True)
class Turn:
    """What happened in one turn, and the rehearsal of it that must have come out the same."""

    now: Instant
    outcomes: list[Outcome]
    events: list[Event]
    snapshot: Snapshot | None
    rehearsed: list[Decision] | None
    before: list[Decision]
    """Of what the sweeper deletes ahead of them."""
    failure: BaseException | None = None


class Driver:
    """The core, its reference store, and the little that a runtime adds."""

    def __init__(self, world: str, policy: Policy, *, rehearse_every: int = 1) -> None:
        self.world = world
        self.policy = policy
        self.rehearse_every = rehearse_every
        """Every so manieth turn is decided once before, over a snapshot of its own."""
        self.store = _Store(policy)
        self._before: list[Decision] = []
        self._turns = 0

    def restart(self) -> None:
        """Lose everything but what is stored."""
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
            answer = Answer(kind=AnswerKind.FAILED) if decision is None else answer_of(call, decision)
            event = batch[place] if place < len(batch) else None
            turn.outcomes.append(Outcome(number, call, event, decision, answer))
        return turn

    def _origin(self, number: int, call: Call) -> Origin | None:
        """The request of a call; None where the sweeper or the operator asks."""
        is_own = call.verb is Verb.SWEEP or (call.verb is Verb.FORCE_OUT_ALL and call.login is None)
        return None if is_own else Origin(f"{self.world}:{number}", SOURCE, call.user_agent)

    def _purge(self, call: Call, now: Instant) -> None:
        """Delete what has expired, as the sweeper does; what it names and has not expired stays."""
        named = [Key(Table.SESSION, call.session_id or ""), self.store.records(Table.CLIENT)[0].key]
        for kind in Expirable:
            found = self.store.find_expired(kind, b"", now, 1_000).identifiers
            named += [Key(kind.table, each) for each in found]
            self._before += self.store.turn([events.RecordExpired(key=key) for key in named], now)
            named = []

    def ask(self, call: Call, now: int) -> Answer:
        """The answer to a call that changes nothing, for whoever wants to look at the state from outside."""
        event = (
            events.ProfileRequested(access_token=Secret(call.token or ""))
            if call.verb is Verb.USER_INFO
            else token_service_event(call, NO_ENTROPY, Instant(now))
        )
        snapshot = load([keys(event)], self.store.fetch)
        [decision] = take_turn([event], snapshot, Instant(now), self.policy)
        return answer_of(call, decision)

    # --- calls into events

    def _event(self, call: Call, number: int, now: Instant) -> Event | Answer:
        """The event that a runtime makes of `call`; an answer where it does not come to one."""
        drawn = Entropy(entropy(self.world, number))
        match call.verb:
            case Verb.REDEEM | Verb.REFRESH | Verb.CLIENT_CREDENTIALS | Verb.INTROSPECT | Verb.REVOKE:
                return token_service_event(call, drawn, now)
            case Verb.USER_INFO:
                return events.ProfileRequested(access_token=Secret(call.token or ""))
            case Verb.CHECK:
                return events.AuthorizationChecked(caller=person(call), parameters=parameters(call))
            case Verb.APPROVE:
                return events.ConsentGiven(caller=person(call), parameters=parameters(call), entropy=drawn)
            case Verb.RECALL:
                return events.AutomaticConsentRequested(
                    caller=person(call), parameters=parameters(call), entropy=drawn
                )
            case Verb.DENY:
                return events.ConsentDenied(caller=person(call), parameters=parameters(call))
            case Verb.WITHDRAW:
                return events.ConsentWithdrawn(caller=person(call), client_id=call.client_id or "")
            case Verb.FORCE_OUT_ALL:
                caller = events.Operator() if call.login is None else person(call)
                named = tuple(str(client.key.id) for client in self.store.records(Table.CLIENT))
                return events.EverybodyForcedOut(caller=caller, client_ids=named)
            case Verb.SWEEP:
                return events.GraceExpired(session_id=call.session_id or "")
            case Verb.NOTE_SECRET_USE | Verb.COUNT_WRONG_SECRETS:
                return runtime_event(call, now)
            case Verb.CREATE_ADMINISTRATOR:
                return events.FirstAdministratorCreated(
                    username=call.username or "",
                    password_hash=hash_of(call.password),
                    must_change_password=False,
                    entropy=drawn,
                )
            case Verb.CHOOSE:
                return choice_event(call)
            case verb if verb in ABOUT_OWN_FACTOR:
                return self._factor_event(call, drawn, now)
            case verb if verb in WITH_A_TICKET:
                ticket = read_ticket(call.token or "")
                if ticket is None:
                    return refusal("A1001")
                if verb is Verb.OFFER_FACTOR:
                    return events.SecondFactorBegunAtSignIn(ticket=ticket, entropy=drawn)
                return events.SecondFactorEntered(
                    ticket=ticket,
                    code=Secret(call.text_code or ""),
                    user_agent=call.user_agent,
                    source=SOURCE,
                    entropy=drawn,
                )
            case Verb.SIGN_OUT_ELSEWHERE:
                return events.OtherSessionsEnded(caller=person(call))
            case Verb.CREATE_TOKEN:
                return events.PersonalTokenCreated(
                    caller=person(call),
                    fields=fields_of_token(call),
                    user_agent=call.user_agent,
                    source=SOURCE,
                    entropy=drawn,
                )
            case Verb.NOTE_TOKEN_USE:
                return events.PersonalTokenUsed(caller=person(call))
            case Verb.END_OWN_SESSION:
                return events.OwnSessionEnded(caller=person(call), session_id=call.session_id or "")
            case Verb.SHOW_ACCOUNT:
                permission = None if call.choice is None else Permission(call.choice)
                caller = events.Operator() if call.login is None else person(call)
                return events.AccountRequested(caller=caller, permission=permission)
            case Verb.REQUEST_TEXT_CODE:
                is_own = call.login is not None
                return events.TextCodeRequested(
                    caller=person(call) if is_own else None,
                    purpose=TextCodePurpose.CHANGE_PHONE if is_own else TextCodePurpose.RESET_PASSWORD,
                    phone=call.phone or "",
                    entropy=drawn,
                )
            case (
                Verb.SIGN_IN
                | Verb.REFRESH_LOGIN
                | Verb.SIGN_OUT
                | Verb.CHANGE_PASSWORD
                | Verb.CHANGE_PHONE
                | Verb.RECOVER_PASSWORD
            ):
                return self._account_event(call, drawn, now)
            case _:
                return administration_event(call, drawn)

    def _account_event(self, call: Call, drawn: Entropy, now: Instant) -> Event:
        code = Secret(call.text_code or "")
        match call.verb:
            case Verb.SIGN_IN:
                return events.SignInAttempted(
                    username=call.username or "",
                    **self._verify_password(call.username or "", call, now),
                    # As a runtime does whose hashes cost more by now.
                    new_password_hash=hash_of(call.password) if now % 4 == 0 else None,
                    user_agent=call.user_agent,
                    source=SOURCE,
                    entropy=drawn,
                )
            case Verb.REFRESH_LOGIN:
                return events.LoginRefreshed(
                    refresh_token=Secret(call.token or ""),
                    user_agent=call.user_agent,
                    entropy=drawn,
                    arrival=arrival_of(call, now),
                )
            case Verb.SIGN_OUT:
                return events.SignedOut(caller=person(call))
            case Verb.CHANGE_PASSWORD:
                verified = self._verify_password(person(call), call, now)
                new_hash = hash_of(call.new_password)
                return events.PasswordChanged(caller=person(call), new_password_hash=new_hash, **verified)
            case Verb.CHANGE_PHONE:
                verified = self._verify_password(person(call), call, now)
                return events.PhoneChanged(caller=person(call), phone=call.phone or "", code=code, **verified)
            case _:
                return events.PasswordResetByTextMessage(
                    phone=call.phone or "", code=code, new_password_hash=hash_of(call.new_password)
                )

    def _factor_event(self, call: Call, drawn: Entropy, now: Instant) -> Event:
        """What signed-in users do with their second factor; a runtime knows who they are."""
        [known] = self.store.turn([events.AccountRequested(caller=person(call))], now)
        user = known.reply.user if isinstance(known.reply, AccountKnown) else None
        user_id = "nobody" if user is None else user.user_id
        asked: dict[str, Any] = {"caller": person(call), "user_id": user_id}
        code: dict[str, Any] = {"code": Secret(call.text_code or "")}
        if call.verb is Verb.CONFIRM_FACTOR:
            return events.SecondFactorConfirmed(**asked, **code)
        asked |= self._verify_password(person(call), call, now)
        match call.verb:
            case Verb.BEGIN_FACTOR:
                return events.SecondFactorBegun(**asked, entropy=drawn)
            case Verb.RENEW_CODES:
                return events.RecoveryCodesRenewed(**asked, **code, entropy=drawn)
            case _:
                return events.SecondFactorRemoved(**asked, **code)

    def _verify_password(self, of: str | events.SignedIn, call: Call, now: Instant) -> dict[str, Any]:
        """What came of a password, verified against the hash that a runtime asks for first."""
        [decision] = self.store.turn([events.PasswordHashRequested(of=of)], now)
        on_file = decision.reply.password_hash if isinstance(decision.reply, PasswordOnFile) else None
        matches = on_file == hash_of(call.password)
        if call.overtaken:
            on_file = None if now % 2 else hash_of("the password before")
        return {"verified_against": on_file, "password_matches": matches}
