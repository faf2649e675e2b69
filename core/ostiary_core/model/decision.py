"""The outcome of an event: the reply, the guarded writes, and the facts for the audit trail."""

from ostiary_core.model.fact import Fact
from ostiary_core.model.immutable import immutable
from ostiary_core.model.records import Record
from ostiary_core.model.reply import Refused, Reply
from ostiary_core.model.why import Why


@immutable()
class Insert:
    """Write a new record, if there is none under its key."""

    record: Record


@immutable()
class Update:
    """Write `after` in place of `before`, if the stored record still has the revision of `before`."""

    before: Record
    after: Record


@immutable()
class Delete:
    """No record any more where `before` stood, if its revision still does."""

    before: Record


Change = Insert | Update | Delete
"""One guarded write of one record. A store makes all those of a turn or, raising `LostRace` where one of them
does not find what it should, none."""


@immutable()
class Decision:
    """The whole outcome of one event: what to answer, to write, and to put into the audit trail.

    Answer only when the changes are kept.
    """

    reply: Reply
    changes: tuple[Change, ...] = ()
    facts: tuple[Fact, ...] = ()


def refused(why: Why, *changes: Change, facts: tuple[Fact, ...] = ()) -> Decision:
    """Return a refusal as a decision; `changes` are those the specification lists for it."""
    return Decision(Refused(why), changes, facts)
