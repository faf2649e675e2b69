"""The history of one session: its record and its audit entries, to say why it ended.

Most endings are in the session's record. An ending of its user, client or consent leaves the session
untouched (`inherited_endings`), so its audit entry has to be found: each such ending incremented one epoch
and left one entry. Counted from the newest, it is entry `epoch_now - epoch_of_session`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import CLIENT_ENDINGS, CONSENT_ENDINGS, USER_ENDINGS, FactKind
from ostiary_core.model.instant import MINUTE_MS, Instant
from ostiary_core.model.records import Session, SessionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHistory:
    """One session with its user, client, consent and audit entries."""

    session: Session
    snapshot: Snapshot
    """Snapshot of the session, its user, client and consent, for `state_of` and `inherited_ending`."""
    entries: tuple[AuditEntry, ...]
    """Entries of the session, the oldest first."""
    inherited_ending: AuditEntry | None
    """Entry of the ending of a user, client or consent that ended the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingQuery:
    """A query for one audit entry: the one followed by `newer` entries of the same kinds."""

    kinds: tuple[FactKind, ...]
    user_id: str | None = None
    client_id: str | None = None
    """Client of the entry; None, as for the user, for any."""
    newer: int
    since: Instant
    """Earliest instant of the entry."""


def find_inherited_ending(
    session: Session, snapshot: Snapshot, find: Callable[[EndingQuery], AuditEntry | None]
) -> AuditEntry | None:
    """Find the first ending of the session's user, client or consent while it ran, by `find`."""
    if session.ended_at is not None:
        return None
    found = (find(sought) for sought in _endings(session, snapshot))
    in_time = [entry for entry in found if entry is not None and entry.at < session.expires_at]
    return min(in_time, key=lambda entry: (entry.at, entry.number), default=None)


def _endings(session: Session, snapshot: Snapshot) -> Iterable[EndingQuery]:
    # Clocks of several processes differ a little, so an ending may seem older than what it ended.
    since = Instant(session.started_at - MINUTE_MS)
    client = snapshot.client(session.client_id)
    if client is not None and client.epoch > session.epochs.client:
        yield EndingQuery(
            kinds=CLIENT_ENDINGS,
            client_id=session.client_id,
            newer=client.epoch - session.epochs.client - 1,
            since=since,
        )
    if session.user_id is None:
        return
    user = snapshot.user(session.user_id)
    if user is not None and user.epoch > session.epochs.user:
        yield EndingQuery(
            kinds=USER_ENDINGS,
            user_id=session.user_id,
            newer=user.epoch - session.epochs.user - 1,
            since=since,
        )
    if session.kind is SessionKind.LOGIN:
        return
    consent = snapshot.consent(session.user_id, session.client_id)
    if consent is not None and consent.epoch > session.epochs.consent:
        yield EndingQuery(
            kinds=CONSENT_ENDINGS,
            user_id=session.user_id,
            client_id=session.client_id,
            newer=consent.epoch - session.epochs.consent - 1,
            since=since,
        )
