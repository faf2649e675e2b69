"""Declare a resource of the generic convention: how it is listed, and which events change it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar, cast

from ostiary_core.events import AdministrationEvent, Caller, Event
from ostiary_core.model.fields import FieldFault, Fields
from ostiary_core.model.permissions import Permission
from ostiary_core.model.record_type import RecordType
from ostiary_core.model.reply import ClientKnown, Reply, RoleKnown, SecretIssued, UserKnown
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_web.application.resources.fields import Field, ListView

E = TypeVar("E", bound=Event)
T = TypeVar("T")
V = TypeVar("V")


class Permissions(NamedTuple):
    """The permission for each kind of action."""

    list: Permission
    create: Permission
    update: Permission
    delete: Permission

    @classmethod
    def of(cls, subject: str) -> "Permissions":
        """Return the four permissions that begin with `subject`."""
        return cls(*(Permission(f"{subject}.{action}") for action in cls._fields))


class PasswordHashing(Protocol):
    """Hashes passwords of records."""

    @property
    def at_a_time(self) -> int:
        """How many passwords are hashed at a time."""
        ...

    async def hash(self, password: str, *, may_be_refused: bool = True) -> str:
        """Return the hash to store; refuse if too many wait, if it `may_be_refused`."""
        ...


class RecordContext(Protocol):
    """What makes events about records, of a request or a command."""

    @property
    def caller(self) -> Caller:
        """The caller in whose name events are decided."""
        ...

    @property
    def passwords(self) -> PasswordHashing:
        """The hasher of passwords."""
        ...

    def draw_entropy(self) -> Entropy:
        """Return 32 bytes for one event."""
        ...

    def phone_number(self, text: str) -> str:
        """Return a telephone number in its canonical form."""
        ...

    async def decide(self, event: Event) -> Reply:
        """Return the reply to `event`; raise `RequestRefused` if it is a refusal."""
        ...

    def refuse(self, why: Why, faults: Sequence[FieldFault] = ()) -> NoReturn:
        """Raise `RequestRefused` for what no event need decide."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[T, V]):
    """A resource, as its routes need it."""

    path: str
    permissions: Permissions
    record_type: RecordType[T]
    list_view: ListView[T, V]
    show: type[Event]
    register: Callable[[RecordContext, Fields], Awaitable[AdministrationEvent]]
    change: Callable[[RecordContext, str, Fields, Fields | None], Event]
    """Make the event; the last argument is the record as the caller last saw it, None if unknown."""
    delete: type[AdministrationEvent]
    enable: type[AdministrationEvent] | None = None
    """None if the records cannot be disabled."""
    disable: type[AdministrationEvent] | None = None
    import_row: Callable[[RecordContext, Fields, bool], Awaitable[AdministrationEvent]]
    """Make a row's event; the last argument says whether it may change an existing record."""
    has_password: Callable[[Fields], bool] | None = None
    """Whether a row brings a password to hash; None for a resource without passwords."""

    @property
    def name(self) -> str:
        """Return the last part of its path, the name of its sheets too."""
        return self.list_view.name

    @property
    def fields(self) -> tuple[Field[V], ...]:
        return self.list_view.fields

    def identify(self, item: T) -> str:
        """Return the identifier of an item."""
        identifier: str = getattr(item, self.record_type.identifier)
        return identifier

    def label(self, item: Any) -> str:
        """Return the name of an item, for people."""
        return str(item.name)

    def event(self, kind: type[E], caller: Caller, record_id: str) -> E:
        """Return the event of this kind about one record."""
        make: Callable[..., E] = kind
        return make(caller=caller, **{self.record_type.identifier: record_id})

    def item_in_reply(self, reply: Reply) -> T | None:
        """Return the record in a reply, or None."""
        match reply:
            case ClientKnown(client=item) | SecretIssued(client=item):
                return cast(T, item)
            case UserKnown(user=item):
                return cast(T, item)
            case RoleKnown(role=item):
                return cast(T, item)
            case _:
                return None

    def permissions_out_of_reach(self, reply: Reply) -> tuple[Permission, ...]:
        """Return the permissions that the caller cannot use on the record in a reply."""
        return reply.out_of_reach if isinstance(reply, UserKnown | RoleKnown) else ()


def is_new(item: Any) -> bool:
    """Whether a record was made just now: each change gives it another revision."""
    return bool(item.revision == 1)
