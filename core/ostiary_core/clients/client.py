"""What administrators do with clients: register, change, enable, disable, delete.

Rules, all in this file ("Client", READINGS 9, 33, 37):

- `console` and `mobile` are the backend's own and protected.
- A client identifier is never given out twice, not even after its client was deleted.
- Disabling and deleting end every session and code of the client, and the old secret that a reset keeps
  working; enabling brings none back.
- Forcing out ends every session and code of a client, which stays as it is and keeps both secrets. Of all
  clients at once, the backend's own included, a super administrator does it: then no user is signed in, the
  super administrator neither.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from ostiary_core import events
from ostiary_core.events.event import ClientEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.client import CLIENT, Client, GrantType
from ostiary_core.model.decision import Decision, Insert, Update, refuse, refuse_fields, refuse_taken
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import BUILT_IN_CLIENTS
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import revise
from ostiary_core.model.reply import ClientKnown, Done, Reply, SecretIssued
from ostiary_core.model.secret import draw_client_secret
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import (
    Actor,
    acting_of,
    actor_id_of,
    check_permission,
    check_super_administrator,
    require_permission,
    require_record,
    tell_acting,
)
from ostiary_core.oauth.inherited_endings import with_next_epoch


def make_built_in_client(client_id: str, now: Instant) -> Client:
    """Make one of the backend's own clients, without a secret to authenticate with."""
    return replace(
        CLIENT.blank,
        client_id=client_id,
        name=client_id,
        grant_types=(GrantType.REFRESH_TOKEN,),
        built_in=True,
        created_at=now,
        updated_at=now,
    )


_SEEING: Final = (Permission.CLIENT_LIST, Permission.CLIENT_UPDATE, Permission.CLIENT_DELETE)
"""Permissions that suffice to see a client: one who may change or delete it sees it."""

NO_OLD_SECRET: Final[Mapping[str, Any]] = MappingProxyType(
    dict.fromkeys(("old_secret_digest", "old_secret_until", "old_secret_expires_on", "old_secret_used_at"))
)
"""Fields of a client whose old secret no longer works."""


def _find_client(event: ClientEvent, who: Actor, snapshot: Snapshot) -> Client | Why:
    client = snapshot.client(event.client_id)
    return Why.NOT_FOUND if client is None or client.deleted_at is not None else client


def find_changeable(event: ClientEvent, who: Actor, snapshot: Snapshot) -> Client | Why:
    """Find the client that the caller may change: one that exists and is not the backend's own."""
    is_own = event.client_id in BUILT_IN_CLIENTS
    return Why.BUILT_IN_PROTECTED if is_own else _find_client(event, who, snapshot)


@require_permission(Permission.CLIENT_CREATE)
def register(event: events.ClientRegistered, who: Actor, snapshot: Snapshot) -> Decision:
    """Register a new client; only this answer shows its secret in plain text, if one was drawn."""
    read = CLIENT.read(event.fields)
    if isinstance(read, tuple):
        return refuse_fields(read)
    if read.client_id in BUILT_IN_CLIENTS or snapshot.client(read.client_id) is not None:
        return refuse_taken("clientId")
    secret = draw_client_secret(event.entropy) if event.secret_digest is None else None
    digest = event.secret_digest if secret is None else secret.digest
    client = replace(read, secret_digest=digest, created_at=snapshot.now, updated_at=snapshot.now)
    return Decision(
        ClientKnown(client) if secret is None else SecretIssued(client, secret),
        (Insert(client),),
        (CLIENT.fact(FactKind.CLIENT_REGISTERED, None, client, actor_id_of(who)),),
    )


def import_row(event: events.ClientImported, snapshot: Snapshot) -> Decision:
    """Import one row of a sheet: register the client or, with `replace`, change the one there is."""
    client_id = event.fields.get("clientId")
    stored = snapshot.client(client_id) if isinstance(client_id, str) else None
    if event.replace and stored is not None and stored.deleted_at is None:
        edits = CLIENT.find_row_edits(stored, event.fields)
        if edits:
            changed = events.ClientChanged(caller=event.caller, client_id=stored.client_id, fields=edits)
            return change(changed, snapshot)
        # So a sheet can come back with what its bringer may not change, as long as it does not.
        who = check_permission(event.caller, snapshot, Permission.CLIENT_UPDATE)
        return refuse(who) if isinstance(who, Why) else Decision(Done())
    new = events.ClientRegistered(caller=event.caller, fields=event.fields, entropy=event.entropy)
    return register(new, snapshot)


@require_record(*_SEEING, find=_find_client)
def show(event: events.ClientRequested, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """Show one client, which may be one of the backend's own."""
    return Decision(ClientKnown(client))


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def change(event: events.ClientChanged, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """Change the fields of a client. Issued tokens keep what they were granted (READINGS 34)."""
    edited = CLIENT.edit(client, event.fields, event.shown)
    if isinstance(edited, tuple):
        return refuse_fields(edited)
    # Values that are stored already change nothing.
    if edited == client:
        return Decision(ClientKnown(client))
    return decide_update(client, revise(edited, updated_at=snapshot.now), FactKind.CLIENT_CHANGED, who)


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def enable(event: events.ClientEnabled, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """Enable a client: it may authenticate again."""
    if client.enabled:
        return Decision(ClientKnown(client))
    return decide_update(
        client, revise(client, enabled=True, updated_at=snapshot.now), FactKind.CLIENT_ENABLED, who
    )


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def disable(event: events.ClientDisabled, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """Disable a client: all its sessions end at once, and it can no longer authenticate."""
    if not client.enabled:
        return Decision(ClientKnown(client))
    why = Why.CLIENT_DISABLED
    return decide_update(client, _close(client, why, snapshot.now), FactKind.CLIENT_DISABLED, who, why)


@require_record(Permission.CLIENT_DELETE, find=find_changeable)
def delete(event: events.ClientDeleted, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """Delete a client for good: its sessions end. The record stays, so that its identifier stays taken."""
    why = Why.CLIENT_DELETED
    deleted = _close(client, why, snapshot.now, deleted_at=snapshot.now)
    return decide_update(client, deleted, FactKind.CLIENT_DELETED, who, why, Done())


@require_record(Permission.CLIENT_UPDATE, find=find_changeable)
def force_out(event: events.ClientForcedOut, who: Actor, client: Client, snapshot: Snapshot) -> Decision:
    """End all sessions and unredeemed codes of a client."""
    why = Why.CLIENT_FORCED_OUT
    return decide_update(
        client, with_next_epoch(client, why, snapshot.now), FactKind.CLIENT_SESSIONS_ENDED, who, why
    )


def force_out_everybody(event: events.EverybodyForcedOut, snapshot: Snapshot) -> Decision:
    """End all sessions and unredeemed codes of these clients; one that is gone has none."""
    who = check_super_administrator(event.caller, snapshot)
    if isinstance(who, Why):
        return refuse(who)
    found = (snapshot.client(client_id) for client_id in dict.fromkeys(event.client_ids))
    clients = [client for client in found if client is not None and client.deleted_at is None]
    why = Why.EVERYBODY_FORCED_OUT
    decision = Decision(
        Done(),
        tuple(Update(client, with_next_epoch(client, why, snapshot.now)) for client in clients),
        tuple(
            CLIENT.fact(FactKind.CLIENT_SESSIONS_ENDED, client, client, actor_id_of(who), why)
            for client in clients
        ),
    )
    return tell_acting(decision, acting_of(who))


def _close(client: Client, why: Why, now: Instant, **changes: Any) -> Client:
    """Return `client` with `changes`, disabled: its sessions, unredeemed codes and old secret are over."""
    return with_next_epoch(client, why, now, enabled=False, **NO_OLD_SECRET, **changes)


def decide_update(
    before: Client,
    after: Client,
    kind: FactKind,
    who: Actor,
    why: Why | None = None,
    reply: Reply | None = None,
) -> Decision:
    """Decide what an administrator does with a client; the reply has the client unless another is given."""
    fact = CLIENT.fact(kind, before, None if after.deleted_at else after, actor_id_of(who), why)
    return Decision(reply or ClientKnown(after), (Update(before, after),), (fact,))
