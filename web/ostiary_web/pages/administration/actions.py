"""Actions on a record's pages: how one is described, those of every resource, and the sessions they end."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, TypeVar

from quart import Response

from ostiary_core.events import Event
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, User
from ostiary_core.model.reply import Reply
from ostiary_core.storage.listing import Listing
from ostiary_web.application.resources.online import select_visible_sessions
from ostiary_web.application.resources.resource import Resource
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.context import PageContext

T = TypeVar("T")
S = TypeVar("S", bound=Client | User)

ReadForm = Callable[[PageContext, str], Awaitable[Event]]
"""Makes a form's event for the record with this identifier; raises `RequestRefused` with the faults."""


@dataclass(frozen=True, slots=True)
class RecordAction(Generic[T]):
    """An action on a record, with the question that comes before it."""

    path: str
    """Last part of its address."""
    name: str
    """Key of its text."""
    confirm_text: str | None
    """Key of the text of the question; None if none is asked, as nothing is taken away."""
    event: type[Event] | ReadForm
    """Event that does it, or what reads its form."""
    _: KW_ONLY
    done_text: str
    """Key of the text that says it was done to a record called `name`."""
    is_available: Callable[[T, PageContext], bool] = lambda item, page: True
    asks_password: bool = False
    asks_overlap: bool = False
    """Whether the form asks how long the old secret still works."""
    offers_text_message: Callable[[T, PageContext], bool] = lambda item, page: False
    """Whether the form asks if the outcome goes to the telephone."""
    show_outcome: Callable[[PageContext, Reply], Awaitable[Response]] | None = None
    """Shows what came of it, which is shown once; None if the record's page says that it was done."""
    needs_proof: bool = False
    """Whether it gives power, which the visitor proves themselves for (READINGS 57)."""
    warn: Callable[[PageContext, T], Sequence[str]] = lambda page, item: ()
    """Says what stands against it, beside the question."""
    takes_away: bool = True
    """Whether it takes something away; if not, its button is not red."""
    removes_record: bool = False
    """Whether the record is gone afterwards."""
    batch_text: str | None = None
    """Key of the text of the question about several; None if it is done to one at a time."""
    batch_done: str | None = None
    """Key of the text that says to how many it was done."""

    def permission(self, resource: Resource[T, Any]) -> Permission:
        """Return the permission that it takes."""
        return resource.permissions.delete if self.removes_record else resource.permissions.update

    async def make_event(self, page: PageContext, resource: Resource[T, Any], item_id: str) -> Event:
        """Return the event about one record; raise `RequestRefused` for a bad form."""
        if isinstance(self.event, type):
            return resource.event(self.event, page.request.caller, item_id)
        return await self.event(page, item_id)


def enabling_actions(
    resource: Resource[S, Any], disable_text: str
) -> tuple[RecordAction[S], RecordAction[S]]:
    """Return the actions that enable and disable a record."""
    assert resource.enable is not None
    assert resource.disable is not None
    enable: RecordAction[S] = RecordAction(
        path="enable",
        name="page.enable",
        confirm_text=None,
        event=resource.enable,
        done_text="page.enable_done",
        batch_text="page.selected_enable_will",
        batch_done="page.selected_enabled",
        is_available=lambda item, page: not item.enabled,
    )
    disable: RecordAction[S] = RecordAction(
        path="disable",
        name="page.disable",
        confirm_text=disable_text,
        event=resource.disable,
        done_text="page.disable_done",
        batch_text="page.selected_disable_will",
        batch_done="page.selected_disabled",
        is_available=lambda item, page: item.enabled,
    )
    return enable, disable


def deletion_action(
    resource: Resource[T, Any],
    confirm_text: str,
    warn: Callable[[PageContext, T], Sequence[str]] = lambda page, item: (),
) -> RecordAction[T]:
    """Return the action that deletes a record."""
    return RecordAction(
        path="delete",
        name="page.delete",
        confirm_text=confirm_text,
        event=resource.delete,
        warn=warn,
        done_text="page.delete_done",
        batch_text="page.selected_delete_will",
        batch_done="page.selected_deleted",
        removes_record=True,
    )


def warn_of_oneself(page: PageContext, ids: Collection[str]) -> list[str]:
    """Return what to say before sessions end, if the visitor or the visitor's session is among `ids`."""
    is_among = page.request.user.user_id in ids or page.session_id in ids
    return [page.text("page.includes_yourself")] if is_among else []


async def count_running_sessions(context: RequestContext, **whose: str | tuple[str, ...]) -> int:
    """Return how many sessions of a client (`client_id`) or a user (`user_id`) the list of sessions shows."""
    listing = Listing(resource=select_visible_sessions(context).source, filters=whose, page_size=1)
    return await context.query(lambda store, now: store.page(listing, now).total)


def describe_endings(page: PageContext, done: str, ended: int) -> Sequence[str]:
    """Return what was done in words, with the number of sessions that ended by it, if any did."""
    return (done, page.text("page.sessions_ended", count=ended)) if ended > 0 else (done,)
