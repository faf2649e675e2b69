"""Import rows, from wherever they come: all of them, or none.

Rows with passwords are judged by every rule before the first of these is hashed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import trio
from msgspec import UNSET, UnsetType

from ostiary_core.events import AdministrationEvent, BatchRequested, Caller
from ostiary_core.model.fact import Fact
from ostiary_core.model.fields import Fields
from ostiary_core.model.records import User
from ostiary_core.model.reply import BatchDone, BatchPreviewed, BatchRefused, Reply, SecretIssued
from ostiary_web.application.answer_data import AnswerData, Count
from ostiary_web.application.invitations import NewInvitationOfUser
from ostiary_web.application.resources.fields import SheetUse
from ostiary_web.application.resources.records import combine_refusals
from ostiary_web.application.resources.resource import RecordContext, Resource, is_new
from ostiary_web.application.resources.sheet_rows import SheetRows

T = TypeVar("T")
V = TypeVar("V")

MOST_HASHED_IN_A_REQUEST: Final = 50
"""Most passwords hashed within a request; each takes 25 ms of a core, more on a small machine."""

REPLACES: Final = {"insert": False, "upsert": True}
"""Whether rows may change existing records, by the mode of an import."""


class ImportedSecret(AnswerData):
    """The secret of a new client, shown this once."""

    client_id: str
    secret: str


class Imported(AnswerData):
    """Counts of records created, updated and unchanged, and of those whose hash in the sheet was ignored."""

    created: Count
    updated: Count
    unchanged: Count
    hashes_left: Count
    cannot_sign_in: list[str] | UnsetType = UNSET
    """New users without a password, by their identifiers, if there are any."""
    invitations: list[NewInvitationOfUser] | UnsetType = UNSET
    """Invitations of these users, if the import was to make them."""
    secrets: list[ImportedSecret] | UnsetType = UNSET


def count_hashes(resource: Resource[T, V], rows: SheetRows) -> int:
    """Return how many passwords must be hashed before the rows can be imported."""
    has_password = resource.has_password
    return 0 if has_password is None else sum(map(has_password, rows.by_number.values()))


async def import_rows(
    context: RecordContext,
    resource: Resource[T, V],
    rows: Mapping[int, Fields],
    *,
    replace: bool,
    on_prepared: Callable[[], None] = lambda: None,
) -> Imported:
    """Import rows by their numbers, all or none; raise `RequestRefused` with every fault of each.

    `on_prepared` is called for each row that is ready for the turn.
    """
    if resource.has_password is not None and any(map(resource.has_password, rows.values())):
        # Hashing takes 25 ms a password: rows that are refused whatever it gives are refused before it.
        await judge_rows(context, resource, rows, replace=replace)
    events = await _make_events(context, resource, [*rows.values()], replace, on_prepared)
    reply = await context.decide(BatchRequested(events=events))
    _refuse_rows(reply, rows)
    assert isinstance(reply, BatchDone)
    items = [resource.item_in_reply(each) for each in reply.replies]
    written = [is_new(item) for item in items if item is not None]
    secrets = [
        ImportedSecret(client_id=each.client.client_id, secret=each.secret.reveal())
        for each in reply.replies
        if isinstance(each, SecretIssued)
    ]
    return Imported(
        created=written.count(True),
        updated=written.count(False),
        unchanged=len(items) - len(written),
        hashes_left=_count_hashes_left(resource, [*rows.values()], items),
        cannot_sign_in=_find_without_password(items) or UNSET,
        secrets=secrets or UNSET,
    )


async def judge_rows(
    context: RecordContext, resource: Resource[Any, Any], rows: Mapping[int, Fields], *, replace: bool
) -> tuple[tuple[Fact, ...], ...]:
    """Return the facts that each row would make; raise `RequestRefused` with every fault of each.

    Nothing is stored and no password is hashed.
    """
    events = await _make_events(_WithoutHashes(context), resource, [*rows.values()], replace)
    reply = await context.decide(BatchRequested(events=events, is_preview=True))
    _refuse_rows(reply, rows)
    assert isinstance(reply, BatchPreviewed)
    return reply.facts


def _refuse_rows(reply: Reply, rows: Iterable[int]) -> None:
    """Raise `RequestRefused` with every fault of each row, by its number, if a batch was refused."""
    if isinstance(reply, BatchRefused):
        raise combine_refusals(reply, [f"rows.{number}" for number in rows])


async def _make_events(
    context: RecordContext,
    resource: Resource[T, V],
    rows: Sequence[Fields],
    replace: bool,
    on_prepared: Callable[[], None] = lambda: None,
) -> tuple[AdministrationEvent, ...]:
    """Return the event of each row, in order, preparing as many at a time as passwords are hashed."""
    events: dict[int, AdministrationEvent] = {}
    waiting = iter(enumerate(rows))

    async def prepare() -> None:
        for place, row in waiting:
            events[place] = await resource.import_row(context, row, replace)
            on_prepared()
            # A row without a password waits for nothing, and 2,000 of them take 0.2 s of CPU.
            await trio.lowlevel.checkpoint()

    # No more at a time than passwords are hashed: a user who signs in waits for one of these hashes, not all.
    async with trio.open_nursery() as nursery:
        for _ in range(context.passwords.at_a_time):
            nursery.start_soon(prepare)
    return tuple(events[place] for place in range(len(rows)))


def _find_without_password(items: Iterable[object]) -> list[str]:
    """Return the new users who cannot sign in yet."""
    users = (item for item in items if isinstance(item, User) and is_new(item))
    return [user.user_id for user in users if user.password_hash is None]


def _count_hashes_left(resource: Resource[T, V], rows: Sequence[Fields], items: Sequence[T | None]) -> int:
    """Count the existing records for which a row had a value that only an import of new ones sets."""
    names = [field.name for field in resource.fields if field.sheet is SheetUse.IMPORT_ONLY]
    return sum(
        any(row.get(name) for name in names) and (item is None or not is_new(item))
        for row, item in zip(rows, items, strict=True)
    )


class _WithoutHashes:
    """The context of an import that hashes no password."""

    at_a_time = 1

    def __init__(self, context: RecordContext) -> None:
        self._context = context
        self.draw_entropy = context.draw_entropy
        self.phone_number = context.phone_number
        self.decide = context.decide
        self.refuse = context.refuse

    @property
    def caller(self) -> Caller:
        return self._context.caller

    @property
    def passwords(self) -> "_WithoutHashes":
        return self

    async def hash(self, password: str, *, may_be_refused: bool = True) -> str:
        """Return what stands for a hash if none is stored."""
        await trio.lowlevel.checkpoint()
        return "previewed"
