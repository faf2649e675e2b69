"""Checks of single records: each write and each look at a record ends as in the reference store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from ostiary_core.conformance.harness import (
    Broken,
    Check,
    CheckedStore,
    Contents,
    Crash,
    StoreFactory,
    WatchedSequence,
    crash,
    difference,
    record_difference,
    require,
)
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import (
    Consent,
    Epochs,
    Identifier,
    IdentifierKind,
    Invitation,
    Record,
    RefreshToken,
    Role,
    SecondFactor,
    Session,
    SessionKind,
    Table,
    revise,
)
from ostiary_core.model.secret import Digest, digest_of
from ostiary_core.storage.store import LostRace, MemoryStore, before_and_after

_MANY: Final = 1_200
_MOST_READS: Final = 40
_ODD: Final = (
    "", " ", "'; DROP TABLE roles; --", "%_\\", "名字", "\U0001f510", "e\u0301", "é", "line\nbreak",
    "R1", "r1", "r1 ",
)  # fmt: skip

_LONGEST: Final = 64
"""Longest chosen name, in characters."""
_LONGEST_NAME: Final = 18 * _LONGEST
"""Longest canonical user name: one character may become 18."""


def _role(role_id: str, name: str = "a role", revision: int = 1) -> Role:
    return Role(role_id=role_id, name=name, permissions=("b", "a", name, "b"), revision=revision)


def _name(value: str) -> Identifier:
    return Identifier(kind=IdentifierKind.USERNAME, value=value, user_id="somebody")


def _session(number: int, token: str) -> Session:
    return Session(
        session_id=f"session {number}",
        kind=SessionKind.CLIENT_CREDENTIALS,
        client_id="somebody",
        user_id=None,
        scopes=(),
        epochs=Epochs(0, 0, 0),
        started_at=Instant(0),
        expires_at=Instant(1),
        access_digest=digest_of(token),
        access_scopes=(),
        access_expires_at=Instant(1),
    )


def _consent(user_id: str, client_id: str) -> Consent:
    return Consent(user_id=user_id, client_id=client_id, scopes=(), granted_at=Instant(0))


def _token(digest: bytes) -> RefreshToken:
    return RefreshToken(digest=Digest(digest), session_id="somebody's", generation=0)


_ALIKE: Final[tuple[tuple[Record, Record], ...]] = (
    (_role("r" * _LONGEST), _role("r" * (_LONGEST - 1) + "s")),
    (_name("n" * _LONGEST), _name("n" * (_LONGEST - 1) + "m")),
    (_name("\u0633" * _LONGEST_NAME), _name("\u0633" * (_LONGEST_NAME - 1) + "\u0634")),
    (_consent("u" * 32, "c" * _LONGEST), _consent("u" * 32, "c" * (_LONGEST - 1) + "d")),
    (_consent("v" * 31 + "w", "c" * _LONGEST), _consent("v" * 32, "c" * _LONGEST)),
    (_token(bytes(32)), _token(bytes(31) + b"\x01")),
)
"""Pairs of records with the longest keys, which differ only at their end."""


class _Pair:
    """A store and the reference store, which are written and read alike."""

    def __init__(self, stores: StoreFactory) -> None:
        self.store: CheckedStore = stores.make()
        self.reference = MemoryStore()

    def write(self, *changes: Change) -> None:
        """Make changes in both stores; require that both make all or refuse all, and then find the same."""
        what = " and ".join(dict.fromkeys(self._describe(change) for change in changes))
        must_lose, has_lost = _loses(self.reference, changes), _loses(self.store, changes)
        require(has_lost or not must_lose, f"{what} was accepted; it must raise LostRace")
        require(must_lose or not has_lost, f"{what} was refused, and nothing stands against it")
        wrong = difference(Contents.of(self.store), Contents.of(self.reference))
        left = "a partial write: a refused write left some of its changes" if must_lose else f"after {what}"
        require(wrong is None, f"{left} ({wrong})")
        for table, identifiers in _places_of(changes).items():
            self.read(table, *identifiers)

    def read(self, table: Table, *identifiers: Any) -> None:
        """Require that both stores find the same records under some identifiers."""
        found = list(self.store.fetch(table, identifiers))
        wrong = record_difference(table, found, list(self.reference.fetch(table, identifiers)))
        require(
            wrong is None,
            f"a stale read, or swapped records: under {len(identifiers)} keys of table {table.name} there is "
            f"found what is not stored under them ({wrong})",
        )

    def _describe(self, change: Change) -> str:
        """Describe a change by what stands in its place."""
        before = change.record if isinstance(change, Insert) else change.before
        stored = next(iter(self.reference.fetch(before.table, [before.key.id])), None)
        if isinstance(change, Insert):
            return "an insert" if stored is None else "an insert over an existing record"
        what = "an update" if isinstance(change, Update) else "a delete"
        if stored is None:
            return f"{what} of a record that is not there"
        if stored.revision == before.revision:
            return what
        which = "an older" if before.revision < stored.revision else "a later"
        return f"{what} of {which} revision than the one that stands"


def _loses(store: CheckedStore, changes: Sequence[Change]) -> bool:
    try:
        store.write(changes)
    except LostRace:
        return True
    return False


def _places_of(changes: Sequence[Change]) -> dict[Table, set[Any]]:
    """Return where to look for the records of some changes, before and after them."""
    places: dict[Table, set[Any]] = {}
    for change in changes:
        for record in before_and_after(change):
            if record is None:
                continue
            places.setdefault(record.table, set()).add(record.key.id)
            if isinstance(record, Session):
                places.setdefault(Table.ACCESS_TOKEN, set()).add(record.access_digest)
    return places


def two_stores_share_nothing(stores: StoreFactory) -> None:
    """Check that two new stores have nothing in common."""
    one, other = stores.make(), stores.make()
    one.write([Insert(_role("of one store"))])
    found = list(other.fetch(Table.ROLE, ["of one store"]))
    require(not found, "what is written to one store is found in another one")


def every_record_is_found_under_its_own_key(stores: StoreFactory) -> None:
    """Check that many records, asked for together with unknown ones, are each found under their own key."""
    pair = _Pair(stores)
    roles = [_role(role_id, name) for role_id, name in zip(_ODD, reversed(_ODD), strict=True)]
    for role in roles:
        pair.write(Insert(role))
    pair.write(*(Insert(_role(f"number {number}", str(number))) for number in range(_MANY)))
    pair.read(Table.ROLE)
    known = [record.key.id for record in pair.reference.records(Table.ROLE)]
    pair.read(Table.ROLE, *known, *(f"unknown {number}" for number in range(50)))
    anna = _name("anna")
    pair.write(Insert(anna))
    # The parts of a key the other way round are another key.
    pair.read(Table.IDENTIFIER, anna.key.id, anna.key.id[::-1])


def keys_that_differ_only_at_their_end_are_two(stores: StoreFactory) -> None:
    """Check that long keys which differ only at their end are different: no store may cut a key."""
    pair = _Pair(stores)
    for one, other in _ALIKE:
        try:
            pair.write(Insert(one))
            pair.read(one.table, other.key.id)
            pair.write(Insert(other))
        except Broken as broken:
            table = one.table.name
            raise Broken(
                f"keys of table {table} are cut: two that differ only at their end are one ({broken})"
            ) from None


def a_session_is_found_by_its_present_access_token(stores: StoreFactory) -> None:
    """Check that a session is found by its present access token and by no other, from start to end."""
    pair = _Pair(stores)
    one, two, three = (_session(number, f"access token {number}") for number in range(3))
    pair.write(Insert(one), Insert(two), Insert(three))
    pair.read(Table.ACCESS_TOKEN, three.access_digest, digest_of("unknown"), one.access_digest)
    rotated = revise(one, access_digest=digest_of("the next"), generation=1)
    pair.write(Update(one, rotated), Delete(two))
    pair.write(Update(rotated, revise(rotated, ended_at=Instant(1))))
    require(
        _loses(pair.store, [Insert(_session(9, "access token 2"))]),
        "two sessions may have one access token; the second must raise LostRace",
    )


def a_second_factor_is_kept_whole(stores: StoreFactory) -> None:
    """Check that a second factor keeps every field, from its offer to its end.

    The scenario has none: its rules need a key, which a store may have and need not.
    """
    pair = _Pair(stores)
    offered = SecondFactor(
        user_id="u" * 32, salt=bytes(range(32)), key_id="a key", recovery_digests=("b", "a")
    )
    other = replace(offered, user_id="v" * 32, salt=bytes(32))
    used = revise(
        offered,
        confirmed_at=Instant(1_800_000_000_123),
        used_step=60_000_004,
        ticket_used_at=Instant(1_800_000_000_122),
        wrong_codes_at=(Instant(2), Instant(1)),
    )
    spent = revise(used, recovery_digests=(), wrong_codes_at=())
    for change in (Insert(offered), Insert(other), Update(offered, used), Update(used, spent), Delete(spent)):
        pair.write(change)
        pair.read(Table.SECOND_FACTOR, offered.user_id, other.user_id)
    pair.write(Insert(offered))


def an_invitation_is_kept_whole(stores: StoreFactory) -> None:
    """Check that an invitation keeps every field, and that a newer one takes its place."""
    pair = _Pair(stores)
    first = Invitation(
        user_id="u" * 32,
        digest=digest_of("first"),
        epochs=Epochs(7, 8, 9),
        issued_at=Instant(1_800_000_000_123),
    )
    other = replace(first, user_id="v" * 32, digest=digest_of("other"))
    newer = replace(first, digest=digest_of("newer"), issued_at=Instant(1_800_000_000_124), revision=2)
    for change in (Insert(first), Insert(other), Update(first, newer), Delete(newer)):
        pair.write(change)
        pair.read(Table.INVITATION, first.user_id, other.user_id)


def a_write_of_any_other_revision_loses(stores: StoreFactory) -> None:
    """Check that a write loses, with all that is written with it, unless its record is as it was read.

    A record that was deleted and made again counts from 1.
    """
    pair = _Pair(stores)
    for stored, read in ((3, 1), (3, 2), (3, 3), (3, 4), (1, 1), (1, 2), (1, 9), (0, 1)):
        for number, late in enumerate(_LATE_WRITES):
            role_id = f"{stored} {read} {number}"
            for change in _bring_to(role_id, stored):
                pair.write(change)
            pair.write(late(_role(role_id, revision=read)))
    pair.write(Insert(_role("stored")), Insert(_role("doomed")))
    stored_role, doomed = _role("stored"), _role("doomed")
    for place in range(4):
        writes: list[Change] = _three_writes(stored_role, doomed)
        writes.insert(place, Insert(_name("fine")))
        writes.insert(place, Insert(_role("stored", "second")))
        pair.write(*writes)


_LATE_WRITES: Final[tuple[Callable[[Role], Change], ...]] = (
    Insert,
    lambda before: Update(before, revise(before, name="late")),
    Delete,
)


def _bring_to(role_id: str, revision: int) -> Iterator[Change]:
    """Make a role, delete it, and bring it to a revision again; 0 is none."""
    first = _role(role_id)
    yield from (Insert(first), Update(first, revise(first)), Delete(revise(first)))
    if revision:
        yield Insert(first)
    for earlier in range(1, revision):
        before = replace(first, revision=earlier)
        yield Update(before, revise(before))


def _three_writes(stored: Role, doomed: Role) -> list[Change]:
    return [Insert(_role("new")), Update(stored, revise(stored, name="changed")), Delete(doomed)]


def a_crash_between_writes_leaves_none_of_them(stores: StoreFactory) -> None:
    """Check that a crash between any two writes of a turn leaves the store as it was before the turn."""
    store = stores.make()
    stored, doomed = _role("stored"), _role("doomed")
    store.write([Insert(stored), Insert(doomed)])
    before = Contents.of(store)
    # A store may pass over the changes more than once: to read what is stored, and then to write.
    for read in range(_MOST_READS):
        changes = _three_writes(stored, doomed)
        try:
            store.write(WatchedSequence(changes, read, crash))
        except Crash:
            store = stores.require_unchanged(store, before, f"an error between {len(changes)} writes")
        else:
            require(read >= len(changes), "an error between two writes was swallowed")
            return
    raise Broken("changes are gone through over and over")


CHECKS: Final[tuple[Check, ...]] = (
    two_stores_share_nothing,
    every_record_is_found_under_its_own_key,
    keys_that_differ_only_at_their_end_are_two,
    a_session_is_found_by_its_present_access_token,
    a_second_factor_is_kept_whole,
    an_invitation_is_kept_whole,
    a_write_of_any_other_revision_loses,
    a_crash_between_writes_leaves_none_of_them,
)
