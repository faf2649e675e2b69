"""Two people edit one record: a change undoes nothing that others changed since its author saw the record.

A form sends every field it has, also those that nobody touched. So a change may say what its maker was shown:
a field that is sent as it was shown is left as it stands, and one that others changed too is refused, for
whoever asked to look at again.
"""

from collections.abc import Callable, Mapping

from ostiary_core.events import Caller
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, refused
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Done
from ostiary_core.model.why import Why
from ostiary_core.oauth.authentication import check_permission

Fields = Mapping[str, object]


def merge_edits(
    fields: Fields, shown: Fields | None, read: Callable[[Fields], object]
) -> Fields | tuple[FieldFault, ...]:
    """Return the fields to change; where others changed the same ones meanwhile, the conflicts instead.

    `shown` is what the caller saw of them, None where nothing is said of it: then all are asked for. `read`
    says what the record would be with some fields replaced, by which a value that is shown is compared with
    what stands: however it is spelled, and whether or not it still may be.
    """
    if shown is None:
        return fields
    asked = {name: value for name, value in fields.items() if name not in shown or shown[name] != value}
    stored = read({})
    faults = tuple(
        FieldFault(name, Why.CHANGED_MEANWHILE)
        for name, value in asked.items()
        if name in shown and stored not in (read({name: shown[name]}), read({name: value}))
    )
    return faults or asked


def pass_over_row(
    caller: Caller, permission: Permission, says_what_stands: bool, snapshot: Snapshot, now: Instant
) -> Decision | None:
    """Accept a sheet row that changes nothing of the record it names; return None for any other row.

    So a sheet can come back with what its bringer may not change: what is built in, and who is out of reach.
    """
    who = check_permission(caller, permission, snapshot, now)
    if isinstance(who, Why):
        return refused(who)
    return Decision(Done()) if says_what_stands else None
