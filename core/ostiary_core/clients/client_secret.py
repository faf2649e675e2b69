"""The secrets of a client: the present one and, for a time after a reset, the old one.

Rules, all in this file ("Client", client secret; "Session and tokens", client secret reset; READINGS 20, 49):

- A reset draws a new secret and ends nothing. The old one stops working at once, and so does one that an
  earlier reset had let live on: at most two secrets of a client work.
- A client that moves in from another server keeps its secret, which is given by its digest in place of a
  drawn one. The administrator who gives it answers for its being as hard to guess: nothing here can tell.
- With `keepOldForSeconds` the old one works until that time is over, so that a client on many machines can
  change to the new one without a failed request. It can be ended before.
- A second reset with `keepOldForSeconds` replaces a present secret that was never used, and it is the old one
  that works on for so long: a request that is sent twice does not end the secret that is in use.
- Disabling or deleting the client ends the old secret for good (`client.disable`, `client.delete`).
- When each was last used is noted so that an administrator sees whether the old one is still needed. It is
  kept to the minute: a client that authenticates a thousand times a second must not write a thousand times.
- A present secret with a last day is `invalid_client` from the day after on, in UTC; kept as the old one, it
  works no longer than that either, whatever later resets say. A new secret has no last day until it is
  given one.
- A wrong secret is `invalid_client`, however often it comes (READINGS 38): 256 random bits are not guessed.
  How many came since the present secret was set is counted by the runtime and noted now and then, so that an
  administrator sees a backend that was left with a secret that no longer works.
"""

import hmac
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ostiary_core import events
from ostiary_core.clients.client import NO_OLD_SECRET, decide_update, find_changeable
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Update, refuse_fields
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule
from ostiary_core.model.instant import Instant, end_of_day, is_news, later
from ostiary_core.model.permissions import Permission
from ostiary_core.model.record_type import Bounds
from ostiary_core.model.records import Client, revise
from ostiary_core.model.reply import ClientKnown, Done, SecretIssued
from ostiary_core.model.secret import Digest, draw_client_secret
from ostiary_core.oauth.callers import Actor, require_record

KEEP_OLD_FOR: Final = "keepOldForSeconds"
OVERLAP_SECONDS: Final = Bounds(least=60, most=2_592_000, default=0)
"""How long an old secret may live on; 0 ends it at once."""


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def reset(event: events.ClientSecretReset, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """Give a client a new secret. The old one stops working at once or after a time; no session ends."""
    overlap_seconds = read_overlap(event.fields)
    if isinstance(overlap_seconds, tuple):
        return refuse_fields(overlap_seconds)
    secret = draw_client_secret(event.entropy)
    changed = _with_secret(client, secret.digest, snapshot.now, overlap_seconds)
    return decide_update(client, changed, _kind_of_reset(changed), who, reply=SecretIssued(changed, secret))


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def replace_secret(
    event: events.ClientSecretReplaced, who: Actor, client: Client, snapshot: Snapshot
) -> Decision:
    """Replace the secret of a client by one that was made elsewhere; the same once more changes nothing."""
    if _is_present(client, event.digest):
        return Decision(ClientKnown(client))
    overlap_seconds = read_overlap(event.fields)
    if isinstance(overlap_seconds, tuple):
        return refuse_fields(overlap_seconds)
    changed = _with_secret(client, event.digest, snapshot.now, overlap_seconds)
    return decide_update(client, changed, _kind_of_reset(changed), who)


def _kind_of_reset(changed: Client) -> FactKind:
    keeps_old = changed.old_secret_digest is not None
    return FactKind.CLIENT_SECRET_ADDED if keeps_old else FactKind.CLIENT_SECRET_RESET


def _with_secret(client: Client, digest: Digest, now: Instant, overlap_seconds: int) -> Client:
    digest_kept, used_at, last_day = client.secret_digest, client.secret_used_at, client.secret_expires_on
    if _is_waiting_for_first_use(client, now):
        digest_kept, used_at = client.old_secret_digest, client.old_secret_used_at
        last_day = client.old_secret_expires_on
    until = later(now, overlap_seconds)
    if last_day is not None:
        until = min(until, end_of_day(last_day))
    changed = revise(
        client,
        secret_digest=digest,
        secret_used_at=None,
        secret_expires_on=None,
        **NO_OLD_SECRET,
        wrong_secrets=0,
        wrong_secret_at=None,
        updated_at=now,
    )
    if until <= now:
        return changed
    return replace(
        changed,
        old_secret_digest=digest_kept,
        old_secret_until=until,
        old_secret_expires_on=last_day,
        old_secret_used_at=used_at,
    )


def _is_waiting_for_first_use(client: Client, now: Instant) -> bool:
    """Whether the old secret still works and the present one was never used."""
    until = client.old_secret_until
    return until is not None and now < until and client.secret_used_at is None


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def end_old(event: events.OldSecretEnded, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """End the old secret of a client before its time; if none works any more, nothing happens."""
    if client.old_secret_until is None or snapshot.now >= client.old_secret_until:
        return Decision(ClientKnown(client))
    changed = revise(client, **NO_OLD_SECRET, updated_at=snapshot.now)
    return decide_update(client, changed, FactKind.CLIENT_OLD_SECRET_ENDED, who)


def record_use(event: events.ClientSecretUsed, snapshot: Snapshot) -> Decision:
    """Note when a secret was last used, once a minute at most; `updated_at` stays as it is."""
    client = snapshot.client(event.client_id)
    if client is None or client.deleted_at is not None:
        return Decision(Done())
    changed = _note(client, event, Instant(min(event.used_at, snapshot.now)))
    return Decision(Done(), () if changed is None else (Update(client, changed),))


def add_wrong(event: events.WrongSecretsCounted, snapshot: Snapshot) -> Decision:
    """Add the wrong secrets that one process counted; `updated_at` stays as it is."""
    client = snapshot.client(event.client_id)
    if client is None or client.deleted_at is not None or client.secret_digest is None:
        return Decision(Done())
    came_at = min(event.last_at, snapshot.now)
    last_at = max(client.wrong_secret_at or came_at, came_at)
    changed = revise(client, wrong_secrets=client.wrong_secrets + event.times, wrong_secret_at=last_at)
    return Decision(Done(), (Update(client, changed),))


def _note(client: Client, event: events.ClientSecretUsed, used_at: Instant) -> Client | None:
    if _is_present(client, event.digest):
        return revise(client, secret_used_at=used_at) if is_news(used_at, client.secret_used_at) else None
    old = client.old_secret_digest
    if old is not None and hmac.compare_digest(old, event.digest):
        known_at = client.old_secret_used_at
        return revise(client, old_secret_used_at=used_at) if is_news(used_at, known_at) else None
    return None


def _is_present(client: Client, digest: Digest) -> bool:
    return client.secret_digest is not None and hmac.compare_digest(client.secret_digest, digest)


def read_overlap(fields: Mapping[str, object]) -> int | tuple[FieldFault, ...]:
    """Return for how many seconds an old secret is to live on, or what is wrong with the fields."""
    reader = FieldReader(fields, frozenset({KEEP_OLD_FOR}))
    bounds = OVERLAP_SECONDS
    seconds = reader.number(KEEP_OLD_FOR, bounds.default, least=0, most=bounds.most, rule=FieldRule.OVERLAP)
    if 0 < seconds < bounds.least:
        reader.fault(KEEP_OLD_FOR, FieldRule.OVERLAP)
    return reader.faults or seconds
