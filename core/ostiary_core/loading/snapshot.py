"""The snapshot: the loaded records that a decision may read, and how a store loads them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeVar

from ostiary_core.loading.keys import Keys
from ostiary_core.model.decision import Change, Delete, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import (
    AuthorizationCode,
    Client,
    Consent,
    Identifier,
    Invitation,
    Key,
    RawKey,
    Record,
    RefreshToken,
    Role,
    SecondFactor,
    Session,
    Table,
    TextCode,
    User,
)

R = TypeVar("R", bound=Record)

Fetch = Callable[[Table, Collection[Any]], Iterable[Record]]
"""A store's reader of records: those of one table under the given identifiers.

For `Table.ACCESS_TOKEN`, the sessions whose present access tokens have these digests. Records of later tables
may come with them; they are not fetched again.
"""

_Records = dict[RawKey, Record | None]


class NotLoaded(LookupError):
    """The rules read a record that `keys` did not name: a fault of the rules (or see `take_turn`)."""

    def __init__(self, table: Table) -> None:
        super().__init__(f"a record of table {table.name} was read that keys() did not name; add it there")


def _reader(kind: type[R], table: Table | None = None) -> Callable[["Snapshot", Any], R | None]:
    """Make the method that gives a record by its identifier, in the table of its class or in another."""
    table = table or kind.table

    def read(snapshot: "Snapshot", identifier: Any) -> R | None:
        try:
            found: R | None = snapshot._records[table, identifier]
        except KeyError:
            raise NotLoaded(table) from None
        return found

    return read


class Snapshot:
    """Records by key, with None for a known absence. Reading any other key raises `NotLoaded`.

    Each method returns the record of one table under an identifier: for tokens and codes, their digest.
    """

    __slots__ = ("_at_start", "_records", "now", "policy")

    now: Instant
    """Instant of the decision; set, like `policy`, by `at`."""
    policy: Policy

    def __init__(self, records: Mapping[Any, Any]) -> None:
        """Take records by key, each of the class that its table has."""
        self._records = dict(records)
        self._at_start: Snapshot | None = None

    client = _reader(Client)
    user = _reader(User)
    role = _reader(Role)
    code = _reader(AuthorizationCode)
    refresh_token = _reader(RefreshToken)
    session = _reader(Session)
    second_factor = _reader(SecondFactor)
    invitation = _reader(Invitation)
    _consent = _reader(Consent)
    _holder = _reader(Session, Table.ACCESS_TOKEN)

    def record(self, key: Key) -> Record | None:
        """Return the record under a key, None for a known absence."""
        try:
            found: Record | None = self._records[key]
        except KeyError:
            raise NotLoaded(key.table) from None
        return found

    def identifier(self, key: Key) -> Identifier | None:
        found = self.record(key)
        return found if isinstance(found, Identifier) else None

    def text_code(self, key: Key) -> TextCode | None:
        found = self.record(key)
        return found if isinstance(found, TextCode) else None

    def consent(self, user_id: str, client_id: str) -> Consent | None:
        return self._consent((user_id, client_id))

    def session_by_access_token(self, digest: bytes) -> Session | None:
        """Return the session whose present access token this is; a replaced token finds none."""
        holder = self._holder(digest)
        if holder is None:
            return None
        # As it stands now, which may be with another token.
        session = self.session(holder.session_id)
        return session if session is not None and session.access_digest == digest else None

    # --- a batch

    def begin_batch(self) -> "Snapshot":
        """Return a copy for the parts of a batch to change; callers are judged by this one."""
        batch = self.at(self.now, self.policy)
        batch._at_start = self
        return batch

    @property
    def is_in_batch(self) -> bool:
        return self._at_start is not None

    @property
    def of_callers(self) -> "Snapshot":
        """The snapshot that callers are judged by: of a batch, the one it began with (READINGS 51)."""
        return self if self._at_start is None else self._at_start

    def at(self, now: Instant, policy: Policy = SPECIFICATION) -> "Snapshot":
        """Return a copy for decisions at `now` under `policy`."""
        copy = Snapshot(self._records)
        copy.now, copy.policy = now, policy
        return copy

    def apply(self, changes: Iterable[Change]) -> None:
        """Make `changes` in place, for a turn, which owns its snapshot."""
        for change in changes:
            if isinstance(change, Delete):
                self._records[change.before.key] = None
            else:
                record = change.after if isinstance(change, Update) else change.record
                self._records[record.key] = record
                if isinstance(record, Session):
                    self._records[Table.ACCESS_TOKEN, record.access_digest] = record

    def __repr__(self) -> str:
        return f"Snapshot({len(self._records)} keys)"


_TABLES: Final = tuple(Table)
"""The tables as a tuple: iterating over the enum costs a call a member."""


def load(wanted: Iterable[Keys], fetch: Fetch) -> Snapshot:
    """Load what some events need, with at most one `fetch` for each table."""
    wanted = tuple(wanted)
    records: _Records = {}
    pending: dict[Table, set[Any]] = {}
    for keys in wanted:
        _enqueue(keys.roots, records, pending)
    # In the order of `Table`, in which each refers only to later ones.
    for table in _TABLES:
        if table is Table.CONSENT:
            for keys in wanted:
                if keys.consent is not None and (key := _consent_key(*keys.consent, records)) is not None:
                    _enqueue((key,), records, pending)
        if table not in pending:
            continue
        # What came with an earlier table need not be asked for.
        unknown = [identifier for identifier in pending[table] if (table, identifier) not in records]
        if not unknown:
            continue
        for identifier in unknown:
            records[table, identifier] = None
        is_by_access_token = table is Table.ACCESS_TOKEN
        for record in fetch(table, unknown):
            records[record.key] = record
            if is_by_access_token and isinstance(record, Session):
                records[table, record.access_digest] = record
                # No text is both an access token and a refresh token.
                records.setdefault((Table.REFRESH_TOKEN, record.access_digest), None)
            if references := record.references:
                _enqueue(references, records, pending)
    return Snapshot(records)


def _enqueue(places: Iterable[RawKey], records: _Records, pending: dict[Table, set[Any]]) -> None:
    """Add the keys that are not loaded yet to those to be fetched with their tables."""
    for place in places:
        if place not in records:
            table, identifier = place
            pending.setdefault(table, set()).add(identifier)


def _consent_key(token_digest: bytes, client_id: str, records: _Records) -> RawKey | None:
    """Return the key of the consent between this access token's user and a client; None without a user."""
    session = records.get((Table.ACCESS_TOKEN, token_digest))
    if not isinstance(session, Session) or session.user_id is None:
        return None
    return (Table.CONSENT, (session.user_id, client_id))
