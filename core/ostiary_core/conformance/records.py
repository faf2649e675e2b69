"""Checks of single records: stored as written, found under their own keys, every write guarded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ostiary_core.conformance.harness import (
    Broken,
    CheckedStore,
    Contents,
    Crash,
    CrashingSequence,
    StoreFactory,
    difference,
    require,
)
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import (
    Consent,
    Epochs,
    Identifier,
    IdentifierKind,
    Record,
    RefreshToken,
    Role,
    Session,
    SessionKind,
    Table,
    revise,
)
from ostiary_core.model.secret import Digest, digest_of
from ostiary_core.storage.store import LostRace

_MANY = 1_200
_MOST_PASSES = 10

_ODD = (
    "",
    " ",
    "'; DROP TABLE roles; --",
    "%_\\",
    "名字",
    "\U0001f510",
    "e\u0301",
    "é",
    "line\nbreak",
    "R1",
    "r1",
    "r1 ",
)


def _role(role_id: str, name: str = "a role") -> Role:
    return Role(role_id=role_id, name=name, permissions=("audit.read",), built_in=False)


def _name(value: str) -> Identifier:
    return Identifier(kind=IdentifierKind.USERNAME, value=value, user_id="somebody")


def _session(number: int) -> Session:
    return Session(
        session_id=f"session {number}",
        kind=SessionKind.CLIENT_CREDENTIALS,
        client_id="somebody",
        user_id=None,
        scopes=(),
        epochs=Epochs(0, 0, 0),
        started_at=Instant(0),
        expires_at=Instant(1),
        access_digest=digest_of(f"access token {number}"),
        access_scopes=(),
        access_expires_at=Instant(1),
    )


def _consent(user_id: str, client_id: str) -> Consent:
    return Consent(user_id=user_id, client_id=client_id, scopes=(), granted_at=Instant(0))


def _token(digest: bytes) -> RefreshToken:
    return RefreshToken(digest=Digest(digest), session_id="somebody's", generation=0)


_LONGEST = 64
"""Longest chosen name, in characters."""
_LONGEST_NAME = 18 * _LONGEST
"""Longest canonical user name: one character may become 18."""

_ALIKE: Final[tuple[tuple[Record, Record], ...]] = (
    (_role("r" * _LONGEST), _role("r" * (_LONGEST - 1) + "s")),
    (_name("n" * _LONGEST), _name("n" * (_LONGEST - 1) + "m")),
    (_name("\u0633" * _LONGEST_NAME), _name("\u0633" * (_LONGEST_NAME - 1) + "\u0634")),
    (_consent("u" * 32, "c" * _LONGEST), _consent("u" * 32, "c" * (_LONGEST - 1) + "d")),
    (_consent("v" * 31 + "w", "c" * _LONGEST), _consent("v" * 32, "c" * _LONGEST)),
    (_token(bytes(32)), _token(bytes(31) + b"\x01")),
)
"""Pairs of records with the longest keys, which differ only at their end."""


def _fetch(store: CheckedStore, *keys: str) -> list[Record]:
    return list(store.fetch(Table.ROLE, keys))


def what_is_written_is_read_at_once(stores: StoreFactory) -> None:
    """Check that each insert, update and delete shows at once in what is read."""
    store = stores.make()
    require(_fetch(store, "r") == [], "a record was found where none was written")
    first = _role("r")
    store.write([Insert(first)])
    require(_fetch(store, "r") == [first], "an insert was lost: the record is not found after it")
    second = revise(first, name="changed")
    store.write([Update(first, second)])
    found = _fetch(store, "r")
    require(found != [first], "a stale read: after an update the record is found as it was before")
    require(found == [second], "an update was lost: the record is not found as it was written")
    store.write([Delete(second)])
    require(_fetch(store, "r") == [], "a delete was forgotten: the record is still found")
    third = _role("r", "made again")
    store.write([Insert(third)])
    require(_fetch(store, "r") == [third], "a record cannot be made again where one was deleted")


def every_record_is_found_under_its_own_key(stores: StoreFactory) -> None:
    """Check that many records, asked for together with unknown ones, are each found under their own key."""
    store = stores.make()
    roles = [
        Role(role_id=key, name=name, permissions=("b", "a", name, "b"))
        for key, name in zip(_ODD, reversed(_ODD), strict=True)
    ]
    roles += [_role(f"number {number}", str(number)) for number in range(_MANY)]
    store.write([Insert(role) for role in roles])
    for role in roles[: len(_ODD) + 5]:
        found = _fetch(store, role.role_id)
        require(found == [role], "swapped records: under a key there is another record, or none")
    require(_fetch(store) == [], "a record was found that nobody asked for")
    asked = [role.role_id for role in roles] + [f"unknown {number}" for number in range(50)]
    found = _fetch(store, *asked)
    require(len(found) <= len(roles), "a record was found twice, or one that nobody asked for")
    require(len(found) == len(roles), f"of {len(roles)} records asked for at once {len(found)} were found")
    require(set(found) == set(roles), "swapped records: of many at once, keys and records do not match")
    pair = _name("anna")
    store.write([Insert(pair)])
    require(
        list(store.fetch(Table.IDENTIFIER, [pair.key.id, ("anna", "username")])) == [pair],
        "the parts of a key of two parts are mixed up",
    )


def keys_that_differ_only_at_their_end_are_two(stores: StoreFactory) -> None:
    """Check that long keys which differ only at their end are different: no store may cut a key."""
    store = stores.make()
    for one, other in _ALIKE:
        table = one.table
        cut = f"keys of table {table.name} are cut: two that differ only at their end are one"
        store.write([Insert(one)])
        require(not list(store.fetch(table, [other.key.id])), cut)
        try:
            store.write([Insert(other)])
        except LostRace:
            raise Broken(cut) from None
        found = list(store.fetch(table, [one.key.id, other.key.id]))
        require(len(found) == 2 and set(found) == {one, other}, cut)


def a_session_is_found_by_its_present_access_token(stores: StoreFactory) -> None:
    """Check that a session is found by its present access token and by no other, from start to end."""
    store = stores.make()

    def find(*tokens: str) -> list[Record]:
        digests = [digest_of(token) for token in tokens]
        records = store.fetch(Table.ACCESS_TOKEN, digests)
        return [record for record in records if isinstance(record, Session)]

    sessions = [_session(number) for number in range(3)]
    store.write([Insert(session) for session in sessions])
    asked = find("access token 2", "unknown", "access token 0")
    require(
        len(asked) == 2 and set(asked) == {sessions[0], sessions[2]},
        "a session is not found by its access token, or another one is",
    )
    rotated = revise(sessions[0], access_digest=digest_of("the next"), generation=1)
    store.write([Update(sessions[0], rotated), Delete(sessions[1])])
    gone = find("access token 0", "access token 1")
    require(not gone, "a session is found by an access token that it no longer has")
    require(find("the next") == [rotated], "a session is not found by the access token it has now")
    ended = revise(rotated, ended_at=Instant(1))
    store.write([Update(rotated, ended)])
    require(find("the next") == [ended], "a session is not found by its access token as it stands")
    another = replace(_session(9), access_digest=sessions[2].access_digest)
    _must_lose(store, [Insert(another)], "two sessions may have one access token")


def an_insert_never_takes_the_place_of_a_record(stores: StoreFactory) -> None:
    """Check that an insert under a key in use is refused: every uniqueness depends on it (READINGS 9)."""
    store = stores.make()
    store.write([Insert(_role("r", "first"))])
    _must_lose(store, [Insert(_role("r", "second"))], "an insert over an existing record was accepted")


def a_write_of_any_other_revision_loses(stores: StoreFactory) -> None:
    """Check that a write loses if it was decided on an older revision of its record, or on a later one.

    A record that was deleted and made again counts from 1.
    """
    for stored, read in ((3, 1), (3, 2), (3, 4), (1, 2), (1, 9)):
        for late in (lambda before: Update(before, revise(before, name="late")), Delete):
            store = stores.make()
            for change in _up_to(9):
                store.write([change])
            store.write([Delete(replace(_role("r"), revision=9))])
            for change in _up_to(stored):
                store.write([change])
            change = late(replace(_role("r"), revision=read))
            what = "an update" if isinstance(change, Update) else "a delete"
            which = "a later" if read > stored else "an older"
            _must_lose(store, [change], f"{what} of {which} revision than the one that stands was accepted")


def _up_to(revision: int) -> Iterator[Change]:
    """Make the changes that bring a new role to this revision."""
    stored = _role("r")
    yield Insert(stored)
    while stored.revision < revision:
        before, stored = stored, revise(stored)
        yield Update(before, stored)


def a_write_to_a_record_that_is_gone_loses(stores: StoreFactory) -> None:
    """Check that a write to a deleted record loses, and does not bring the record back."""
    gone = _role("gone")
    for change in (Update(gone, revise(gone)), Delete(gone)):
        what = "an update" if isinstance(change, Update) else "a delete"
        _must_lose(stores.make(), [change], f"{what} of a record that is not there was accepted")


def one_lost_race_takes_every_write_with_it(stores: StoreFactory) -> None:
    """Check that one lost race, anywhere among the writes of a turn, loses all of them."""
    store = stores.make()
    stored, doomed = _role("stored"), _role("doomed")
    store.write([Insert(stored), Insert(doomed)])
    for place in range(4):
        writes: list[Change] = [
            Insert(_role("new")),
            Update(stored, revise(stored, name="changed")),
            Delete(doomed),
        ]
        writes.insert(place, Insert(_name("fine")))
        writes.insert(place, Insert(_role("stored")))
        _must_lose(store, writes, "an insert over an existing record was accepted among other writes")


def a_crash_between_writes_leaves_none_of_them(stores: StoreFactory) -> None:
    """Check that a crash between any two writes of a turn leaves the store as it was before the turn."""
    store = stores.make()
    stored, doomed = _role("stored"), _role("doomed")
    store.write([Insert(stored), Insert(doomed)])
    before = Contents.of(store)
    # A store may pass over the changes more than once: to read what is stored, and then to write.
    for place in range(3 * _MOST_PASSES + 1):
        changes: list[Change] = [
            Insert(_role("new")),
            Update(stored, revise(stored, name="changed")),
            Delete(doomed),
        ]
        try:
            store.write(CrashingSequence(changes, place))
        except Crash:
            pass
        else:
            require(place > 2, "an error between two writes was swallowed")
            return
        wrong = difference(Contents.of(store), before)
        require(wrong is None, f"a partial write: an error between 3 writes left some ({wrong})")
        if stores.reopen is not None:
            store = stores.reopen(store)
            wrong = difference(Contents.of(store), before)
            require(wrong is None, f"a partial write is found after a crash between writes ({wrong})")
    raise Broken("changes are gone through over and over")


def two_stores_share_nothing(stores: StoreFactory) -> None:
    """Check that two new stores have nothing in common."""
    one, other = stores.make(), stores.make()
    one.write([Insert(_role("of one store"))])
    require(_fetch(other, "of one store") == [], "what is written to one store is found in another one")


def _must_lose(store: CheckedStore, changes: Sequence[Change], words: str) -> None:
    """Require that a write raises `LostRace` and changes nothing."""
    before = Contents.of(store)
    try:
        store.write(changes)
    except LostRace:
        wrong = difference(Contents.of(store), before)
        require(wrong is None, f"a partial write: a refused write left some of its changes ({wrong})")
        return
    raise Broken(f"{words}; it must raise LostRace")


CHECKS: tuple[Callable[[StoreFactory], None], ...] = (
    two_stores_share_nothing,
    what_is_written_is_read_at_once,
    every_record_is_found_under_its_own_key,
    keys_that_differ_only_at_their_end_are_two,
    a_session_is_found_by_its_present_access_token,
    an_insert_never_takes_the_place_of_a_record,
    a_write_of_any_other_revision_loses,
    a_write_to_a_record_that_is_gone_loses,
    one_lost_race_takes_every_write_with_it,
    a_crash_between_writes_leaves_none_of_them,
)
