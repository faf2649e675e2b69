"""A list whose query takes too long is answered in time and in the documented form (READINGS 47)."""

from contextlib import AbstractContextManager
from typing import Any

import trio
from trio.testing import MockClock

from ostiary_net.sqlite import SQLiteStore
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.settings import Settings
from tests.support.served import Serve

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


class SlowStore(SQLiteStore):
    """A store whose lists never end; all else is the real one's."""

    def page(self, *asked: Any) -> Any:
        return self._find(lambda reading: reading.execute(ENDLESS, ()))


def slow(settings: Settings) -> AbstractContextManager[Any]:
    assert isinstance(settings.database, SQLiteFile)
    return SlowStore(settings.database.path)


async def test_slow_lists_are_500_and_leave_their_places(serve: Serve, autojump_clock: MockClock) -> None:
    async with serve(open_store=slow) as served:
        served.service.turns._run_sync = trio.to_thread.run_sync  # type: ignore[assignment]
        admin = await served.administrator()
        autojump_clock.autojump_threshold = 0.2
        began_at, answers = trio.current_time(), []

        async def ask() -> None:
            answers.append(await admin.call("GET", "/api/iam/users"))

        async with trio.open_nursery() as nursery:
            for _ in range(3):  # more than have a place
                nursery.start_soon(ask)
        assert trio.current_time() - began_at <= 9.5
        for answer in answers:
            assert (answer.status_code, answer.json()["code"]) == (500, "A0500")
        autojump_clock.autojump_threshold = 60.0
        assert (await admin.call("GET", f"/api/iam/users/{await served.user()}")).status_code == 200
