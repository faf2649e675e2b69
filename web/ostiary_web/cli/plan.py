"""Plan `ostiary apply`: what is made, changed, disabled and deleted, and by which events.

Rules, all in this file:

- What a table leaves out is as in a new record, but for `enabled` and the secret, which stay: to disable a
  client or to reset its secret is a deed of the day and not a declaration.
- Lists are compared without their order, which means nothing.
- Roles come before clients, and what is deleted last. Each change brings what it saw, so that it is refused
  if somebody else has changed the same since.
- Only what is not built in is pruned. A role cannot be disabled: it stays, unless it is to be deleted, and
  then nobody may hold it. A client that is disabled already stays as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from ostiary_core import events
from ostiary_core.events.event import AdministrationEvent
from ostiary_core.model.client import CLIENT, Client
from ostiary_core.model.fields import differing_fields
from ostiary_core.model.role import ROLE, Role
from ostiary_core.model.secret import Entropy
from ostiary_web.cli.context import OPERATOR
from ostiary_web.cli.declaration import Declaration, DeclaredClient

SECRET: Final = "secret"


class Action(StrEnum):
    """Actions on a record."""

    CREATE = "create"
    CHANGE = "change"
    DISABLE = "disable"
    DELETE = "delete"


class Prune(StrEnum):
    """Actions on clients and roles that the file does not have."""

    DISABLE = "disable"
    DELETE = "delete"


class Values(NamedTuple):
    """A field before and after; both None for a secret."""

    before: object
    after: object


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """The action on one record, its changed fields and its events."""

    action: Action
    kind: str
    """`clients` or `roles`."""
    identifier: str
    fields: Mapping[str, Values]
    events: tuple[AdministrationEvent, ...]

    @property
    def path(self) -> str:
        """Place of the record in the file."""
        return f"{self.kind}.{self.identifier}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in the order in which they are taken."""

    steps: tuple[PlanStep, ...]
    undeclared: tuple[str, ...]
    """Paths of records that the file does not have and no step is about."""

    def paths(self, action: Action) -> list[str]:
        """List the paths of the steps of one action."""
        return [step.path for step in self.steps if step.action is action]


def make_plan(
    declared: Declaration,
    stored_clients: Iterable[Client],
    stored_roles: Iterable[Role],
    *,
    prune: Prune | None,
    draw: Callable[[], Entropy],
) -> Plan:
    """Return the plan that turns the stored clients and roles into the declared ones."""
    current_clients = {each.client_id: each for each in stored_clients if each.deleted_at is None}
    current_roles = {each.role_id: each for each in stored_roles}
    steps = [_role_step(code, fields, current_roles.get(code)) for code, fields in declared.roles.items()]
    steps += [
        _client_step(client_id, client, current_clients.get(client_id), draw)
        for client_id, client in declared.clients.items()
    ]
    others = [
        *(
            _prune_client(client, prune)
            for client_id, client in current_clients.items()
            if client_id not in declared.clients and not client.built_in
        ),
        *(
            _prune_role(role, prune)
            for code, role in current_roles.items()
            if code not in declared.roles and not role.built_in
        ),
    ]
    return Plan(
        tuple(step for step in (*steps, *others) if step.events),
        tuple(step.path for step in others if not step.events),
    )


def _prune_client(client: Client, prune: Prune | None) -> PlanStep:
    action, fields = Action.DISABLE, {"enabled": Values(True, False)}
    decided: tuple[AdministrationEvent, ...] = ()
    if prune is Prune.DELETE:
        action, fields = Action.DELETE, {}
        decided = (events.ClientDeleted(caller=OPERATOR, client_id=client.client_id),)
    elif prune is Prune.DISABLE and client.enabled:
        decided = (events.ClientDisabled(caller=OPERATOR, client_id=client.client_id),)
    return PlanStep(action=action, kind="clients", identifier=client.client_id, fields=fields, events=decided)


def _prune_role(role: Role, prune: Prune | None) -> PlanStep:
    deletion = (events.RoleDeleted(caller=OPERATOR, role_id=role.role_id),) if prune is Prune.DELETE else ()
    return PlanStep(action=Action.DELETE, kind="roles", identifier=role.role_id, fields={}, events=deletion)


def _role_step(code: str, fields: Mapping[str, object], stored: Role | None) -> PlanStep:
    if stored is None:
        event = events.RoleRegistered(caller=OPERATOR, fields={**fields, "code": code})
        return PlanStep(
            action=Action.CREATE, kind="roles", identifier=code, fields=_list_new(fields), events=(event,)
        )
    changed = _compare(ROLE.values(stored), {**ROLE.defaults(), **fields})
    change = events.RoleChanged(caller=OPERATOR, role_id=code, fields=_after(changed), shown=_before(changed))
    return PlanStep(
        action=Action.CHANGE,
        kind="roles",
        identifier=code,
        fields=changed,
        events=(change,) if changed else (),
    )


def _client_step(
    client_id: str, declared: DeclaredClient, stored: Client | None, draw: Callable[[], Entropy]
) -> PlanStep:
    if stored is None:
        event = events.ClientRegistered(
            caller=OPERATOR,
            fields={**declared.fields, "clientId": client_id},
            secret_digest=declared.secret_digest,
            entropy=draw(),
        )
        made = _list_new(declared.fields)
        return PlanStep(
            action=Action.CREATE, kind="clients", identifier=client_id, fields=made, events=(event,)
        )
    current = CLIENT.values(stored)
    replaced = tuple(_replace_secret(client_id, declared, stored))
    if replaced:
        current["secretExpiresOn"] = None  # which a new secret has not yet
    stays = {"enabled": current["enabled"]}
    changed = _compare(current, {**CLIENT.defaults(), **stays, **declared.fields})
    steps = (*replaced, *_client_events(client_id, changed))
    if replaced:
        changed[SECRET] = Values(None, None)
    return PlanStep(action=Action.CHANGE, kind="clients", identifier=client_id, fields=changed, events=steps)


def _replace_secret(
    client_id: str, declared: DeclaredClient, stored: Client
) -> Iterator[events.ClientSecretReplaced]:
    if declared.secret_digest not in (None, stored.secret_digest):
        assert declared.secret_digest is not None
        yield events.ClientSecretReplaced(
            caller=OPERATOR,
            client_id=client_id,
            digest=declared.secret_digest,
            fields=declared.overlap,
        )


def _client_events(client_id: str, changed: Mapping[str, Values]) -> Iterator[AdministrationEvent]:
    switched = {name for name in changed if name == "enabled" and isinstance(changed[name].after, bool)}
    edited = {name: changed[name] for name in changed if name not in switched}
    if edited:
        yield events.ClientChanged(
            caller=OPERATOR, client_id=client_id, fields=_after(edited), shown=_before(edited)
        )
    for name in switched:
        switch = events.ClientEnabled if changed[name].after else events.ClientDisabled
        yield switch(caller=OPERATOR, client_id=client_id)


def _list_new(fields: Mapping[str, object]) -> dict[str, Values]:
    return {name: Values(None, value) for name, value in fields.items()}


def _compare(stands: Mapping[str, object], wanted: Mapping[str, object]) -> dict[str, Values]:
    names = differing_fields(stands, wanted, in_any_order=True)
    return {name: Values(stands[name], wanted[name]) for name in names}


def _before(changed: Mapping[str, Values]) -> dict[str, object]:
    """Return the fields as they were seen, without those that Python takes for equal, as true and 1."""
    return {name: values.before for name, values in changed.items() if values.before != values.after}


def _after(changed: Mapping[str, Values]) -> dict[str, object]:
    return {name: values.after for name, values in changed.items()}
