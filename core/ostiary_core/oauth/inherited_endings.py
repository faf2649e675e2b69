"""Sessions and codes that ended with their user, client or consent, without a write to themselves.

A user, a client and a consent each carry an epoch; sessions and codes remember the ones they were born
under (READINGS 9). An ending moves one epoch on and so costs the same for one session or a million. The
epochs alone decide: disabling and deleting move them too.
"""

from typing import Any, TypeVar

from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import (
    AuthorizationCode,
    Client,
    Consent,
    Epochs,
    Session,
    SessionKind,
    User,
    revise,
)
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.why import Why


def epochs_now(user: User | None, client: Client, consent: Consent | None) -> Epochs:
    """Return the present epochs of user, client and consent, for a session or code made now."""
    return Epochs(
        user=0 if user is None else user.epoch,
        client=client.epoch,
        consent=0 if consent is None else consent.epoch,
    )


def login_epochs_now(user: User, snapshot: Snapshot) -> Epochs:
    """Return the present epochs of a user's login session, which a code by text message has too."""
    client = snapshot.client(CONSOLE_CLIENT)
    return Epochs(user=user.epoch, client=0 if client is None else client.epoch, consent=0)


def inherited_ending(born: Session | AuthorizationCode, snapshot: Snapshot) -> Why | UnknownWord | None:
    """Return why its user, client or consent ended a session or code; None while none did."""
    client = snapshot.client(born.client_id)
    if client is None:
        return Why.CLIENT_DELETED
    if born.epochs.client != client.epoch:
        return client.epoch_why or Why.CLIENT_DISABLED
    if born.user_id is None:
        return None
    user = snapshot.user(born.user_id)
    if user is None:
        return Why.USER_DELETED
    if born.epochs.user != user.epoch:
        return user.epoch_why or Why.USER_FORCED_OUT
    if isinstance(born, Session) and born.kind is SessionKind.LOGIN:
        return None
    consent = snapshot.consent(born.user_id, born.client_id)
    if born.epochs.consent != (0 if consent is None else consent.epoch):
        return Why.CONSENT_WITHDRAWN
    return None


R = TypeVar("R", User, Client)


def with_next_epoch(record: R, why: Why, now: Instant, **changes: Any) -> R:
    """Return `record` with `changes`, under a new epoch: all its sessions and unredeemed codes end."""
    if isinstance(record, User):
        # An ending of everything resets the count of wrong current passwords (READINGS 24).
        changes = {"wrong_passwords_at": (), **changes}
    return revise(record, epoch=record.epoch + 1, epoch_why=why, epoch_at=now, updated_at=now, **changes)
