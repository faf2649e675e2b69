"""Check the shared store after every committed turn, and all of its text at the end.

It compares the store's records with those after the turn before, and relies neither on the rules nor on the
store's own account.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from fuzz.shared.audit_checks import faults_of_facts
from fuzz.shared.invariants import (
    ENDED_STAYS_ENDED,
    GUARDED,
    NO_SECRETS,
    ONE_LIVE_PAIR,
    REDEEMED_ONCE,
    Violation,
)
from fuzz.shared.record_checks import faults_of_update
from fuzz.shared.state_tables import transitions_of
from fuzz.simulation.storage import LATER_WORD, Shared
from ostiary_core.model.decision import Decision, Delete
from ostiary_core.model.identifiers import names_of
from ostiary_core.model.records import (
    RECORD_TABLES,
    AuthorizationCode,
    Client,
    Identifier,
    Key,
    Record,
    RefreshToken,
    Session,
    Table,
    User,
)


class StoreChecker:
    """The store as it was after the latest turn."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._records: dict[Key, Record] = {}
        self._purged = set[object]()
        """Sessions that the sweeper deleted; their remaining records are deleted later."""
        self.turns = 0
        self.transitions: Counter[str] = Counter()
        """Number of committed decisions by row of the core's two state tables."""

    def look(self, decisions: Sequence[Decision]) -> list[Violation]:
        """Return the violations in the store after a turn."""
        self.turns += 1
        for decision in decisions:
            self.transitions.update(transitions_of(decision))
        if not any(decision.changes for decision in decisions):
            return []
        records = {record.key: record for table in RECORD_TABLES for record in self._shared.records(table)}
        faults = [fault for decision in decisions for fault in faults_of_facts(decision)]
        changes = [change for decision in decisions for change in decision.changes]
        deleted = {change.before.key for change in changes if isinstance(change, Delete)}
        self._purged |= {key.id for key in deleted if key.table is Table.SESSION}
        moves = self._check_moves(records, deleted)
        violations = [*moves, *_faults_of(records.values(), self._purged), *faults]
        self._records = records
        return violations

    def take_in(self, records: Iterable[Record]) -> None:
        """Accept records that another program wrote."""
        self._records |= {record.key: record for record in records}

    def texts_of(self, secrets: Iterable[str], log: str) -> list[Violation]:
        """Return a violation for each secret in the stored or logged text."""
        stored = self._shared.texts()
        violations = []
        for secret in sorted(secrets):
            if secret.encode() in stored:
                violations.append(Violation(NO_SECRETS, "the store holds the text of one"))
            if secret in log:
                violations.append(Violation(NO_SECRETS, "the log holds the text of one"))
        return violations[:1]

    def _check_moves(self, records: dict[Key, Record], deleted: set[Key]) -> Iterator[Violation]:
        for key, after in records.items():
            before = self._records.get(key)
            if before is None or before == after:
                continue
            # An identifier that gets another owner within one turn keeps its revision (`Identifier`).
            if after.revision <= before.revision and not isinstance(after, Identifier):
                yield Violation(GUARDED, f"a {type(after).__name__} is written over without a new revision")
            yield from faults_of_update(before, after)
            yield from _find_lost_words(before, after)
        for key, before in self._records.items():
            if key in records or (key in deleted and isinstance(before, Session | AuthorizationCode)):
                continue  # the model notices a code that the sweeper deletes too early
            if isinstance(before, Session | User | Client | AuthorizationCode):
                yield Violation(ENDED_STAYS_ENDED, f"a {type(before).__name__} is gone, and may not go so")


def _find_lost_words(before: Record, after: Record) -> Iterator[Violation]:
    """Yield a later release's words that were replaced although the record's state did not change."""
    if not isinstance(before, User | Client) or not isinstance(after, User | Client):
        return  # reasons of sessions and codes stay, as endings do
    if before.epoch == after.epoch and before.epoch_why == LATER_WORD != after.epoch_why:
        yield Violation(GUARDED, f"a word that a later release wrote into a {type(after).__name__} is lost")


def _faults_of(records: Iterable[Record], purged: Set[object]) -> Iterator[Violation]:
    """Yield each violation within the stored records; `purged` has the deleted sessions."""
    tokens: dict[str, list[RefreshToken]] = {}
    holders: Counter[bytes] = Counter()
    sessions: dict[str, Session] = {}
    redeemed: Counter[str] = Counter()
    reserved, borne = set[Identifier](), set[Identifier]()
    for record in records:
        if isinstance(record, RefreshToken):
            tokens.setdefault(record.session_id, []).append(record)
        elif isinstance(record, Session):
            sessions[record.session_id] = record
            holders[record.access_digest] += 1
        elif isinstance(record, Identifier):
            reserved.add(record)
        elif isinstance(record, User) and record.deleted_at is None:
            borne.update(names_of(record))
        elif isinstance(record, AuthorizationCode) and record.session_id is not None:
            redeemed[record.session_id] += 1
    for session_id, session in sessions.items():
        present = [one for one in tokens.get(session_id, []) if one.generation == session.generation]
        if len(present) > 1:
            yield Violation(ONE_LIVE_PAIR, "a session holds two refresh tokens of one generation")
    if any(count > 1 for count in holders.values()):
        yield Violation(ONE_LIVE_PAIR, "an access token is that of two sessions")
    if reserved != borne:
        yield Violation(GUARDED, "a name is reserved for somebody who does not bear it, or not reserved")
    known = sessions.keys() | purged
    if not tokens.keys() <= known:
        yield Violation(GUARDED, "tokens are stored without their session")
    if any(count > 1 for count in redeemed.values()) or not redeemed.keys() <= known:
        yield Violation(REDEEMED_ONCE, "a used code and its session do not belong together")
