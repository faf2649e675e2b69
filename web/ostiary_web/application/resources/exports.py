"""Write the sheets of a resource: the export of a list, and the template of an import.

A list is read, written and sent in pieces, each once the client has taken the one before: neither list nor
sheet is ever whole in memory or in a file.
"""

from dataclasses import dataclass
from types import TracebackType
from typing import Final, Generic, Self, TypeVar
from zoneinfo import ZoneInfo

from quart import Response, request
from quart.wrappers.response import ResponseBody

from ostiary_core.http.answer import NO_STORE
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import permissions_of
from ostiary_core.oauth.session import state_of
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.storage.listing import Listing, ListingStore
from ostiary_core.texts import Language
from ostiary_net.front_door import AnswerCutOff
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.application.resources.fields import ListView
from ostiary_web.application.resources.queries import Arguments, read_filters
from ostiary_web.application.resources.resource import Resource
from ostiary_web.application.resources.sheet_writing import SHEET_MEDIA_TYPE, SheetWriter, write_template
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.http.zones import ZONE_HEADER, zone_for

T = TypeVar("T")
V = TypeVar("V")

_ITEMS_AT_A_TIME: Final = 1_000


async def answer_export(
    context: RequestContext,
    list_view: ListView[T, V],
    permission: Permission,
    arguments: Arguments,
    language: Language,
) -> Response:
    """Answer everything that the query's filters match, in its order, as a sheet; raise `RequestRefused`.

    `permission` is what the route's gate asked for.
    """
    listing = read_filters(list_view, arguments, _ITEMS_AT_A_TIME)
    if isinstance(listing, tuple):
        context.refuse(Why.FIELDS_INVALID, listing)
    zone = zone_for(request.headers.get(ZONE_HEADER), context.user)
    export = _Export(context, permission, list_view, listing, language, zone)
    # Before the answer begins, so that what cannot be read is a 500 and no broken file.
    await export.read_piece()
    response = _make_sheet_response(f"{list_view.name}.xlsx")
    if request.method != "HEAD":
        response.response = export
    # The front door sees to it that the client keeps taking.
    response.timeout = None
    return response


async def answer_template(context: RequestContext, resource: Resource[T, V], language: Language) -> Response:
    """Answer an empty sheet that an import accepts once filled in."""
    now = context.service.clock.now()
    response = _make_sheet_response(f"{resource.name}-template.xlsx")
    response.set_data(write_template(resource.list_view, language, context.languages, now))
    return response


def _make_sheet_response(name: str) -> Response:
    response = Response(b"")
    response.headers.clear()
    for field, value in (
        ("Content-Type", SHEET_MEDIA_TYPE),
        ("Content-Disposition", f'attachment; filename="{name}"'),
        *((field.decode(), value.decode()) for field, value in NO_STORE),
    ):
        response.headers[field] = value
    return response


@dataclass(eq=False)
class _Export(ResponseBody, Generic[T, V]):
    """A sheet of a list, written as it is sent.

    An error in the middle cuts the answer off: the file then lacks its end, and no program opens it.
    """

    context: RequestContext
    permission: Permission
    list_view: ListView[T, V]
    listing: Listing[T]
    language: Language
    zone: ZoneInfo
    _now: Instant | None = None
    _writer: SheetWriter[V] | None = None
    _last: T | None = None
    _piece: bytes = b""
    _is_complete: bool = False

    async def read_piece(self) -> None:
        """Read and write until there is something to send; raise `TurnFailed`."""
        while not self._piece:
            # One piece at a time of all exports: none keeps another from going on.
            piece = await self.context.service.query_whole_lists(self._write_piece, self.context.origin)
            if piece is None:
                self.context.refuse(Why.PERMISSION_MISSING)
            self._piece = piece

    def _write_piece(self, store: ListingStore, now: Instant) -> bytes | None:
        """Write the next items; return None once the caller may no longer read them."""
        if self._writer is None:
            self._now = now
            self._writer = SheetWriter(self.list_view, self.language, self.zone, now)
        # A slow client may take hours, in which a session ends or a permission goes.
        elif not self._may_continue(store, now):
            return None
        assert self._now is not None
        items = store.items_after(self.listing, self._last, self._now)
        if items:
            self._writer.write(self.list_view.add_details(store, items))
            self._last = items[-1]
        else:
            self._writer.close()
            self._is_complete = True
        return self._writer.take_bytes()

    def _may_continue(self, store: ListingStore, now: Instant) -> bool:
        """Whether the login session is still active, under whatever token, and still has the permission."""
        history = store.session_history(self.context.account.session_id or "")
        if history is None or state_of(history.session, history.snapshot.at(now)) is not SessionState.ACTIVE:
            return False
        user = history.snapshot.user(self.context.user.user_id)
        return user is not None and self.permission.value in permissions_of(user, history.snapshot)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release nothing: an export holds only memory."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._piece:
            if self._is_complete:
                raise StopAsyncIteration
            try:
                await self.read_piece()
            except (RequestRefused, TurnFailed) as cause:
                raise AnswerCutOff from cause
        piece, self._piece = self._piece, b""
        return piece

    async def convert_to_sequence(self) -> bytes:
        return b"".join([piece async for piece in self])

    async def make_conditional(self, begin: int, end: int | None, max_partial_size: int | None = None) -> int:
        """Refuse ranges: a sheet has none."""
        raise NotImplementedError
