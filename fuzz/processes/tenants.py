"""All tenants of one database: they act at once, and each checks everything after whatever happened to it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Final

import trio

from fuzz.processes import api
from fuzz.processes.api import InvariantBroken
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.server import ADMIN_PASSWORD
from fuzz.processes.tenant import Tally, Tenant
from fuzz.processes.tenant_actions import act, resolve
from fuzz.shared.campaign import Report, format_counts
from fuzz.shared.invariants import PROGRESS

_CHECKING_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.005
"""After an answer was lost."""
_WATCH_SECONDS: Final = 0.02


class Tenants:
    """Those who live on one database, and its administrator."""

    def __init__(self, randoms: Iterator[Random], numbers: range, connect: Callable[[], Connection]) -> None:
        self.tally = Tally()
        self._connection = connect()
        self._admin_token = ""
        self.all = [Tenant(each, next(randoms), self.tally, lambda: self._admin_token) for each in numbers]
        for tenant in self.all:
            tenant.connection = connect()
        self._mishaps = 0
        self._checked = [0] * len(self.all)
        self._all_checked = trio.Event()

    @property
    def connections(self) -> list[Connection]:
        return [self._connection, *(tenant.connection for tenant in self.all)]

    def close(self) -> None:
        """Close their connections; what they ask next makes others."""
        for connection in self.connections:
            connection.close()

    async def move_in(self) -> None:
        """The first administrator signs in, and the tenants move in. Raises `Lost`, `InvariantBroken`."""
        await self.sign_in()
        for tenant in self.all:
            await tenant.move_in()

    async def sign_in(self) -> None:
        """The first administrator signs in, once more where that was before. Raises as `move_in`."""
        response = await api.sign_in(self._connection, "admin", ADMIN_PASSWORD)
        self._admin_token = str(response.data["accessToken"])
        self.tally.secrets |= {ADMIN_PASSWORD, self._admin_token, str(response.data["refreshToken"])}

    async def register_machine(self, client_id: str) -> tuple[str, str]:
        """Another client, with its secret. Raises `Lost`, `InvariantBroken`."""
        return client_id, await api.register_client(self._connection, self._admin_token, client_id)

    async def keep_watching(self, connection: Connection, random: Random) -> None:
        """Ask again and again whether what ended is back. Raises `Violation`."""
        while True:
            tenant = random.choice(self.all)
            if tenant.ended:
                token = random.choice(random.choice(tenant.ended).tokens)
                fields = [tenant.basic]
                with suppress(Lost):
                    response = await connection.post_form("/api/oauth2/introspect", fields, token=token)
                    if response.status == 200 and response.json()["active"]:
                        raise tenant.violation("a session that ended is back")
            await trio.sleep(_WATCH_SECONDS)

    async def keep_acting(self, may_ask: Callable[[Tenant], Awaitable[None]]) -> None:
        """Each does one thing after the other; after each mishap, it checks everything first.

        `may_ask` lets a tenant wait until what became of its pending request, if any, can be asked.
        """
        async with trio.open_nursery() as nursery:
            for place in range(len(self.all)):
                nursery.start_soon(self._keep_one_acting, place, may_ask)

    async def _keep_one_acting(self, place: int, may_ask: Callable[[Tenant], Awaitable[None]]) -> None:
        tenant = self.all[place]
        while True:
            await trio.lowlevel.checkpoint()  # or this could not be cancelled: what follows is shielded
            await may_ask(tenant)
            mishaps = self._mishaps
            try:
                # A request that is given up is still on its way, and may come behind those that follow it.
                with trio.CancelScope(shield=True):
                    await resolve(tenant)
                    if self._checked[place] < mishaps:
                        await tenant.check()
                        self._checked[place] = mishaps
                        if min(self._checked) == self._mishaps:
                            self._all_checked.set()
                    await act(tenant)
            except Lost:
                await trio.sleep(_PAUSE_SECONDS)

    def note_mishap(self) -> None:
        """Something happened: everything is to be checked."""
        self._mishaps += 1
        self._all_checked = trio.Event()

    async def wait_until_checked(self) -> None:
        """Back when everybody has checked everything since the last mishap. Raises `InvariantBroken` where
        that takes too long."""
        with trio.move_on_after(_CHECKING_SECONDS) as patience:
            await self._all_checked.wait()
        if patience.cancelled_caught:
            raise InvariantBroken("what was acknowledged could not be checked in time", PROGRESS)


def what_stands(total: Report) -> list[str]:
    """What became of all they did, in lines for whoever runs the campaign."""
    acknowledged, unknown = total.tables["acknowledged"], total.tables["unknown"]
    return [
        f"{acknowledged.total():,} acknowledged changes, all of which stand: {format_counts(acknowledged)}",
        f"{unknown.total():,} unanswered requests, each come to what is allowed: {format_counts(unknown)}",
        f"{total.counts['checks']:,} questions about what had been acknowledged",
    ]
