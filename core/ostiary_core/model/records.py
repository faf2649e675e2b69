"""The eleven kinds of stored records, each with its key and the revision that guards its next write.

Records are values: the rules make the next revision (`revise`) and put both into a guarded `Update`. States
that time brings are not stored but computed (`code.state_of`, `session.state_of`).

An access token has no record: a session holds the digest of its present one and is found by it. Refresh
tokens have one, as spent ones are recognised for as long as their session is kept (READINGS 3).
"""

from dataclasses import field
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, get_args

from ostiary_core.model.client import Client as Client, GrantType as GrantType
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import NOT_YET, Instant
from ostiary_core.model.key import (
    RECORD_TABLES as RECORD_TABLES,
    Key as Key,
    RawKey as RawKey,
    Table as Table,
    make_key,
)
from ostiary_core.model.role import Role as Role
from ostiary_core.model.secret import Digest
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.user import User as User
from ostiary_core.model.why import Why


class SessionKind(StrEnum):
    """The grant that started a session. Tokens of one kind are never accepted for another (READINGS 12)."""

    LOGIN = "login"
    AUTHORIZATION_CODE = "authorization_code"
    CLIENT_CREDENTIALS = "client_credentials"
    PERSONAL_TOKEN = "personal_token"
    """A personal access token: of a user, without a refresh token, for the administration alone."""


def is_of_client(kind: SessionKind | UnknownWord) -> bool:
    """Whether a client holds the tokens of such sessions, with which nobody administers.

    Of a kind that only a later release knows this cannot be said.
    """
    return kind in (SessionKind.AUTHORIZATION_CODE, SessionKind.CLIENT_CREDENTIALS)


class IdentifierKind(StrEnum):
    """The kinds of names that find a user at sign-in and recovery."""

    USERNAME = "username"
    PHONE = "phone"


class TextCodePurpose(StrEnum):
    """The purposes of a code sent by text message."""

    CHANGE_PHONE = "change-phone"
    RESET_PASSWORD = "reset-password"


class Epochs(NamedTuple):
    """The epochs of user, client and consent that a session or code was made under (READINGS 9).

    An ending of a user, client or consent increments its epoch, and every record made under an older one is
    dead: one write for one session or a million, and nothing revives.
    """

    user: int
    client: int
    consent: int


@immutable(kw_only=True)
class Identifier:
    """A reserved user name or telephone number and its owner: the record that makes names unique.

    Always at revision 1, also if it passes to another user in one turn: an account that gives a name up
    does not load it. The revision of that account, written in the same turn, guards it.
    """

    table: ClassVar[Table] = Table.IDENTIFIER

    kind: IdentifierKind | UnknownWord
    value: str
    user_id: str
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, (self.kind.value, self.value)))

    @property
    def references(self) -> tuple[RawKey, ...]:
        return ((User.table, self.user_id),)


@immutable(kw_only=True)
class AuthorizationCode:
    """An authorization code: its bindings ("Authorization code"), and how it was used or voided."""

    table: ClassVar[Table] = Table.CODE

    digest: Digest = field(repr=False)
    client_id: str
    user_id: str
    redirect_uri: str
    code_challenge: str = field(repr=False)
    scopes: tuple[str, ...]
    issued_at: Instant
    epochs: Epochs
    session_id: str | None = None
    """Session that the only redemption started."""
    used_or_voided_at: Instant | None = None
    """When it was used or voided."""
    voided_why: Why | UnknownWord | None = None
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.digest))

    @property
    def references(self) -> tuple[RawKey, ...]:
        return (
            *(() if self.session_id is None else ((Session.table, self.session_id),)),
            (Consent.table, (self.user_id, self.client_id)),
            (User.table, self.user_id),
            (Client.table, self.client_id),
        )


@immutable()
class Session:
    """One authorization and the pair of tokens it holds now ("Session (grant)")."""

    table: ClassVar[Table] = Table.SESSION

    session_id: str
    kind: SessionKind | UnknownWord
    client_id: str
    user_id: str | None
    scopes: tuple[str, ...]
    """Scopes of the grant, or permissions of a personal access token; they never change (READINGS 34)."""
    epochs: Epochs
    started_at: Instant
    expires_at: Instant
    """Maximum: from this instant no token of the session is good."""
    access_digest: Digest = field(repr=False)
    """Digest of the one access token; unique among sessions."""
    access_scopes: tuple[str, ...]
    access_expires_at: Instant
    user_agent: str | None = None
    source: str = ""
    """Address that the session was started from."""
    generation: int = 0
    """Number of rotations; a token has the generation it was made in."""
    salt: bytes | None = field(default=None, repr=False)
    """Salt that the present pair was derived with, while a safe retry may ask for the pair again."""
    rotated_at: Instant | None = None
    """Last rotation; of a personal access token, its last use."""
    rotated_user_agent: str | None = None
    ended_at: Instant | None = None
    ended_why: Why | UnknownWord | None = None
    label: str | None = None
    """Name that the holder gave a personal access token."""
    proved_at: Instant | None = None
    """When the user of a login session last proved who they are; None for the sign-in (READINGS 57)."""
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.session_id))

    @property
    def references(self) -> tuple[RawKey, ...]:
        client = (Client.table, self.client_id)
        if self.user_id is None:
            return (client,)
        user = (User.table, self.user_id)
        if self.kind is SessionKind.LOGIN:
            return user, client
        return (Consent.table, (self.user_id, self.client_id)), user, client


@immutable()
class RefreshToken:
    """The digest of a refresh token, spent or not, and its session; never changes."""

    table: ClassVar[Table] = Table.REFRESH_TOKEN

    digest: Digest = field(repr=False)
    session_id: str
    generation: int
    """Generation of its pair; the token is spent once the session is past it."""
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.digest))

    @property
    def references(self) -> tuple[RawKey, ...]:
        return ((Session.table, self.session_id),)


@immutable(kw_only=True)
class Consent:
    """What a user lets a client do: the remembered scopes, and the epoch of its sessions (READINGS 26).

    One exists for every user and client that a code was ever issued for.
    """

    table: ClassVar[Table] = Table.CONSENT
    references: ClassVar[tuple[RawKey, ...]] = ()

    user_id: str
    client_id: str
    scopes: tuple[str, ...]
    """Remembered scopes; none if the user did not need to be asked."""
    granted_at: Instant
    withdrawn_at: Instant | None = None
    """Instant of the withdrawal; None once a code was issued since."""
    epoch: int = 0
    """Epoch; a withdrawal increments it, which ends the client's sessions of this user."""
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, (self.user_id, self.client_id)))


@immutable(kw_only=True)
class TextCode:
    """The one outstanding code sent to a telephone number for one purpose (READINGS 28)."""

    table: ClassVar[Table] = Table.TEXT_CODE
    references: ClassVar[tuple[RawKey, ...]] = ()

    purpose: TextCodePurpose | UnknownWord
    phone: str
    digest: Digest = field(repr=False)
    user_id: str
    """Account that the code opens, or whose new number it proves; empty in rows of before this was kept."""
    epochs: Epochs
    """Epochs of that account and of the console client when the code was drawn (READINGS 48)."""
    issued_at: Instant
    wrong_tries: int = 0
    sent_count: int = 1
    """How many codes this number was sent since `counting_since`."""
    counting_since: Instant
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, (self.purpose.value, self.phone)))


@immutable(kw_only=True)
class SecondFactor:
    """A user's second factor, or the one that they are setting up (RFC 6238).

    Its secret is derived from the server's key and the salt. Only events about second factors load it; the
    user's record says whether there is one.
    """

    table: ClassVar[Table] = Table.SECOND_FACTOR
    references: ClassVar[tuple[RawKey, ...]] = ()

    user_id: str
    salt: bytes = field(repr=False)
    key_id: str
    """Name of the server's key that the secret is derived from."""
    recovery_digests: tuple[str, ...] = field(repr=False)
    """Digests of the recovery codes that were not used yet."""
    confirmed_at: Instant | None = None
    """When a first code proved that the user has the secret; None until then."""
    used_step: int = 0
    """Latest time step whose code was entered; codes of it and of earlier ones are used up."""
    ticket_used_at: Instant = NOT_YET
    """When the ticket of the latest sign-in was made; it and earlier ones are used up."""
    wrong_codes_at: tuple[Instant, ...] = ()
    """Instants of wrong codes inside the window, since the last right one."""
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.user_id))


@immutable(kw_only=True)
class Invitation:
    """The one invitation of a user, by which they set a password (READINGS 60)."""

    table: ClassVar[Table] = Table.INVITATION
    references: ClassVar[tuple[RawKey, ...]] = ()

    user_id: str
    digest: Digest = field(repr=False)
    epochs: Epochs
    """Epochs of that account and of the console client when it was made (READINGS 48)."""
    issued_at: Instant
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.user_id))


Record = (
    Client
    | User
    | Role
    | Identifier
    | AuthorizationCode
    | Session
    | RefreshToken
    | Consent
    | TextCode
    | SecondFactor
    | Invitation
)
"""A stored record, with a `table`, a `key` and a `revision`, which begins at 1.

Its `references` are the keys of the records to load with it, all of later tables."""

R = TypeVar("R", bound=Record)

_VALUES_OF: Final = MappingProxyType({kind: attrgetter(*kind.__slots__) for kind in get_args(Record)})
"""Readers of all fields of a record, in their order."""

STORED_NAMES: Final = MappingProxyType(
    {"used_or_voided_at": "settled_at", "sent_count": "drawn", "counting_since": "counted_from"}
)
"""Older names, under which stores keep these fields."""


def revise(record: R, **changes: Any) -> R:
    """Return the next revision of `record`, with `changes` made; faster than `dataclasses.replace`."""
    if "revision" in changes:
        raise TypeError("the next revision follows from the present one")
    kind: Any = type(record)
    values = dict(zip(kind.__slots__, _VALUES_OF[kind](record), strict=True))
    values.update(changes, revision=record.revision + 1)
    revision: R = kind(**values)
    return revision
