"""The rules of an OAuth 2.0 authorization server as a deterministic state machine without I/O.

    decide(event, snapshot, now) -> Decision

Events (`ostiary_core.events`) come in with the time and whatever randomness they need; decisions go out as a
reply, guarded writes and facts. `MemoryStore` is the smallest thing that runs them; `ostiary_core.http` gives
the token service its HTTP meaning, still without I/O; `ostiary_core.conformance` tells what is wrong with a
store.

What is named here and in these packages is for embedders (docs/embedding.md); every other module may move.
"""

from ostiary_core.decide import decide, keys, take_turn
from ostiary_core.loading.keys import Keys
from ostiary_core.loading.snapshot import Fetch, NotLoaded, Snapshot, load
from ostiary_core.model.audit import AuditEntry, Origin, audit_entries
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Change, Decision, Delete, Insert, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Arrival, Instant, Monotonic
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import (
    AuthorizationCode,
    Client,
    Consent,
    Epochs,
    GrantType,
    Identifier,
    IdentifierKind,
    Key,
    Record,
    RefreshToken,
    Role,
    Session,
    SessionKind,
    Table,
    TextCode,
    TextCodePurpose,
    User,
)
from ostiary_core.model.reply import (
    AccountKnown,
    AuthorizationOffered,
    BatchDone,
    BatchRefused,
    ClientKnown,
    CodeIssued,
    ConsentRefused,
    Done,
    LoginIssued,
    PasswordOnFile,
    Profile,
    Refused,
    Reply,
    RoleKnown,
    ScopeOffered,
    SecretIssued,
    TextCodeDrawn,
    TokenActive,
    TokenInactive,
    TokensIssued,
    UserKnown,
)
from ostiary_core.model.secret import Digest, Entropy, Secret
from ostiary_core.model.why import Why
from ostiary_core.retention import Expirable, ExpiredBatch, find_expired
from ostiary_core.storage.json_codec import entry_from_text, identifier_text, record_from_text, to_text
from ostiary_core.storage.listing import Listing, ListingStore, Page
from ostiary_core.storage.session_history import EndingQuery, SessionHistory, find_inherited_ending
from ostiary_core.storage.store import LostRace, MemoryStore, Store, net_changes, retry_lost_races

__all__ = [
    "SPECIFICATION",
    "AccountKnown",
    "Arrival",
    "AuditEntry",
    "AuthorizationCode",
    "AuthorizationOffered",
    "BatchDone",
    "BatchRefused",
    "Change",
    "Client",
    "ClientKnown",
    "CodeIssued",
    "Consent",
    "ConsentRefused",
    "Decision",
    "Delete",
    "Digest",
    "Done",
    "EndingQuery",
    "Entropy",
    "Epochs",
    "Expirable",
    "ExpiredBatch",
    "Fact",
    "FactKind",
    "Fetch",
    "FieldChange",
    "FieldFault",
    "FieldRule",
    "GrantType",
    "Identifier",
    "IdentifierKind",
    "Insert",
    "Instant",
    "Key",
    "Keys",
    "Listing",
    "ListingStore",
    "LoginIssued",
    "LostRace",
    "MemoryStore",
    "Monotonic",
    "NotLoaded",
    "Origin",
    "Page",
    "PasswordOnFile",
    "Policy",
    "Profile",
    "Record",
    "RefreshToken",
    "Refused",
    "Reply",
    "Role",
    "RoleKnown",
    "ScopeOffered",
    "Secret",
    "SecretIssued",
    "Session",
    "SessionHistory",
    "SessionKind",
    "Snapshot",
    "Store",
    "Table",
    "TextCode",
    "TextCodeDrawn",
    "TextCodePurpose",
    "TokenActive",
    "TokenInactive",
    "TokensIssued",
    "Update",
    "User",
    "UserKnown",
    "Why",
    "audit_entries",
    "decide",
    "entry_from_text",
    "find_expired",
    "find_inherited_ending",
    "identifier_text",
    "keys",
    "load",
    "net_changes",
    "record_from_text",
    "retry_lost_races",
    "take_turn",
    "to_text",
]
