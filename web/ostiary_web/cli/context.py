"""Give a command its store, its caller who may do everything, and its exit."""

import os
import pwd
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

import click
import outcome
import trio

from ostiary_core.events import Event, Operator
from ostiary_core.loading.keys import Keys
from ostiary_core.loading.snapshot import load
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.identifiers import username_key
from ostiary_core.model.instant import Instant
from ostiary_core.model.reply import Refused, Reply
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.system import Clock, SystemClock, SystemEntropy
from ostiary_net.sql.migrations import Opening
from ostiary_net.turns.ports import ServerStore
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import ListQuery, Turns, open_turns
from ostiary_web.app.asgi_app import load_settings_or_exit
from ostiary_web.application.resources.fields import ListView, encode_item
from ostiary_web.cli.arguments import spoken_languages
from ostiary_web.http.context import RequestRefused
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import open_store
from ostiary_web.server.telephones import phone_number

T = TypeVar("T")


def _system_user() -> str:
    """Return the user of the operating system, by number if it has no name."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


OPERATOR: Final = Operator(_system_user())
"""Caller of every command."""


_OPEN_SECONDS: Final = 5.0
"""Longest wait in seconds for the store: a person waits."""

Record = dict[str, object]
"""A record as the interface shows it."""


class PageOfRecords(NamedTuple):
    """Some records of a list, with the number before them and the total."""

    records: list[Record]
    offset: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """A store, a clock and a random source for one command."""

    turns: Turns
    store: ServerStore
    clock: Clock
    settings: Settings
    passwords: Passwords
    caller: Operator = OPERATOR

    async def decide(self, event: Event) -> Reply:
        """Return the stored reply to `event`; raise `RequestRefused`."""
        reply = (await self.turns.decide(event)).reply
        if isinstance(reply, Refused):
            raise RequestRefused(reply)
        return reply

    async def query(self, read: ListQuery[T]) -> T:
        """Return what `read` finds in the lists; raise `TurnFailed`."""
        return await self.turns.query(read)

    async def read_page(self, list_view: ListView[T, Any], listing: Listing[T]) -> PageOfRecords:
        """Return one page of a list, as the interface shows it."""

        def read(store: ListingStore, now: Instant) -> PageOfRecords:
            page = store.page(listing, now)
            shown = list_view.add_details(store, page.items)
            records = [encode_item(list_view.fields, item) for item in shown]
            return PageOfRecords(records, listing.offset, page.total)

        return await self.query(read)

    async def read_record(self, list_view: ListView[T, Any], item: T) -> Record:
        """Return an item as the interface shows it."""

        def read(store: ListingStore, now: Instant) -> Record:
            [shown] = list_view.add_details(store, [item])
            return encode_item(list_view.fields, shown)

        return await self.query(read)

    def refuse(self, why: Why, faults: Sequence[FieldFault] = ()) -> NoReturn:
        """Raise `RequestRefused`."""
        raise RequestRefused(Refused(why, tuple(faults)))

    def phone_number(self, text: str) -> str:
        """Return a telephone number in its canonical form."""
        return phone_number(text, self.settings.phone_region)

    def draw_entropy(self) -> Entropy:
        """Return 32 bytes for one event."""
        return SystemEntropy().draw()

    def find_user_id(self, username: str) -> str:
        """Return the user with this name, however it is spelt; raise `RequestRefused`, `TurnFailed`."""
        key = username_key(username)
        try:
            identifier = load([Keys((key,))], self.store.fetch).identifier(key)
        except Exception as cause:
            raise TurnFailed from cause
        if identifier is None:
            self.refuse(Why.NOT_FOUND)
        return identifier.user_id


def make_refusal(*faults: FieldFault) -> RequestRefused:
    """Return the refusal of fields, for the envelope's words."""
    return RequestRefused(Refused(Why.FIELDS_INVALID, faults))


def run(
    work: Callable[[CommandContext], Awaitable[T]],
    settings: Settings | None = None,
    opening: Opening = Opening.KEEPS,
) -> T:
    """Do `work` on the store of `settings`, else the environment's.

    No store is made, or a mistyped name would seem an empty one; none is updated, or the release that serves
    it could not be started again.
    """
    if settings is None:
        spoken = spoken_languages(click.get_current_context())
        settings = replace(load_settings_or_exit(os.environ), languages=spoken)
    return trio.run(_in_context, settings, opening, work)


async def _in_context(
    settings: Settings, opening: Opening, work: Callable[[CommandContext], Awaitable[T]]
) -> T:
    async with _open_context(settings, opening) as context:
        # Held back past the nursery of the turns, which would make a group of what is raised in it.
        done: outcome.Outcome[T] = await outcome.acapture(work, context)
    return done.unwrap()


@asynccontextmanager
async def _open_context(settings: Settings, opening: Opening) -> AsyncIterator[CommandContext]:
    clock = SystemClock()
    async with (
        open_store(settings, opening=opening, start_seconds=_OPEN_SECONDS) as store,
        open_turns(store, clock) as turns,
    ):
        passwords = Passwords(entropy_source=SystemEntropy(), at_a_time=settings.password_hashing_threads)
        yield CommandContext(turns=turns, store=store, clock=clock, settings=settings, passwords=passwords)
