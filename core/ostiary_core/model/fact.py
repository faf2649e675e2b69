"""The facts of an event, for the audit trail and the metrics."""

from enum import StrEnum
from typing import Final

from ostiary_core.model.changes import FieldChange
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why


class FactKind(StrEnum):
    """The kinds of facts that go to the audit trail and the metrics."""

    CODE_ISSUED = "code-issued"
    CODE_USED = "code-used"
    CODE_VOIDED = "code-voided"
    SESSION_STARTED = "session-started"
    PAIR_ROTATED = "pair-rotated"
    PAIR_REPEATED = "pair-repeated"
    SESSION_ENDED = "session-ended"
    SALT_ERASED = "salt-erased"
    PERSONAL_TOKEN_CREATED = "personal-token-created"
    CONSENT_REMEMBERED = "consent-remembered"
    CONSENT_DENIED = "consent-denied"
    CONSENT_WITHDRAWN = "consent-withdrawn"
    SIGN_IN_FAILED = "sign-in-failed"
    SECOND_FACTOR_ASKED = "second-factor-asked"
    SECOND_FACTOR_WRONG = "second-factor-wrong"
    SECOND_FACTOR_SET = "second-factor-set"
    SECOND_FACTOR_REMOVED = "second-factor-removed"
    RECOVERY_CODE_USED = "recovery-code-used"
    RECOVERY_CODES_RENEWED = "recovery-codes-renewed"
    CURRENT_PASSWORD_WRONG = "current-password-wrong"
    IDENTITY_PROVED = "identity-proved"
    INVITATION_MADE = "invitation-made"
    PASSWORD_SET = "password-set"
    PHONE_SET = "phone-set"
    PREFERENCES_SET = "preferences-set"
    TEXT_CODE_SENT = "text-code-sent"
    TEXT_CODE_WRONG = "text-code-wrong"
    USER_SESSIONS_ENDED = "user-sessions-ended"
    USER_REGISTERED = "user-registered"
    USER_CHANGED = "user-changed"
    USER_ENABLED = "user-enabled"
    USER_DISABLED = "user-disabled"
    USER_DELETED = "user-deleted"
    USER_UNLOCKED = "user-unlocked"
    ROLE_REGISTERED = "role-registered"
    ROLE_CHANGED = "role-changed"
    ROLE_DELETED = "role-deleted"
    CLIENT_REGISTERED = "client-registered"
    CLIENT_CHANGED = "client-changed"
    CLIENT_ENABLED = "client-enabled"
    CLIENT_DISABLED = "client-disabled"
    CLIENT_DELETED = "client-deleted"
    CLIENT_SESSIONS_ENDED = "client-sessions-ended"
    CLIENT_SECRET_RESET = "client-secret-reset"
    CLIENT_SECRET_ADDED = "client-secret-added"
    CLIENT_OLD_SECRET_ENDED = "client-old-secret-ended"
    WARNING_ACKNOWLEDGED = "warning-acknowledged"
    ADMINISTRATOR_REFUSED = "administrator-refused"
    REFUSED = "refused"


USER_ENDINGS: Final = (FactKind.USER_SESSIONS_ENDED,)
CLIENT_ENDINGS: Final = (FactKind.CLIENT_DISABLED, FactKind.CLIENT_DELETED, FactKind.CLIENT_SESSIONS_ENDED)
CONSENT_ENDINGS: Final = (FactKind.CONSENT_WITHDRAWN,)
"""Kinds of facts that end all sessions of a user, a client and a consent."""


@immutable()
class Acting:
    """What acted: a login session, a personal access token or the command line, and whose it was."""

    session_id: str | None = None
    """Login session or personal access token."""
    name: str | None = None
    """User name at that time; on the command line, the user of the operating system."""
    token: str | None = None
    """Name of the personal access token."""
    fingerprint: str | None = None
    """Fingerprint of the personal access token (`fingerprint_of`)."""


NOBODY: Final = Acting()
"""What acted when nobody was signed in: a client, or a user before signing in."""


@immutable()
class Fact:
    """One thing that happened, for the audit trail; never holds a secret."""

    kind: FactKind
    actor_id: str | None = None
    """User who did it, if that is not `user_id`; `COMMAND_LINE` for the operator."""
    user_id: str | None = None
    client_id: str | None = None
    session_id: str | None = None
    why: Why | None = None
    user_agent: str | None = None
    earlier_at: Instant | None = None
    """First use of the token, for a retry or a replay."""
    earlier_user_agent: str | None = None
    role_id: str | None = None
    scopes: tuple[str, ...] = ()
    changes: tuple[FieldChange, ...] = ()
    """Changed fields of the record."""
    acting: Acting = NOBODY
    """What acted (READINGS 59)."""
