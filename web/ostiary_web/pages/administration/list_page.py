"""Lists as pages: any list that the interface declares, searched, filtered, sorted and paged."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar
from urllib.parse import urlencode

from quart import Response

from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore
from ostiary_web.application.resources.exports import answer_export
from ostiary_web.application.resources.queries import (
    DEFAULT_PAGE_SIZE,
    LARGEST_PAGE_SIZE,
    list_parameters,
    read_query,
)
from ostiary_web.pages.administration.asked_list import MOST_SELECTED, SELECTED, AskedList, ListPage
from ostiary_web.pages.administration.list_table import ListTable
from ostiary_web.pages.administration.people_search import replace_phone_number
from ostiary_web.pages.context import PageContext, render

T = TypeVar("T")
V = TypeVar("V")

_CONTROLS: Final = ("page", "pageSize", "sort")
_PAGE_SIZES: Final = (DEFAULT_PAGE_SIZE, 50, 100, LARGEST_PAGE_SIZE)
_FILTERS_IN_LINE: Final = 3
_LONGEST: Final = 300
"""Most characters of a filter in a form; the list refuses shorter ones as too long."""


async def show_list(
    page: PageContext,
    list_page: ListPage[T, V],
    *,
    notice: str | None = None,
    tools: Sequence[tuple[str, str]] = (),
) -> Response:
    """Show the page of the list that the request's query asks for."""
    asked = AskedList(page, list_page)
    await asked.resolve()
    query = read_query(list_page.list_view, asked.known)
    faults: tuple[FieldFault, ...] = query if isinstance(query, tuple) else ()
    listing = Listing(resource=list_page.list_view.source) if isinstance(query, tuple) else query
    items, shown, total = ((), (), 0) if faults else await page.request.query(_make_read(list_page, listing))
    pages = max(1, -(-total // listing.page_size))
    names = {} if list_page.names is None else await list_page.names(page.request, shown)
    table = ListTable(asked, names)
    if list_page.is_exported:
        tools = [*tools, (asked.address("/export", page=None, pageSize=None), page.text("page.export"))]
    on_page = [str(getattr(item, listing.resource.key)) for item in items]
    rows = [table.row(key, item) for key, item in zip(on_page, shown, strict=True)]
    ticked = [key for key in on_page if asked.is_ticked or key in asked.selected]
    elsewhere = [key for key in asked.selected if key not in on_page]
    filters = await asked.filters()
    # The first ones stand in the line of the search, but for days, which come by two.
    in_line = [each for each in filters if not each.is_day][:_FILTERS_IN_LINE]
    # Without a choice the form of the selection would forget the size.
    has_sizes = pages > 1 or total > DEFAULT_PAGE_SIZE
    return await render(
        page,
        "administration/list.html",
        refused=Why.FIELDS_INVALID if faults else None,
        place=list_page.place,
        faults=[*asked.left_out, *(f"{fault.path}: {field_text(fault, page.language)}" for fault in faults)],
        notice=notice,
        list_page=list_page,
        heading=page.text(list_page.heading),
        lead=page.text(f"{list_page.heading}_lead"),
        none=page.text(f"{list_page.heading}_none"),
        columns=[table.column(name, listing) for name in list_page.columns],
        below=None if list_page.below is None else asked.heading(list_page.below[0]),
        rows=rows,
        total=total,
        filters=in_line,
        more_filters=[each for each in filters if each not in in_line],
        chips=asked.chips(filters),
        meanings=asked.meanings,
        searched=bool(list_page.list_view.source.searched),
        search=asked.first("q"),
        sort=asked.first("sort"),
        is_filtered=bool(asked.arguments.keys() - set(_CONTROLS)),
        ticked=ticked,
        elsewhere=elsewhere,
        is_all_selected=asked.is_all_selected,
        selected_count=total if asked.is_all_selected else len(elsewhere) + len(ticked),
        clear=asked.address(),
        asked=[
            (name, value)
            for name, values in asked.arguments.items()
            if name not in ("page", "pageSize")
            for value in values
        ],
        size_asked=asked.first("pageSize"),
        page_size=listing.page_size,
        page_sizes=sorted({*_PAGE_SIZES, listing.page_size}) if has_sizes else (),
        number=listing.page,
        pages=pages,
        last=asked.address(page=str(pages)) if total else None,
        before=asked.address(page=str(listing.page - 1)) if listing.page > 1 else None,
        after=asked.address(page=str(listing.page + 1)) if listing.page < pages else None,
        tools=tools,
    )


async def export_list(page: PageContext, list_page: ListPage[T, V], permission: Permission) -> Response:
    """Export the whole list that the query asks for as a sheet, in the language of the page."""
    asked = AskedList(page, list_page)
    await asked.resolve()
    asked.known.pop("page", None)
    sheet = await answer_export(page.request, list_page.list_view, permission, asked.known, page.language)
    return page.keep(sheet)


async def filter_list(page: PageContext, list_page: ListPage[T, V]) -> Response:
    """Redirect to the list with a form's filters, by a URL without a telephone number."""
    assert list_page.user_filter is not None
    names = (*list_parameters(list_page.list_view), *list_page.conditions)
    sent = {name: page.form.get(name, "")[:_LONGEST] for name in names}
    given = {name: value for name, value in sent.items() if value}
    filters = await replace_phone_number(page.request, given, list_page.user_filter)
    filters |= {name: page.form.getlist(name)[:MOST_SELECTED] for name in ("pageSize", SELECTED)}
    return page.redirect(f"{list_page.place}?{urlencode(filters, doseq=True)}")


def _make_read(
    list_page: ListPage[T, V], listing: Listing[T]
) -> Callable[[ListingStore, Instant], tuple[Sequence[T], Sequence[V], int]]:
    def read(store: ListingStore, now: Instant) -> tuple[Sequence[T], Sequence[V], int]:
        found = store.page(listing, now)
        return found.items, list_page.list_view.add_details(store, found.items), found.total

    return read
