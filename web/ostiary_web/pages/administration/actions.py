"""What can be done with a record on its pages: described, and those that every resource has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ostiary_core.events import Event, SignedIn
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, User
from ostiary_web.api.resources.resource import Resource
from ostiary_web.pages.context import PageContext

T = TypeVar("T")
S = TypeVar("S", bound=Client | User)

MakeEvent = Callable[[PageContext, str], Awaitable[Event]]
"""The event that a form stands for, of the record with this identifier; raises `RequestRefused` with what is
wrong with the form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAction(Generic[T]):
    """Something that can be done with a record, after the question whether it should be."""

    path: str
    """The last part of its address."""
    name: str
    """The key of its text."""
    will: str | None
    """The key of the text of what will happen; None for what is done without a question: it takes nothing
    away."""
    permission: Permission
    event: MakeEvent
    fits: Callable[[T], bool] = lambda item: True
    asks_password: bool = False
    asks_overlap: bool = False
    """Whether it has to be said how long an old secret works on."""
    leaves: bool = False
    """Whether the record is gone afterwards."""


def action_event(event: Callable[[SignedIn, str], Event]) -> MakeEvent:
    """Whatever the form says, this event."""

    async def make_event(page: PageContext, item_id: str) -> Event:
        return event(page.request.caller, item_id)

    return make_event


def switching(resource: Resource[S, Any], disable_will: str) -> tuple[RecordAction[S], RecordAction[S]]:
    """To enable a record, and to disable it."""
    assert resource.switch is not None
    enable: RecordAction[S] = RecordAction(
        path="enable",
        name="page.enable",
        will=None,
        permission=resource.permissions.update,
        event=action_event(resource.switch.enable),
        fits=lambda item: not item.enabled,
    )
    disable: RecordAction[S] = RecordAction(
        path="disable",
        name="page.disable",
        will=disable_will,
        permission=resource.permissions.update,
        event=action_event(resource.switch.disable),
        fits=lambda item: item.enabled,
    )
    return enable, disable


def deletion(resource: Resource[T, Any], will: str) -> RecordAction[T]:
    """To delete a record."""
    return RecordAction(
        path="delete",
        name="page.delete",
        will=will,
        permission=resource.permissions.delete,
        event=action_event(resource.delete),
        leaves=True,
    )
