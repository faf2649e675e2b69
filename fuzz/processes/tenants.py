"""All tenants of one database: they act at the same time, and each checks everything after a mishap."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from textwrap import wrap
from typing import Final

import trio

from fuzz.processes import api
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.failures import InvariantBroken
from fuzz.processes.server import ADMIN_PASSWORD, Server
from fuzz.processes.tenant import MOST_SECONDS, Ledger, Tenant
from fuzz.processes.tenant_actions import act, resolve
from fuzz.shared.calls import AnswerKind, Call, Verb
from fuzz.shared.campaign import LINE_LENGTH, Report, format_counts
from fuzz.shared.http_client import Request, Response
from fuzz.shared.invariants import DOCUMENTED, PROGRESS

_CHECKING_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.005
"""Seconds to wait after a lost answer."""
_WATCH_SECONDS: Final = 0.02
_RACERS: Final = 4
"""Connections of each tenant, over which it sends one request at the same time."""


class RoamingConnection(Connection):
    """Connects to several instances in turn; an answer that reports a failure counts as lost."""

    def __init__(self, servers: Sequence[Server], random: Random, ledger: Ledger) -> None:
        super().__init__()
        self._servers, self._random, self._ledger = servers, random, ledger

    async def exchange(self, request: Request) -> Response:
        serving = [server.port for server in self._servers if server.port]
        if not serving:
            raise Lost
        self.port = self._random.choice(serving)
        began = trio.current_time()
        response = None
        with trio.move_on_after(self._ledger.patience_seconds) as patience:
            try:
                response = await super().exchange(request)
            except Lost:
                self._ledger.report.counts["lost"] += 1
                raise
        took_seconds = trio.current_time() - began
        self._ledger.slowest = max(self._ledger.slowest, took_seconds)
        if patience.cancelled_caught or response is None or took_seconds > MOST_SECONDS:
            raise InvariantBroken(f"{request.target} is not answered within {MOST_SECONDS:.0f} s", PROGRESS)
        if response.status in (500, 503):
            if response.error != "A0500" or not response.json().get("traceId"):
                answer = f"{response.status} {response.error}"
                raise InvariantBroken(f"{request.target} is answered {answer}", DOCUMENTED)
            self._ledger.report.counts[str(response.status)] += 1
            raise Lost
        return response


class Tenants:
    """The tenants of one database, and its administrator."""

    def __init__(self, seed: str, numbers: range, servers: Sequence[Server], report: Report) -> None:
        """Create tenants that use all of the servers; `report` counts failures."""
        randoms = (Random(f"{seed}/{each}") for each in itertools.count())
        self.ledger = ledger = Ledger(report)
        self._connections: list[RoamingConnection] = []

        def connect(number: int) -> list[RoamingConnection]:
            made = [RoamingConnection(servers, next(randoms), ledger) for _ in range(number)]
            self._connections += made
            return made

        [self._connection] = connect(1)
        self.all = [Tenant(each, connect(_RACERS), next(randoms), ledger) for each in numbers]
        self._unchecked = set[Tenant]()
        """Tenants that did not check everything since the last mishap."""

    def report_to(self, report: Report) -> None:
        """Let another report count from now on."""
        self.ledger.report, self.ledger.slowest = report, 0.0

    def close(self) -> None:
        """Close their connections; the next requests open others."""
        for connection in self._connections:
            connection.close()

    async def move_in(self) -> None:
        """Sign the first administrator in and register the tenants. Raises `Lost`, `InvariantBroken`."""
        await self.sign_in()
        for tenant in self.all:
            await tenant.move_in()

    async def sign_in(self) -> None:
        """Sign the first administrator in, again if that was done before. Raises as `move_in`."""
        self.ledger.admin = await api.sign_in(self._connection, "admin", ADMIN_PASSWORD)
        self.ledger.secrets |= {ADMIN_PASSWORD, self.ledger.admin}

    async def register_machine(self, client_id: str) -> tuple[str, str]:
        """Register another client and return it with its secret. Raises `Lost`, `InvariantBroken`."""
        return client_id, await api.register_client(self._connection, self.ledger.admin, client_id)

    async def keep_watching(self, server: Server, random: Random) -> None:
        """Ask a server repeatedly whether anything that ended is back. Raises `InvariantBroken`."""
        connection = RoamingConnection([server], random, self.ledger)
        self._connections.append(connection)
        while True:
            tenant = random.choice(self.all)
            if tenant.ended:
                session = random.choice(tenant.ended)
                call = Call(Verb.INTROSPECT, tenant.client_id, tenant.secret, random.choice(session.tokens))
                with suppress(Lost):
                    if (await connection.ask(call)).kind is AnswerKind.ACTIVE:
                        raise tenant.violation("a session that ended is back", session)
            await trio.sleep(_WATCH_SECONDS)

    async def keep_acting(self, may_ask: Callable[[Tenant], Awaitable[None]]) -> None:
        """Let each tenant do one action after another; after each mishap, it checks everything first.

        `may_ask` lets a tenant wait until its pending request, if any, can be resolved.
        """
        async with trio.open_nursery() as nursery:
            for tenant in self.all:
                nursery.start_soon(self._keep_one_acting, tenant, may_ask)

    async def _keep_one_acting(self, tenant: Tenant, may_ask: Callable[[Tenant], Awaitable[None]]) -> None:
        while True:
            await trio.lowlevel.checkpoint()  # without it this could not be cancelled: the rest is shielded
            await may_ask(tenant)
            unchecked = self._unchecked
            try:
                # An abandoned request is still on its way and may arrive after later ones.
                with trio.CancelScope(shield=True):
                    await resolve(tenant)
                    if tenant in unchecked:
                        await tenant.check()
                        unchecked.remove(tenant)
                    await act(tenant)
            except Lost:
                await trio.sleep(_PAUSE_SECONDS)

    def log(self, what: str) -> None:
        """Record an event of all tenants, for readers of a failure."""
        for tenant in self.all:
            tenant.log(what)

    def note_mishap(self) -> None:
        """Record a mishap: everything must be checked."""
        self._unchecked = set(self.all)

    async def wait_until_checked(self) -> None:
        """Wait until all have checked everything since the last mishap.

        Raises `InvariantBroken` if that takes too long.
        """
        with trio.move_on_after(_CHECKING_SECONDS) as patience:
            while self._unchecked:  # noqa: ASYNC110 (what is waited for is begun anew by each mishap)
                await trio.sleep(_PAUSE_SECONDS)
        if patience.cancelled_caught:
            raise InvariantBroken("what was acknowledged could not be checked in time", PROGRESS)


def describe_outcomes(total: Report) -> list[str]:
    """Return lines about the outcomes of all actions, for the user of the campaign."""
    acknowledged, unknown = total.tables["acknowledged"], total.tables["unknown"]
    figures = (
        f"{acknowledged.total():,} acknowledged changes: {format_counts(acknowledged)}",
        f"{unknown.total():,} unanswered, and asked again: {format_counts(unknown) or 'none'}",
        f"{total.counts['checks']:,} questions about what had been acknowledged",
    )
    return [line for each in figures for line in wrap(each, LINE_LENGTH, break_on_hyphens=False)]
