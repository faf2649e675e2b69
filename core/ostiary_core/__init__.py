"""The rules of an OAuth 2.0 authorization server as a deterministic state machine without I/O.

    decide(event, snapshot, now) -> Decision

Events (`ostiary_core.events`) come in with the time and whatever randomness they need; decisions go out as a
reply, guarded writes and facts. `MemoryStore` is the smallest thing that runs them; `ostiary_core.http` gives
the token service its HTTP meaning, still without I/O; `ostiary_core.conformance` tells what is wrong with a
store.

What is named here and in these packages is for embedders (docs/embedding.md); every other module may move.
"""

from ostiary_core.decide import decide as decide, keys as keys, take_turn as take_turn
from ostiary_core.loading.keys import Keys as Keys
from ostiary_core.loading.snapshot import (
    Fetch as Fetch,
    NotLoaded as NotLoaded,
    Snapshot as Snapshot,
    load as load,
)
from ostiary_core.model.audit import (
    AuditEntry as AuditEntry,
    Origin as Origin,
    audit_entries as audit_entries,
)
from ostiary_core.model.changes import FieldChange as FieldChange
from ostiary_core.model.decision import (
    Change as Change,
    Decision as Decision,
    Delete as Delete,
    Insert as Insert,
    Update as Update,
)
from ostiary_core.model.fact import Acting as Acting, Fact as Fact, FactKind as FactKind
from ostiary_core.model.fields import FieldFault as FieldFault, FieldRule as FieldRule
from ostiary_core.model.instant import Arrival as Arrival, Instant as Instant, Monotonic as Monotonic
from ostiary_core.model.permissions import Permission as Permission, TokenPower as TokenPower
from ostiary_core.model.policy import (
    SPECIFICATION as SPECIFICATION,
    Policy as Policy,
    SecondFactorFor as SecondFactorFor,
    TextRecoveryFor as TextRecoveryFor,
)
from ostiary_core.model.records import (
    AuthorizationCode as AuthorizationCode,
    Client as Client,
    Consent as Consent,
    Epochs as Epochs,
    GrantType as GrantType,
    Identifier as Identifier,
    IdentifierKind as IdentifierKind,
    Invitation as Invitation,
    Key as Key,
    Record as Record,
    RefreshToken as RefreshToken,
    Role as Role,
    SecondFactor as SecondFactor,
    Session as Session,
    SessionKind as SessionKind,
    Table as Table,
    TextCode as TextCode,
    TextCodePurpose as TextCodePurpose,
    User as User,
)
from ostiary_core.model.reply import (
    AccountKnown as AccountKnown,
    AuthorizationOffered as AuthorizationOffered,
    BatchDone as BatchDone,
    BatchPreviewed as BatchPreviewed,
    BatchRefused as BatchRefused,
    ClientKnown as ClientKnown,
    CodeIssued as CodeIssued,
    ConsentRefused as ConsentRefused,
    Done as Done,
    IdentityConfirmed as IdentityConfirmed,
    InvitationIssued as InvitationIssued,
    LoginIssued as LoginIssued,
    PasswordOnFile as PasswordOnFile,
    PersonalTokenIssued as PersonalTokenIssued,
    Profile as Profile,
    RecoveryCodesDrawn as RecoveryCodesDrawn,
    Refused as Refused,
    Reply as Reply,
    RoleKnown as RoleKnown,
    ScopeOffered as ScopeOffered,
    SecondFactorAsked as SecondFactorAsked,
    SecondFactorKnown as SecondFactorKnown,
    SecondFactorOffered as SecondFactorOffered,
    SecretIssued as SecretIssued,
    TextCodeDrawn as TextCodeDrawn,
    TokenActive as TokenActive,
    TokenInactive as TokenInactive,
    TokensIssued as TokensIssued,
    UserKnown as UserKnown,
)
from ostiary_core.model.secret import Digest as Digest, Entropy as Entropy, Secret as Secret
from ostiary_core.model.sign_in_ticket import Ticket as Ticket, read_ticket as read_ticket
from ostiary_core.model.unknown_word import UnknownWord as UnknownWord
from ostiary_core.model.why import Why as Why
from ostiary_core.retention import (
    Expirable as Expirable,
    ExpiredBatch as ExpiredBatch,
    find_expired as find_expired,
)
from ostiary_core.storage.json_codec import (
    entry_from_text as entry_from_text,
    identifier_text as identifier_text,
    record_from_text as record_from_text,
    to_text as to_text,
)
from ostiary_core.storage.listing import Listing as Listing, ListingStore as ListingStore, Page as Page
from ostiary_core.storage.session_history import (
    EndingQuery as EndingQuery,
    SessionHistory as SessionHistory,
    find_inherited_ending as find_inherited_ending,
)
from ostiary_core.storage.store import (
    LostRace as LostRace,
    MemoryStore as MemoryStore,
    Store as Store,
    net_changes as net_changes,
    retry_lost_races as retry_lost_races,
)
