"""A resource of the generic convention in full: how it is listed, and which event does what to it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from ostiary_core.events import AdministrationEvent, Caller, Event, SignedIn
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import Reply
from ostiary_core.model.secret import Entropy
from ostiary_net.runtime.passwords import Passwords
from ostiary_web.api.resources.fields import Field, ListView
from ostiary_web.http.context import RequestContext

T = TypeVar("T")
V = TypeVar("V")

Fields = Mapping[str, object]
"""A JSON object as it came. What is in it, the rules judge."""


class Permissions(NamedTuple):
    """What opens each kind of action."""

    list: Permission
    create: Permission
    update: Permission
    delete: Permission


class Switch(NamedTuple):
    """How a record is enabled and disabled: by a sub-resource of its own."""

    enable: Callable[[SignedIn, str], Event]
    disable: Callable[[SignedIn, str], Event]


class ImportContext(Protocol):
    """What importing needs of a request or a command."""

    @property
    def caller(self) -> Caller:
        """As whom events are asked for."""
        ...

    @property
    def passwords(self) -> Passwords:
        """What hashes them."""
        ...

    def entropy(self) -> Entropy:
        """32 bytes for one event."""
        ...

    def phone_number(self, text: str) -> str:
        """A telephone number in its one form, however it is written."""
        ...

    async def decide(self, event: Event) -> Reply:
        """What the rules reply to `event`; raises `RequestRefused` where they refuse."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[T, V]):
    """Everything that the routes of a resource need to know of it."""

    path: str
    permissions: Permissions
    list_view: ListView[T, V]
    label: Callable[[T], str]
    """What stands for an item in a list to choose from."""
    identify: Callable[[T], str]

    show: Callable[[SignedIn, str], Event]
    register: Callable[[RequestContext, Fields], Awaitable[AdministrationEvent]]
    change: Callable[[RequestContext, str, Fields, Fields | None], Event]
    """The last argument is what the caller was shown of the fields, None where that is not known."""
    delete: Callable[[SignedIn, str], AdministrationEvent]
    import_row: Callable[[ImportContext, Fields, bool], Awaitable[AdministrationEvent]]
    """A row of a sheet; the last argument says whether it may replace what stands."""
    takes_hash: Callable[[Fields], bool] | None = None
    """Whether a row of a sheet has a password that is hashed; None where no record has one."""
    switch: Switch | None = None
    """None where a record cannot be disabled."""
    known: Callable[[Reply], T | None]
    """The item in the reply to any of these; None where the reply has none."""
    revision: Callable[[T], int]
    """Of an item as it stands: 1 for one that was just made."""

    @property
    def name(self) -> str:
        """The last part of its path, and what its sheets are called."""
        return self.list_view.name

    @property
    def fields(self) -> tuple[Field[V], ...]:
        return self.list_view.fields
