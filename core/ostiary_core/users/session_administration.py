"""What administrators and the sweeper do with running sessions: force them out, erase their salts."""

from ostiary_core.events import GraceLapsed, SessionForcedOut
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Done, refused
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import SessionKind
from ostiary_core.model.why import Why
from ostiary_core.oauth import session
from ostiary_core.oauth.authentication import actor_id_of, check_permission, is_super_administrator

__all__ = ["force_out_session", "lapse_grace"]


def force_out_session(event: SessionForcedOut, snapshot: Snapshot, now: Instant) -> Decision:
    """End one session; one of client credentials only by a super administrator ("Session (grant)")."""
    who = check_permission(event.caller, Permission.ONLINE_KILL, snapshot, now)
    if isinstance(who, Why):
        return refused(who)
    stored = snapshot.session(event.session_id)
    if stored is None or session.state_of(stored, snapshot, now) is not session.SessionState.ACTIVE:
        return refused(Why.NOT_FOUND)
    if stored.kind is SessionKind.CLIENT_CREDENTIALS and not is_super_administrator(who):
        return refused(Why.NOT_FOUND)
    changes, fact = session.end(stored, Why.SESSION_FORCED_OUT, now, actor_id=actor_id_of(who))
    return Decision(Done(), changes, (fact,))


def lapse_grace(event: GraceLapsed, snapshot: Snapshot, now: Instant, policy: Policy) -> Decision:
    """Erase the salt of one session after its grace, when the sweeper asks for it."""
    stored = snapshot.session(event.session_id)
    return Decision(Done()) if stored is None else session.erase_salt(stored, now, policy)
