"""What a test asks the token service at its door is asked at another door as well, and answered alike there.

The other door is a twin's: a server that is given what this one knows before each such request (records,
counters, where its entropy stands), so that it is to say the same to the last byte, fresh tokens and the
trace id included. What differs by nature is left out: the date, and what becomes of the connection. Nobody
can say what a server knew before each of several requests that overlap; these are not compared.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy, deepcopy
from dataclasses import fields, replace
from typing import Any, Final

import h11
import httpx
import trio
from structlog.testing import capture_logs

from ostiary_core.model.decision import Insert
from ostiary_core.model.records import RECORD_TABLES
from ostiary_net.front_door import DoorRules, Guard
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.system import run_inline
from ostiary_net.turns.service import Service
from ostiary_net.turns.turns import open_turns
from ostiary_web.app.factory import Application
from ostiary_web.server.backing import Backing, put_behind
from tests.net.rooms import PlainStore
from tests.web.doors import Door, OpenTransport, opened_door

__all__ = ["beside_a_twin"]

_OTHER: Final[dict[Door, Door]] = {"guard": "lane", "plain": "guard", "lane": "plain"}
_SERVICE: Final = re.compile(rb"/api/oauth2/(?:token|introspect|revoke|userinfo)\Z")
_OF_A_CONNECTION: Final = frozenset({"date", "connection"})
_OF_ITS_OWN: Final = frozenset({"pauses", "turns", "clock", "metrics", "tracing"})
"""What a twin's service does not take over; the time is that of both."""


@asynccontextmanager
async def beside_a_twin(
    open_transport: OpenTransport,
    *,
    door: Door,
    backing: Backing,
    store: Any,
    rules: DoorRules,
    application: Callable[[], Application],
) -> AsyncIterator[OpenTransport]:
    """Transports as `open_transport` opens them, whose answers of the token service are compared.

    `application` gives one that nobody else uses.
    """
    async with trio.open_nursery() as nursery:
        twin = _Twin(nursery, _OTHER[door], backing, store, rules, application)
        yield lambda source: _Compared(open_transport(source), twin, source)
        nursery.cancel_scope.cancel()


class _Compared(httpx.AsyncBaseTransport):
    """Asks the twin first."""

    def __init__(self, transport: httpx.AsyncBaseTransport, twin: "_Twin", source: str) -> None:
        self._transport = transport
        self._twin = twin
        self._source = source

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with self._twin.noting_what_overlaps() as is_alone:
            if not is_alone() or _SERVICE.match(request.url.raw_path.partition(b"?")[0]) is None:
                return await self._transport.handle_async_request(request)
            await request.aread()
            try:
                other = await self._twin.answer(request, self._source)
            except h11.LocalProtocolError:  # no client of HTTP/1.1 sends that
                other = None
            response = await self._transport.handle_async_request(request)
            await response.aread()
            if other is not None and is_alone():
                what = f"{request.method} {request.url.path}"
                assert _meant(response) == _meant(other), f"the doors differ: {what}"
            return response


def _meant(response: httpx.Response) -> tuple[int, list[tuple[str, str]], bytes]:
    kept = [field for field in response.headers.multi_items() if field[0] not in _OF_A_CONNECTION]
    return response.status_code, sorted(kept), response.content


class _Twin:
    """A server at another door, started when it is first asked."""

    def __init__(
        self,
        nursery: trio.Nursery,
        door: Door,
        backing: Backing,
        store: Any,
        rules: DoorRules,
        application: Callable[[], Application],
    ) -> None:
        self._nursery = nursery
        self._door: Door = door
        self._backing = backing
        self._service = backing.service
        self._store = store
        self._rules = rules
        self._application = application
        self._own_store = copy(store) if isinstance(store, PlainStore) else PlainStore()
        self._own_service: Service | None = None
        self._open_transport: OpenTransport | None = None
        self._transports: dict[str, httpx.AsyncBaseTransport] = {}
        self._under_way = 0
        self._begun = 0

    @contextmanager
    def noting_what_overlaps(self) -> Iterator[Callable[[], bool]]:
        """A request to the other server is under way: whether it is the only one, and was so far."""
        self._begun += 1
        self._under_way += 1
        was_alone, number = self._under_way == 1, self._begun
        try:
            yield lambda: was_alone and self._begun == number
        finally:
            self._under_way -= 1

    async def answer(self, request: httpx.Request, source: str) -> httpx.Response:
        """What it says, of which nothing is seen but this."""
        with capture_logs():
            if self._open_transport is None:
                self._open_transport = await self._nursery.start(self._serve)
            self._catch_up()
            if source not in self._transports:
                self._transports[source] = self._open_transport(source)
            response = await self._transports[source].handle_async_request(request)
            await response.aread()
            return response

    async def _serve(self, task_status: trio.TaskStatus[OpenTransport]) -> None:
        async with open_turns(self._own_store, self._service.clock, run_inline) as turns:
            taken_over = {name: deepcopy(part) for name, part in self._parts(self._service)}
            service = replace(self._service, turns=turns, metrics=Metrics(), **taken_over)
            application = self._application()
            put_behind(application.quart, replace(self._backing, service=service))
            guarded: Any = Guard(application, self._rules)
            guarded.draw_trace_id = service.trace_id
            self._own_service = service
            async with opened_door(self._door, guarded, service) as open_transport:
                task_status.started(open_transport)
                await trio.sleep_forever()

    def _catch_up(self) -> None:
        """Know what the other server knows by now."""
        assert self._own_service is not None
        for (_, part), (_, own) in zip(
            self._parts(self._service), self._parts(self._own_service), strict=True
        ):
            vars(own).update(deepcopy(vars(part)))
        own_store: Any = self._own_store
        if isinstance(self._store, PlainStore):
            vars(own_store).update(vars(self._store))
            own_store.turns = []
            own_store._audit = list(own_store._audit)
            own_store._tables = {table: dict(rows) for table, rows in own_store._tables.items()}
        else:
            own_store.__init__()
            own_store.policy = self._store.policy
            own_store.write(
                [Insert(record) for table in RECORD_TABLES for record in self._store.records(table)]
            )

    @staticmethod
    def _parts(service: Service) -> list[tuple[str, Any]]:
        """What it remembers."""
        names = [each.name for each in fields(service) if each.name not in _OF_ITS_OWN]
        return [(name, getattr(service, name)) for name in names]
