"""What administrators are refused, for the audit trail.

Rules, all in this file (docs/decisions/0054-what-administrators-are-refused.md):

- A refusal by a rule of the administration is told: a permission that the caller lacks, a record that is
  protected or still needed. What a form got wrong is not, nor what was not found.
- Only callers who hold some permission are told of, so no stranger and no ordinary user fills the trail.
- The trail has one word for a permission that is missing. That a token lacked it, the acting token says.
- A record is named only if there is one: what stands in an address may be anything.
- The runtime counts refusals (`throttling.refusal_counts`) and reports them by `AdministratorRefused`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from ostiary_core import events
from ostiary_core.events.event import AccountEvent, ClientEvent, RoleEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import Done, Refused
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import acting_of, find_holder, permissions_of

TOLD: Final = frozenset(
    {
        *(Why.PERMISSION_MISSING, Why.TOKEN_PERMISSION_MISSING, Why.TOKEN_POWER_MISSING),
        Why.PROOF_REQUIRED,
        *(Why.LAST_ADMINISTRATOR, Why.OWN_ACCOUNT_ALONE),
        *(Why.BUILT_IN_PROTECTED, Why.ROLE_PROTECTED, Why.STILL_REFERENCED),
    }
)
"""Reasons of refusals that the trail has."""

Handler = Callable[[Any, Snapshot], Decision]


def tell_refusals(handler: Handler) -> Handler:
    """Return the handler with a `FactKind.REFUSED` in what it refuses administrators."""

    def decide(event: Any, snapshot: Snapshot) -> Decision:
        decision = handler(event, snapshot)
        if not isinstance(decision.reply, Refused):
            return decision
        told = refusal_facts(event, decision.reply.why, snapshot)
        return replace(decision, facts=(*decision.facts, *told))

    return decide


def refusal_facts(event: Any, why: Why, snapshot: Snapshot) -> tuple[Fact, ...]:
    """Return the fact of a refusal; none if it is not to be told, or its caller is no administrator."""
    if why not in TOLD or isinstance(event.caller, events.Operator):
        return ()
    who = find_holder(event.caller, snapshot, SessionKind.LOGIN, SessionKind.PERSONAL_TOKEN)
    if isinstance(who, Why) or not permissions_of(who.user, snapshot.of_callers):
        return ()
    subject: dict[str, Any] = {}
    if isinstance(event, AccountEvent) and snapshot.user(event.user_id) is not None:
        subject["user_id"] = event.user_id
    if isinstance(event, RoleEvent) and snapshot.role(event.role_id) is not None:
        subject["role_id"] = event.role_id
    if isinstance(event, ClientEvent) and snapshot.client(event.client_id) is not None:
        subject["client_id"] = event.client_id
    if why is Why.TOKEN_PERMISSION_MISSING:
        why = Why.PERMISSION_MISSING
    fact = Fact(FactKind.REFUSED, who.user.user_id, why=why, acting=acting_of(who), **subject)
    return (fact,)


def record(event: events.AdministratorRefused, snapshot: Snapshot) -> Decision:
    """Tell the trail of refusals that the runtime counted."""
    asked = () if event.permission is None else (FieldChange("permission", None, event.permission.value),)
    fact = Fact(
        kind=FactKind.ADMINISTRATOR_REFUSED,
        actor_id=event.actor_id,
        why=event.why,
        user_id=event.user_id,
        client_id=event.client_id,
        role_id=event.role_id,
        changes=(*asked, FieldChange("times", None, event.times)),
        acting=event.acting,
    )
    return Decision(Done(), (), (fact,))
