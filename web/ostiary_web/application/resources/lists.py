"""Answer one page of a list: `{items, total}`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Generic, TypeVar

from msgspec import Meta
from quart import Response, request

from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import FilterValue, ListingStore
from ostiary_web.application.answer_data import AnswerData, Count
from ostiary_web.application.resources.fields import ListView, encode_item
from ostiary_web.application.resources.queries import LARGEST_PAGE_SIZE, read_query
from ostiary_web.http.context import RequestContext

T = TypeVar("T")
V = TypeVar("V")


class ListAnswer(AnswerData, Generic[T]):
    """One page of a list, and the number of items on all pages."""

    items: Annotated[list[T], Meta(max_length=LARGEST_PAGE_SIZE)]
    total: Count


async def answer_list(
    context: RequestContext, list_view: ListView[T, V], only: Mapping[str, FilterValue] | None = None
) -> Response:
    """Answer the page that the query asks for, of the items that match `only`."""
    asked = read_query(list_view, query_arguments())
    if isinstance(asked, tuple):
        context.refuse(Why.FIELDS_INVALID, asked)
    listing = replace(asked, filters={**asked.filters, **(only or {})})

    def read(store: ListingStore, now: Instant) -> tuple[Sequence[V], int]:
        page = store.page(listing, now)
        return list_view.add_details(store, page.items), page.total

    items, total = await context.query(read)
    return context.success(
        ListAnswer(items=[encode_item(list_view.fields, item) for item in items], total=total)
    )


def query_arguments() -> dict[str, list[str]]:
    """Return the parameters of the query string, each with all its values."""
    return {name: list(values) for name, values in request.args.lists()}
