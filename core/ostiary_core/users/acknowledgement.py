"""Warnings of the overview that an administrator acknowledges.

Rules, all in this file:

- Whoever may see the overview may acknowledge a warning of it.
- A warning has an identifier without numbers: its kind, and after a space what it is about.
- No record changes: the audit trail alone has who acknowledged what, and when.
"""

import re
from typing import Final

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision, refuse_fields
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Done
from ostiary_core.oauth.callers import Actor, actor_id_of, require_permission

WARNING_KINDS: Final = ("secrets", "late", "sweep", "uncounted", "backup", "finding")
"""Kinds of warnings, with which their identifiers begin."""

LONGEST_WARNING: Final = 200
"""Characters of an identifier at most."""

WARNING_PATTERN: Final = rf"(?:{'|'.join(WARNING_KINDS)})(?: [!-~]+)*"
"""Regular expression of an identifier."""

_IDENTIFIER: Final = re.compile(WARNING_PATTERN, re.ASCII)


def is_warning(text: str) -> bool:
    """Whether `text` may be the identifier of a warning.

    >>> is_warning("backup"), is_warning("secrets shop"), is_warning("backup "), is_warning("weather")
    (True, True, False, False)
    """
    return len(text) <= LONGEST_WARNING and _IDENTIFIER.fullmatch(text) is not None


@require_permission(Permission.ONLINE_LIST)
def acknowledge(event: events.WarningAcknowledged, who: Actor, snapshot: Snapshot) -> Decision:
    """Record in the trail that an administrator has seen a warning."""
    if not is_warning(event.warning):
        return refuse_fields((FieldFault("warning", FieldRule.CHOICE, WARNING_KINDS),))
    change = FieldChange("warning", None, event.warning)
    fact = Fact(FactKind.WARNING_ACKNOWLEDGED, actor_id_of(who), changes=(change,))
    return Decision(Done(), (), (fact,))
