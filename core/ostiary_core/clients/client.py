"""What administrators do with clients: register, change, enable, disable, delete.

Rules, all in this file ("Client", READINGS 9, 33, 37):

- `console` and `mobile` are the backend's own and protected.
- A client identifier is never given out twice, not even after its client was deleted.
- Disabling and deleting end every session and code of the client; enabling brings none back.
"""

from dataclasses import replace

from ostiary_core import events as e
from ostiary_core.clients.client_fields import NEW_CLIENT, read_client_fields
from ostiary_core.loading.keys import BUILT_IN_CLIENTS
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Insert, Update, refused
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, merge_edits
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, GrantType, revised
from ostiary_core.model.reply import ClientKnown, Done, Refused, SecretIssued
from ostiary_core.model.secret import draw_client_secret
from ostiary_core.model.why import Why
from ostiary_core.oauth.authentication import Person, actor_id_of, check_permission
from ostiary_core.oauth.inherited_endings import end_all_of_client


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


def register(event: e.ClientRegistered, snapshot: Snapshot, now: Instant) -> Decision:
    """Register a new client; only this answer shows its secret in plain text."""
    who = check_permission(event.caller, Permission.CLIENT_CREATE, snapshot, now)
    if isinstance(who, Why):
        return refused(who)
    read = read_client_fields(event.fields)
    if isinstance(read, tuple):
        return Decision(Refused(Why.FIELDS_INVALID, read))
    if read.client_id in BUILT_IN_CLIENTS or snapshot.client(read.client_id) is not None:
        return Decision(Refused(Why.ALREADY_TAKEN, (FieldFault("clientId", Why.ALREADY_TAKEN),)))
    secret = draw_client_secret(event.entropy)
    client = replace(read, secret_digest=secret.digest, created_at=now, updated_at=now)
    return Decision(
        SecretIssued(client, secret), (Insert(client),), (fact_of(FactKind.CLIENT_REGISTERED, client, who),)
    )


def import_row(event: e.ClientImported, snapshot: Snapshot, now: Instant) -> Decision:
    """Import one row of a sheet: register the client or, with `replace`, change the one there is."""
    client_id = event.fields.get("clientId")
    stored = snapshot.client(client_id) if isinstance(client_id, str) else None
    if event.replace and stored is not None and stored.deleted_at is None:
        changed = e.ClientChanged(caller=event.caller, client_id=stored.client_id, fields=event.fields)
        is_same = read_client_fields(event.fields, stored) == read_client_fields({}, stored)
        who = check_permission(event.caller, Permission.CLIENT_UPDATE, snapshot, now)
        if isinstance(who, Why):
            return refused(who)
        # So a sheet can come back with what its bringer may not change, as long as it does not.
        return Decision(Done()) if is_same else change(changed, snapshot, now)
    new = e.ClientRegistered(caller=event.caller, fields=event.fields, entropy=event.entropy)
    return register(new, snapshot, now)


def show(event: e.ClientRequested, snapshot: Snapshot, now: Instant) -> Decision:
    """Show one client, which may be one of the backend's own."""
    who = check_permission(event.caller, Permission.CLIENT_LIST, snapshot, now)
    if isinstance(who, Why):
        return refused(who)
    client = snapshot.client(event.client_id)
    if client is None or client.deleted_at is not None:
        return refused(Why.NOT_FOUND)
    return Decision(ClientKnown(client))


def change(event: e.ClientChanged, snapshot: Snapshot, now: Instant) -> Decision:
    """Change the fields of a client. Issued tokens keep what they were granted (READINGS 34); values that are
    stored already change nothing."""
    found = find_changeable(event.caller, Permission.CLIENT_UPDATE, event.client_id, snapshot, now)
    if isinstance(found, Why):
        return refused(found)
    who, client = found
    asked = merge_edits(event.fields, event.shown, lambda given: read_client_fields(given, client))
    if isinstance(asked, tuple):
        return Decision(Refused(Why.CHANGED_MEANWHILE, asked))
    read = read_client_fields(asked, client)
    if isinstance(read, tuple):
        return Decision(Refused(Why.FIELDS_INVALID, read))
    if read == client:
        return Decision(ClientKnown(client))
    changed = revised(read, updated_at=now)
    return Decision(
        ClientKnown(changed), (Update(client, changed),), (fact_of(FactKind.CLIENT_CHANGED, client, who),)
    )


def enable(event: e.ClientEnabled, snapshot: Snapshot, now: Instant) -> Decision:
    """Enable a client: it may authenticate again."""
    found = find_changeable(event.caller, Permission.CLIENT_UPDATE, event.client_id, snapshot, now)
    if isinstance(found, Why):
        return refused(found)
    who, client = found
    if client.enabled:
        return Decision(ClientKnown(client))
    enabled = revised(client, enabled=True, updated_at=now)
    return Decision(
        ClientKnown(enabled), (Update(client, enabled),), (fact_of(FactKind.CLIENT_ENABLED, client, who),)
    )


def disable(event: e.ClientDisabled, snapshot: Snapshot, now: Instant) -> Decision:
    """Disable a client: all its sessions end at once, and it can no longer authenticate."""
    found = find_changeable(event.caller, Permission.CLIENT_UPDATE, event.client_id, snapshot, now)
    if isinstance(found, Why):
        return refused(found)
    who, client = found
    if not client.enabled:
        return Decision(ClientKnown(client))
    disabled = end_all_of_client(client, Why.CLIENT_DISABLED, now, enabled=False)
    return Decision(
        ClientKnown(disabled),
        (Update(client, disabled),),
        (fact_of(FactKind.CLIENT_DISABLED, client, who, Why.CLIENT_DISABLED),),
    )


def delete(event: e.ClientDeleted, snapshot: Snapshot, now: Instant) -> Decision:
    """Delete a client for good: its sessions end. The record stays, so that its identifier stays taken."""
    found = find_changeable(event.caller, Permission.CLIENT_DELETE, event.client_id, snapshot, now)
    if isinstance(found, Why):
        return refused(found)
    who, client = found
    deleted = end_all_of_client(client, Why.CLIENT_DELETED, now, enabled=False, deleted_at=now)
    return Decision(
        Done(),
        (Update(client, deleted),),
        (fact_of(FactKind.CLIENT_DELETED, client, who, Why.CLIENT_DELETED),),
    )


def find_changeable(
    caller: e.Caller, permission: Permission, client_id: str, snapshot: Snapshot, now: Instant
) -> tuple[Person | e.Operator, Client] | Why:
    """Find the client that the caller may change: one that exists and is not the backend's own."""
    who = check_permission(caller, permission, snapshot, now)
    if isinstance(who, Why):
        return who
    if client_id in BUILT_IN_CLIENTS:
        return Why.BUILT_IN_PROTECTED
    client = snapshot.client(client_id)
    if client is None or client.deleted_at is not None:
        return Why.NOT_FOUND
    return who, client


def fact_of(kind: FactKind, client: Client, who: Person | e.Operator, why: Why | None = None) -> Fact:
    """Make the fact of what an administrator did with a client, for the audit trail."""
    return Fact(kind=kind, client_id=client.client_id, actor_id=actor_id_of(who), why=why)
