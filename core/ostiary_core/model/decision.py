"""The decision on an event: the reply, the guarded writes, and the facts for the audit trail."""

from ostiary_core.model.fact import Fact
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.immutable import immutable
from ostiary_core.model.records import Record
from ostiary_core.model.reply import Refused, Reply
from ostiary_core.model.why import Why


@immutable()
class Insert:
    """Write `record` if there is none under its key."""

    record: Record


@immutable()
class Update:
    """Write `after` in place of `before` if its stored revision is unchanged."""

    before: Record
    after: Record


@immutable()
class Delete:
    """Delete `before` if its stored revision is unchanged."""

    before: Record


Change = Insert | Update | Delete
"""One guarded write. A store makes all those of a turn or, if one guard fails, raises `LostRace`."""


@immutable()
class Decision:
    """What to answer to an event once `changes` and `facts` are kept."""

    reply: Reply
    changes: tuple[Change, ...] = ()
    facts: tuple[Fact, ...] = ()


def refuse(why: Why, *changes: Change, facts: tuple[Fact, ...] = ()) -> Decision:
    """Return a refusal as a decision, with the changes that the specification lists for it."""
    return Decision(Refused(why), changes, facts)


def refuse_fields(faults: tuple[FieldFault, ...]) -> Decision:
    """Refuse an event for its fields: others changed them meanwhile, or they break rules."""
    conflicts = any(fault.rule is Why.CHANGED_MEANWHILE for fault in faults)
    return Decision(Refused(Why.CHANGED_MEANWHILE if conflicts else Why.FIELDS_INVALID, faults))


def refuse_taken(*names: str) -> Decision:
    """Refuse an event for names in these fields that are taken."""
    faults = tuple(FieldFault(name, Why.ALREADY_TAKEN) for name in names)
    return Decision(Refused(Why.ALREADY_TAKEN, faults))
