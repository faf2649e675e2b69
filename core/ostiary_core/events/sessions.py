"""Events of running sessions and expired records: what administrators and the sweeper do with them."""

from dataclasses import field

from ostiary_core.events.callers import Caller
from ostiary_core.model.making import immutable
from ostiary_core.model.records import Key


@immutable(kw_only=True)
class SessionForcedOut:
    """An administrator ends one session from the online-users monitor."""

    caller: Caller
    session_id: str


@immutable(kw_only=True)
class GraceLapsed:
    """The sweeper found a session whose salt may have outlived its use (READINGS 1)."""

    session_id: str


@immutable(kw_only=True)
class RecordLapsed:
    """The sweeper found a record that may have outlived its use (`ostiary_core.retention`)."""

    key: Key = field(repr=False)
