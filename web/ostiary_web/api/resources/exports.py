"""The sheets that a resource gives: the export of a list, and the template of an import.

A sheet is written in a worker thread into a file that has no name, a piece of the list at a time, and sent
from there: neither the list nor the sheet is ever whole in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Final, Self, TypeVar

import trio
from quart import Response, request
from quart.wrappers.response import ResponseBody

from ostiary_core.http.answer import NO_STORE
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore
from ostiary_core.texts import Language
from ostiary_web.api.resources.fields import ListView
from ostiary_web.api.resources.queries import Arguments, read_narrowing
from ostiary_web.api.resources.resource import Resource
from ostiary_web.api.resources.sheet_writing import SHEET_MEDIA_TYPE, SheetWriter, write_template
from ostiary_web.http.context import RequestContext
from ostiary_web.http.zones import ZONE_HEADER, zone_for

T = TypeVar("T")
V = TypeVar("V")

_ITEMS_AT_A_TIME: Final = 1_000
_BYTES_AT_A_TIME: Final = 64 * 1024


async def answer_export(
    context: RequestContext, list_view: ListView[T, V], arguments: Arguments, language: Language
) -> Response:
    """Everything that the filters of a query match, in its order, as a sheet; raises `RequestRefused`."""
    listing = read_narrowing(list_view, arguments, _ITEMS_AT_A_TIME)
    if isinstance(listing, tuple):
        context.refuse(Why.FIELDS_INVALID, listing)
    zone = zone_for(request.headers.get(ZONE_HEADER), context.user)

    def write(file: IO[bytes], store: ListingStore, now: Instant) -> None:
        writer = SheetWriter(file, list_view, language, zone, now)
        for items in _pieces(store, listing, now):
            writer.write(list_view.shown(store, items))
        writer.close()

    return await _answer(context, write, f"{list_view.name}.xlsx")


async def answer_template(context: RequestContext, resource: Resource[T, V], language: Language) -> Response:
    """What an import expects, to be filled in."""

    def write(file: IO[bytes], store: ListingStore, now: Instant) -> None:
        write_template(file, resource.list_view, language, context.languages, now)

    return await _answer(context, write, f"{resource.name}-template.xlsx")


def _pieces(store: ListingStore, listing: Listing[T], now: Instant) -> Iterator[Sequence[T]]:
    """The items of a list from the first to the last, each piece from where the one before it ended."""
    last: T | None = None
    while items := store.items_after(listing, last, now):
        yield items
        last = items[-1]


async def _answer(
    context: RequestContext, write: Callable[[IO[bytes], ListingStore, Instant], None], name: str
) -> Response:
    file = TemporaryFile()  # noqa: SIM115 (closed by the answer's body)
    try:
        await context.service.look_through(partial(write, file), context.origin)
    except BaseException:
        file.close()
        raise
    response = Response(_FileBody(file))
    # The front door sees to it that the client keeps taking.
    response.timeout = None
    response.headers.clear()
    for field, value in (
        ("Content-Type", SHEET_MEDIA_TYPE),
        ("Content-Length", str(file.tell())),
        ("Content-Disposition", f'attachment; filename="{name}"'),
        *((field.decode(), value.decode()) for field, value in NO_STORE),
    ):
        response.headers[field] = value
    return response


class _FileBody(ResponseBody):
    """A written file, read in worker threads and closed when it was sent, or will not be."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def __aenter__(self) -> Self:
        self._file.seek(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        piece = await trio.to_thread.run_sync(self._file.read, _BYTES_AT_A_TIME)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def convert_to_sequence(self) -> bytes:
        async with self:
            return b"".join([piece async for piece in self])

    async def make_conditional(self, begin: int, end: int | None, max_partial_size: int | None = None) -> int:
        """Parts of a sheet are not given."""
        raise NotImplementedError

    def __del__(self) -> None:
        self._file.close()
