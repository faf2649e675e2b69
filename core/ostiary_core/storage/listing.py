"""Paged lists: what can be listed, with its filters and sorts, and the port that lists it.

Each declares its fields here once: which sort, which take a range, which filter and how. Stores build their
statements from these declarations alone, and the interface checks query parameters against them.

- Equal values of a sort are ordered by the item's key, so that pages never overlap.
- A text filter finds a part of a text, ASCII letters without regard to case; texts sort by code point: rules
  that every database can follow. A telephone number is found without what people write between its digits,
  and what an entry changed by the JSON that it is kept as.
- Deleted clients and users are not listed, but for the names of users in the audit trail; nor is any session
  that is not running at the given instant.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.client import CLIENT
from ostiary_core.model.fact import FactKind
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.record_type import Kind, RecordField, RecordType, Setting
from ostiary_core.model.records import SessionKind
from ostiary_core.model.role import ROLE
from ostiary_core.model.secret import Digest
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.user import USER, User
from ostiary_core.storage.session_history import SessionHistory

T = TypeVar("T")


# --- what is listed beside records


@immutable(kw_only=True)
class OnlineSession:
    """A running session in the online-users monitor; without user for client credentials."""

    session_id: str
    kind: SessionKind | UnknownWord
    client_id: str
    user_id: str | None
    username: str | None
    name: str | None
    scopes: tuple[str, ...]
    source: str
    user_agent: str | None
    signed_in_at: Instant
    last_seen_at: Instant
    """Instant of the last rotation or of a token's last use; else of the start."""
    expires_at: Instant
    label: str | None
    """Name of a personal access token."""
    access_digest: Digest = field(repr=False)

    @property
    def last_used_at(self) -> Instant | None:
        """Instant of a token's last use; None before its first."""
        return None if self.last_seen_at == self.signed_in_at else self.last_seen_at


@immutable(kw_only=True)
class GrantedAccess:
    """A client's access for a user: a remembered consent, running sessions, or both (READINGS 26)."""

    user_id: str
    client_id: str
    client_name: str
    scopes: tuple[str, ...]
    """Scopes of the remembered consent; empty if none is remembered."""
    granted_at: Instant | None
    """Instant of the consent; None if none is remembered."""
    session_count: int
    """Number of running sessions of the client for the user."""


USES: Final = (FactKind.SESSION_STARTED, FactKind.CODE_USED, FactKind.PAIR_ROTATED, FactKind.PAIR_REPEATED)
"""Kinds of audit entries that mean that a client was used."""


# --- declarations


class Match(Enum):
    """The ways in which a filter compares."""

    EQUALS = "equals"
    """Equal to the text given, or to any of several."""
    CONTAINS = "contains"
    """Contains the text given."""
    HAS = "has"
    """Has the code given among its codes."""
    IS = "is"
    """Yes or no."""


@dataclass(frozen=True, slots=True)
class Sort:
    """One field to sort by, and its direction."""

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """Bounds for a field, both inclusive; None is no bound."""

    field: str
    start: Instant | None = None
    end: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listable(Generic[T]):
    """A declaration of items that can be listed; fields are attributes of an item."""

    name: str
    item: type[T]
    key: str
    """Field that is unique among the items."""
    sorts: tuple[str, ...]
    default_sort: Sort
    ranges: tuple[str, ...] = ()
    filters: Mapping[str, Match]
    searched: tuple[str, ...] = ()
    """Fields that a free search covers."""

    def __repr__(self) -> str:
        return f"Listable({self.name})"


def _filters(exact: tuple[str, ...], contained: tuple[str, ...] = ()) -> Mapping[str, Match]:
    return MappingProxyType(
        {**dict.fromkeys(exact, Match.EQUALS), **dict.fromkeys(contained, Match.CONTAINS)}
    )


def _match(field: RecordField[Any]) -> Match:
    """Return how a filter compares a field; an identifier that nobody chose is found whole."""
    by_kind = {Kind.BOOLEAN: Match.IS, Kind.CODES: Match.HAS}.get(field.kind)
    return by_kind or (Match.EQUALS if field.setting is Setting.NEVER else Match.CONTAINS)


def make_listable(of: RecordType[T]) -> Listable[T]:
    """Return the list of the records of a type, from the declaration of its fields."""
    sorted_fields = tuple(field for field in of.fields if field.is_sorted)
    return Listable(
        name=of.name,
        item=type(of.blank),
        key=of.identifier,
        sorts=tuple(field.attribute for field in sorted_fields),
        default_sort=Sort(of.default_sort),
        ranges=tuple(field.attribute for field in sorted_fields if field.kind is Kind.TIME),
        filters=MappingProxyType(
            {field.attribute: _match(field) for field in of.fields if field.is_filtered}
        ),
        searched=tuple(field.attribute for field in of.fields if field.is_searched),
    )


CLIENTS: Final = make_listable(CLIENT)
USERS: Final = make_listable(USER)
ROLES: Final = make_listable(ROLE)

DELETED_USERS: Final = Listable(
    name="deleted users",
    item=User,
    key="user_id",
    sorts=("username",),
    default_sort=Sort("username"),
    filters=_filters(("user_id",), contained=("username",)),
    searched=("username", "name"),
)
"""Accounts that were deleted, by what they were called: the audit trail still names them (READINGS 59)."""


def _online(name: str) -> Listable[OnlineSession]:
    times = ("signed_in_at", "last_seen_at", "expires_at")
    return Listable(
        name=name,
        item=OnlineSession,
        key="session_id",
        sorts=times,
        default_sort=Sort("signed_in_at", descending=True),
        ranges=times,
        filters=_filters(
            ("kind", "client_id", "user_id", "session_id"), contained=("username", "name", "source")
        ),
        searched=("username", "name", "session_id", "user_id", "client_id"),
    )


ONLINE_USERS: Final = _online("online users")
"""Running sessions that represent a user, for every administrator of the monitor."""

ONLINE_SESSIONS: Final = _online("online sessions")
"""All running sessions, for a super administrator ("Session (grant)")."""

AUDIT: Final = Listable(
    name="audit",
    item=AuditEntry,
    key="number",
    sorts=("at",),
    default_sort=Sort("at", descending=True),
    ranges=("at",),
    filters=_filters(
        (
            *("kind", "why", "actor_id", "actor_session_id", "client_id", "user_id"),
            *("session_id", "role_id", "trace_id"),
        ),
        contained=("source",),
    ),
    searched=(
        *("actor_id", "actor_session_id", "actor_name", "actor_token", "actor_fingerprint"),
        *("user_id", "client_id", "session_id", "role_id"),
        *("trace_id", "source", "user_agent", "changes"),
    ),
)

GRANTS: Final = Listable(
    name="grants",
    item=GrantedAccess,
    key="client_id",
    sorts=("client_id",),
    default_sort=Sort("client_id"),
    filters=_filters(("user_id", "client_id")),
)
"""Clients that one user lets do something; always filtered by `user_id`."""


# --- the question and the answer


def fold_ascii(text: str) -> str:
    """Fold the letter case of ASCII letters alone, for a filter that looks for a part of a text.

    >>> fold_ascii("ÄPFEL aus ULM")
    'Äpfel aus ulm'
    """
    return text.translate(_LOWER)


def contained_text(field: str, asked: str) -> str:
    r"""Return the text that a CONTAINS filter looks for, given what was typed.

    >>> contained_text("phone", "+86 (138) 0013-8000"), contained_text("name", "Jean-Luc")
    ('+8613800138000', 'jean-luc')
    >>> contained_text("changes", "Käse")
    'k\\u00e4se'
    """
    match field:
        case "phone":
            text = _BETWEEN_DIGITS.sub("", asked) or asked
        case "changes":
            text = json.dumps(asked)[1:-1]
        case _:
            text = asked
    return fold_ascii(text)


_BETWEEN_DIGITS: Final = re.compile("[ \u00a0()./-]")
_LOWER: Final = MappingProxyType({capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)})

FilterValue = str | bool | tuple[str, ...]
"""Value that a filter compares with, by its `Match`."""

_VALUES_OF: Final = MappingProxyType(
    {Match.EQUALS: (str, tuple), Match.CONTAINS: (str,), Match.HAS: (str,), Match.IS: (bool,)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """A request for one page. A field that `resource` does not declare raises `ValueError`."""

    resource: Listable[T]
    filters: Mapping[str, FilterValue] = field(default_factory=dict)
    ranges: tuple[TimeRange, ...] = ()
    search: str | None = None
    sort: tuple[Sort, ...] = ()
    """Fields to sort by; the default of `resource` if empty."""
    page: int = 1
    page_size: int = 20

    def __post_init__(self) -> None:
        resource = self.resource
        for name, value in self.filters.items():
            match = resource.filters.get(name)
            if match is None:
                raise ValueError(f"{resource} has no filter {name!r}; it has {', '.join(resource.filters)}")
            if not isinstance(value, _VALUES_OF[match]):
                raise ValueError(f"the filter {name!r} of {resource} compares by {match.value}: {value!r}")
        for name in (bounds.field for bounds in self.ranges):
            if name not in resource.ranges:
                raise ValueError(f"{resource} has no range {name!r}; it has {', '.join(resource.ranges)}")
        for name in (sort.field for sort in self.sort):
            if name not in resource.sorts:
                raise ValueError(f"{resource} has no sort {name!r}; it has {', '.join(resource.sorts)}")
        if self.search is not None and not resource.searched:
            raise ValueError(f"{resource} cannot be searched")
        if resource is GRANTS and "user_id" not in self.filters:
            raise ValueError(f"{resource} are those of one user: filter by 'user_id'")
        if self.page < 1 or self.page_size < 1:
            raise ValueError("pages and their sizes count from 1")

    @property
    def order(self) -> tuple[Sort, ...]:
        """Fields to sort by, followed by the key in the direction of the last of them."""
        sort = self.sort or (self.resource.default_sort,)
        if any(each.field == self.resource.key for each in sort):
            return sort
        return (*sort, Sort(self.resource.key, sort[-1].descending))

    @property
    def offset(self) -> int:
        """Number of items before the page."""
        return (self.page - 1) * self.page_size


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of items, and the number of items on all pages together."""

    items: tuple[T, ...]
    total: int


class ListingStore(Protocol):
    """The port of a store that can list its records page by page."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        """Return the items of one page; none past the last. `now` decides which sessions are running."""
        ...

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        """Return the `page_size` items after `last`, even if that has gone; the first ones for None.

        A whole list read so misses nothing when items come or go meanwhile, as numbered pages would. The page
        that `listing` names is ignored.
        """
        ...

    def count_running(self, now: Instant) -> Mapping[SessionKind, int]:
        """Return the number of running sessions of each kind; of many it may be a minute old."""
        ...

    def session_history(self, session_id: str) -> SessionHistory | None:
        """Return a session with all that happened to it; None if there is no such session."""
        ...

    def last_used(self, client_ids: Collection[str]) -> Mapping[str, Instant]:
        """Return when each of these clients was last given tokens (`USES`); without those that never were."""
        ...
