"""What administrators and the sweeper do with running sessions."""

from dataclasses import field

from ostiary_core.events.callers import Caller
from ostiary_core.model.making import immutable
from ostiary_core.model.records import Key


@immutable(kw_only=True)
class SessionForcedOut:
    """One session of the online-users monitor ends."""

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
