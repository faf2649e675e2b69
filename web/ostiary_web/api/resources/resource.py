"""Declare a resource of the generic convention: how it is listed, and which events change it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from ostiary_core.events import AdministrationEvent, Caller, Event, SignedIn
from ostiary_core.model.fields import Fields
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Reply
from ostiary_core.model.secret import Entropy
from ostiary_net.runtime.passwords import Passwords
from ostiary_web.api.resources.fields import Field, ListView
from ostiary_web.http.context import RequestContext

T = TypeVar("T")
V = TypeVar("V")


class Permissions(NamedTuple):
    """The permission for each kind of action."""

    list: Permission
    create: Permission
    update: Permission
    delete: Permission


class Switch(NamedTuple):
    """How a record is enabled and disabled: by a sub-resource of its own."""

    enable: Callable[[SignedIn, str], Event]
    disable: Callable[[SignedIn, str], Event]


class ImportContext(Protocol):
    """What an import needs of a request or a command."""

    @property
    def caller(self) -> Caller:
        """The caller in whose name events are decided."""
        ...

    @property
    def passwords(self) -> Passwords:
        """The hasher of passwords."""
        ...

    def entropy(self) -> Entropy:
        """Return 32 bytes for one event."""
        ...

    def phone_number(self, text: str) -> str:
        """Return a telephone number in its canonical form."""
        ...

    async def decide(self, event: Event) -> Reply:
        """Return the reply to `event`; raise `RequestRefused` if it is a refusal."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[T, V]):
    """A resource, as its routes need it."""

    path: str
    permissions: Permissions
    list_view: ListView[T, V]
    label: Callable[[T], str]
    """Return an item's text in a list of options."""
    identify: Callable[[T], str]

    show: Callable[[SignedIn, str], Event]
    register: Callable[[RequestContext, Fields], Awaitable[AdministrationEvent]]
    change: Callable[[RequestContext, str, Fields, Fields | None], Event]
    """Make the event; the last argument is the record as the caller last saw it, None if unknown."""
    delete: Callable[[SignedIn, str], AdministrationEvent]
    import_row: Callable[[ImportContext, Fields, bool], Awaitable[AdministrationEvent]]
    """Make a row's event; the last argument says whether it may change an existing record."""
    has_password: Callable[[Fields], bool] | None = None
    """Whether a row brings a password to hash; None for a resource without passwords."""
    switch: Switch | None = None
    """None if the records cannot be disabled."""
    item_in_reply: Callable[[Reply], T | None]
    """Return the item in the reply to any of these events, or None."""
    revision: Callable[[T], int]
    """Return an item's revision: 1 for a new one."""

    @property
    def name(self) -> str:
        """Return the last part of its path, the name of its sheets too."""
        return self.list_view.name

    @property
    def fields(self) -> tuple[Field[V], ...]:
        return self.list_view.fields
