"""What administrators do with clients: register, change, enable, disable, delete.

Rules, all in this file ("Client", READINGS 9, 33, 37):

- `console` and `mobile` are the backend's own and protected.
- A client identifier is never given out twice, not even after its client was deleted.
- Disabling and deleting end every session and code of the client, and the old secret that a reset keeps
  working; enabling brings none back.
- Forcing out ends every session and code of a client, which stays as it is and keeps both secrets. Of all
  clients at once, the backend's own included, a super administrator does it: then nobody is signed in, who
  asked for it neither.
"""

from dataclasses import replace
from typing import Any, Final

from ostiary_core import events as e
from ostiary_core.clients.client_fields import CLIENT_FIELDS, NEW_CLIENT, read_client_fields
from ostiary_core.events.event import ClientEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.changes import FieldChange, changes_between, find_row_changes, values_of
from ostiary_core.model.decision import Decision, Insert, Update, refuse
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, merge_edits
from ostiary_core.model.identifiers import BUILT_IN_CLIENTS
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, GrantType, revise
from ostiary_core.model.reply import ClientKnown, Done, Refused, SecretIssued
from ostiary_core.model.secret import draw_client_secret
from ostiary_core.model.why import Why
from ostiary_core.oauth.authentication import (
    Actor,
    actor_id_of,
    check_permission,
    check_super_administrator,
    require_permission,
)
from ostiary_core.oauth.inherited_endings import with_next_epoch


def built_in_client(client_id: str, now: Instant) -> Client:
    """Make one of the backend's own clients; nobody can authenticate as it."""
    return replace(
        NEW_CLIENT,
        client_id=client_id,
        name=client_id,
        grant_types=(GrantType.REFRESH_TOKEN,),
        built_in=True,
        created_at=now,
        updated_at=now,
    )


_SEEING: Final = (Permission.CLIENT_LIST, Permission.CLIENT_UPDATE, Permission.CLIENT_DELETE)
"""Each of these is enough to see one: who may change or delete it sees what it is."""


def _find_client(event: ClientEvent, who: Actor, snapshot: Snapshot) -> Client | Why:
    client = snapshot.client(event.client_id)
    return Why.NOT_FOUND if client is None or client.deleted_at is not None else client


def find_changeable(event: ClientEvent, who: Actor, snapshot: Snapshot) -> Client | Why:
    """Find the client that the caller may change: one that exists and is not the backend's own."""
    is_own = event.client_id in BUILT_IN_CLIENTS
    return Why.BUILT_IN_PROTECTED if is_own else _find_client(event, who, snapshot)


def register(event: e.ClientRegistered, snapshot: Snapshot, now: Instant) -> Decision:
    """Register a new client; only this answer shows its secret in plain text, where one was drawn."""
    who = check_permission(event.caller, Permission.CLIENT_CREATE, snapshot, now)
    if isinstance(who, Why):
        return refuse(who)
    read = read_client_fields(event.fields)
    if isinstance(read, tuple):
        return Decision(Refused(Why.FIELDS_INVALID, read))
    if read.client_id in BUILT_IN_CLIENTS or snapshot.client(read.client_id) is not None:
        return Decision(Refused(Why.ALREADY_TAKEN, (FieldFault("clientId", Why.ALREADY_TAKEN),)))
    secret = draw_client_secret(event.entropy) if event.secret_digest is None else None
    digest = event.secret_digest if secret is None else secret.digest
    client = replace(read, secret_digest=digest, created_at=now, updated_at=now)
    return Decision(
        ClientKnown(client) if secret is None else SecretIssued(client, secret),
        (Insert(client),),
        (fact_of(FactKind.CLIENT_REGISTERED, who, client, changes=_changes(None, client)),),
    )


def import_row(event: e.ClientImported, snapshot: Snapshot, now: Instant) -> Decision:
    """Import one row of a sheet: register the client or, with `replace`, change the one there is."""
    client_id = event.fields.get("clientId")
    stored = snapshot.client(client_id) if isinstance(client_id, str) else None
    if event.replace and stored is not None and stored.deleted_at is None:
        own = {"clientId": stored.client_id, "id": stored.client_id, "builtIn": stored.built_in}
        asked = find_row_changes(CLIENT_FIELDS, stored, event.fields, own)
        if asked and read_client_fields(asked, stored) != stored:
            changed = e.ClientChanged(caller=event.caller, client_id=stored.client_id, fields=asked)
            return change(changed, snapshot, now)
        # So a sheet can come back with what its bringer may not change, as long as it does not.
        who = check_permission(event.caller, Permission.CLIENT_UPDATE, snapshot, now)
        return refuse(who) if isinstance(who, Why) else Decision(Done())
    new = e.ClientRegistered(caller=event.caller, fields=event.fields, entropy=event.entropy)
    return register(new, snapshot, now)


@require_permission(
    Permission.CLIENT_LIST, Permission.CLIENT_UPDATE, Permission.CLIENT_DELETE, find=_find_client
)
def show(event: e.ClientRequested, who: Actor, client: Client, snapshot: Snapshot, now: Instant) -> Decision:
    """Show one client, which may be one of the backend's own."""
    return Decision(ClientKnown(client))


@require_permission(Permission.CLIENT_UPDATE, find=find_changeable)
def change(event: e.ClientChanged, who: Actor, client: Client, snapshot: Snapshot, now: Instant) -> Decision:
    """Change the fields of a client. Issued tokens keep what they were granted (READINGS 34); values that are
    stored already change nothing."""
    stored = values_of(CLIENT_FIELDS, client)
    asked = merge_edits(event.fields, event.shown, stored, lambda given: read_client_fields(given, client))
    if isinstance(asked, tuple):
        return Decision(Refused(Why.CHANGED_MEANWHILE, asked))
    read = read_client_fields(asked, client)
    if isinstance(read, tuple):
        return Decision(Refused(Why.FIELDS_INVALID, read))
    if read == client:
        return Decision(ClientKnown(client))
    changed = revise(read, updated_at=now)
    return Decision(
        ClientKnown(changed),
        (Update(client, changed),),
        (fact_of(FactKind.CLIENT_CHANGED, who, client, changes=_changes(client, changed)),),
    )


@require_permission(Permission.CLIENT_UPDATE, find=find_changeable)
def enable(event: e.ClientEnabled, who: Actor, client: Client, snapshot: Snapshot, now: Instant) -> Decision:
    """Enable a client: it may authenticate again."""
    if client.enabled:
        return Decision(ClientKnown(client))
    enabled = revise(client, enabled=True, updated_at=now)
    return Decision(
        ClientKnown(enabled),
        (Update(client, enabled),),
        (fact_of(FactKind.CLIENT_ENABLED, who, client, changes=_changes(client, enabled)),),
    )


@require_permission(Permission.CLIENT_UPDATE, find=find_changeable)
def disable(
    event: e.ClientDisabled, who: Actor, client: Client, snapshot: Snapshot, now: Instant
) -> Decision:
    """Disable a client: all its sessions end at once, and it can no longer authenticate."""
    if not client.enabled:
        return Decision(ClientKnown(client))
    why = Why.CLIENT_DISABLED
    disabled = _close(client, why, now)
    fact = fact_of(FactKind.CLIENT_DISABLED, who, client, why, _changes(client, disabled))
    return Decision(ClientKnown(disabled), (Update(client, disabled),), (fact,))


@require_permission(Permission.CLIENT_DELETE, find=find_changeable)
def delete(event: e.ClientDeleted, who: Actor, client: Client, snapshot: Snapshot, now: Instant) -> Decision:
    """Delete a client for good: its sessions end. The record stays, so that its identifier stays taken."""
    why = Why.CLIENT_DELETED
    deleted = _close(client, why, now, deleted_at=now)
    fact = fact_of(FactKind.CLIENT_DELETED, who, client, why, _changes(client, None))
    return Decision(Done(), (Update(client, deleted),), (fact,))


@require_permission(Permission.CLIENT_UPDATE, find=find_changeable)
def force_out(
    event: e.ClientForcedOut, who: Actor, client: Client, snapshot: Snapshot, now: Instant
) -> Decision:
    """End all sessions and unredeemed codes of a client."""
    ended = with_next_epoch(client, Why.CLIENT_FORCED_OUT, now)
    fact = fact_of(FactKind.CLIENT_SESSIONS_ENDED, who, client, Why.CLIENT_FORCED_OUT)
    return Decision(ClientKnown(ended), (Update(client, ended),), (fact,))


def force_out_everybody(event: e.EverybodyForcedOut, snapshot: Snapshot, now: Instant) -> Decision:
    """End all sessions and unredeemed codes of these clients; one that is gone has none."""
    who = check_super_administrator(event.caller, snapshot, now)
    if isinstance(who, Why):
        return refuse(who)
    found = (snapshot.client(client_id) for client_id in dict.fromkeys(event.client_ids))
    clients = [client for client in found if client is not None and client.deleted_at is None]
    why = Why.EVERYBODY_FORCED_OUT
    return Decision(
        Done(),
        tuple(Update(client, with_next_epoch(client, why, now)) for client in clients),
        tuple(fact_of(FactKind.CLIENT_SESSIONS_ENDED, who, client, why) for client in clients),
    )


def _close(client: Client, why: Why, now: Instant, **changes: Any) -> Client:
    """Return `client` with `changes`, disabled: its sessions, unredeemed codes and old secret are over."""
    return with_next_epoch(
        client,
        why,
        now,
        enabled=False,
        old_secret_digest=None,
        old_secret_until=None,
        old_secret_used_at=None,
        **changes,
    )


def _changes(before: Client | None, after: Client | None) -> tuple[FieldChange, ...]:
    return changes_between(CLIENT_FIELDS, before, after)


def fact_of(
    kind: FactKind,
    who: Actor,
    client: Client,
    why: Why | None = None,
    changes: tuple[FieldChange, ...] = (),
) -> Fact:
    """Make the fact of what an administrator did with a client, for the audit trail."""
    return Fact(kind=kind, client_id=client.client_id, actor_id=actor_id_of(who), why=why, changes=changes)
