"""What is selected in a list: items ticked on its pages, or all that match its filters.

The selection stands in the addresses of the list, so that it lasts from page to page without a script. What
matches is judged again when something is done to it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from markupsafe import Markup

from ostiary_core.events import Event
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore
from ostiary_web.application.resources.batches import decide_each
from ostiary_web.application.resources.queries import read_filters
from ostiary_web.application.resources.resource import Resource
from ostiary_web.pages.administration.actions import RecordAction
from ostiary_web.pages.administration.asked_list import AskedList, ListPage
from ostiary_web.pages.context import PageContext

T = TypeVar("T")

MOST_AT_ONCE: Final = 2_000
"""Most items that one action is done to, those of a filter too."""
_READ_AT_A_TIME: Final = 500


@dataclass(frozen=True, slots=True)
class Choices:
    """Checkboxes of a question."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionAction(Generic[T]):
    """An action on selected items, with the question that comes before it."""

    address: str
    name: str
    """Key of its text."""
    question: str
    """Key of the text of its question."""
    done: str
    """Key of the text that says to how many it was done."""
    permission: Permission
    make_event: Callable[[PageContext, str, T | None], Event | None]
    """Makes the event about the item with a key, None if unknown; no event if nothing is to be done."""
    warns_of_oneself: bool = True
    """Whether the visitor is told before it is done to themselves."""
    choices: Callable[[PageContext], Awaitable[Sequence[Choices]]] | None = None
    """Finds what the form of the question asks for; one that is sent without any of it does nothing."""
    gives_power: Callable[[PageContext], bool] = lambda page: False
    """Whether what was chosen is given after a proof of who the visitor is (READINGS 57)."""
    is_for_others: bool = False
    """Whether the visitor themselves is left out."""
    ignored: frozenset[Why] = frozenset()
    """Reasons of refusals for which it counts as done to one of several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selectable(Generic[T]):
    """Items of a list that can be selected."""

    list_page: Callable[[PageContext], ListPage[T, Any]]
    permission: Permission
    """Permission to see the list."""
    find: Callable[[PageContext, Sequence[str]], Awaitable[Mapping[str, T]]]
    """Finds those with these keys that the visitor may see."""
    describe: Callable[[PageContext, T], str | Markup]
    sessions_of: str | None
    """Filter of running sessions by the key of an item; None if no sessions belong to it."""
    key_of_visitor: Callable[[PageContext], str | None] = lambda page: None
    """Returns the key of the item that is the visitor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedItems(Generic[T]):
    """The selected items that there are."""

    items: Mapping[str, T | None]
    """Items by their keys; None for those that the visitor may not see, or that are gone."""
    total: int
    """Number of items selected, those beyond `MOST_AT_ONCE` too."""
    is_all: bool = False
    """Whether they are all that match the filters."""


async def find_selected(
    page: PageContext, selectable: Selectable[T], asked: AskedList[T, Any]
) -> SelectedItems[T] | None:
    """Return what is selected; None if nothing is."""
    if asked.is_all_selected:
        return await _find_all(page, selectable, asked)
    keys = asked.selected
    known = await selectable.find(page, keys) if keys else {}
    return SelectedItems(items={key: known.get(key) for key in keys}, total=len(keys)) if keys else None


async def _find_all(
    page: PageContext, selectable: Selectable[T], asked: AskedList[T, Any]
) -> SelectedItems[T] | None:
    if not page.may(selectable.permission):
        return None
    await asked.resolve()
    filters = {name: values for name, values in asked.known.items() if name not in ("page", "pageSize")}
    listing = read_filters(asked.list_page.list_view, filters, _READ_AT_A_TIME)
    if isinstance(listing, tuple):
        page.request.refuse(Why.FIELDS_INVALID, listing)
    items: list[T] = []
    while len(items) < MOST_AT_ONCE:
        read = await page.request.query(_make_read(listing, items[-1] if items else None))
        items += read
        if len(read) < _READ_AT_A_TIME:
            break
    total = len(items)
    if total >= MOST_AT_ONCE:
        total = await page.request.query(lambda store, now: store.page(listing, now).total)
    found = {getattr(item, listing.resource.key): item for item in items[:MOST_AT_ONCE]}
    return SelectedItems(items=found, total=total, is_all=True) if found else None


def _make_read(listing: Listing[T], last: T | None) -> Callable[[ListingStore, Instant], Sequence[T]]:
    return lambda store, now: store.items_after(listing, last, now)


# --- records


def make_selectable(
    resource: Resource[T, Any], list_page: ListPage[T, Any], sessions_of: str | None
) -> Selectable[T]:
    """Return the records of a resource as what can be selected."""

    async def find(page: PageContext, keys: Sequence[str]) -> Mapping[str, T]:
        caller = page.request.caller
        known = await decide_each(page.request, [resource.event(resource.show, caller, key) for key in keys])
        found = {
            key: None if decision is None else resource.item_in_reply(decision.reply)
            for key, decision in zip(keys, known, strict=True)
        }
        return {key: item for key, item in found.items() if item is not None}

    def describe(page: PageContext, item: T) -> str:
        key = getattr(item, resource.record_type.settable[0].attribute)
        return f"{resource.label(item)} ({key})"

    return Selectable(
        list_page=lambda page: list_page,
        permission=resource.permissions.list,
        find=find,
        describe=describe,
        sessions_of=sessions_of,
        key_of_visitor=lambda page: page.request.user.user_id,
    )


def make_selection_action(resource: Resource[T, Any], action: RecordAction[T]) -> SelectionAction[T]:
    """Return an action on a record as one on selected records."""
    kind = action.event
    assert isinstance(kind, type)
    assert action.batch_text is not None
    assert action.batch_done is not None

    def make_event(page: PageContext, key: str, item: T | None) -> Event | None:
        is_so_already = item is not None and not action.is_available(item, page)
        return None if is_so_already else resource.event(kind, page.request.caller, key)

    return SelectionAction(
        # Not below the list's own address, if a record may be called "selected".
        address=f"/admin/selected/{resource.name}/{action.path}",
        name=action.name,
        question=action.batch_text,
        done=action.batch_done,
        permission=action.permission(resource),
        make_event=make_event,
        warns_of_oneself=action.confirm_text is not None,
    )
