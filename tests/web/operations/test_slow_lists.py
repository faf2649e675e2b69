"""A list whose query takes too long is answered in time and in the documented form (READINGS 47)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from tests.support.served import Serve
from tests.support.stores import DURABLE, open_kind, origin

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(params=DURABLE)
def open_slow_store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Any]]:
    """A function that opens a store whose lists never end; all else is the real one's."""
    with open_kind(request.param, tmp_path) as open_store:

        @contextmanager
        def open_slow(settings: object) -> Iterator[Any]:
            with open_store() as store:
                slow: Any = store
                monkeypatch.setattr(
                    slow, "page", lambda *_: slow._find(lambda reading: reading.execute(ENDLESS, ()))
                )
                yield slow

        yield open_slow


async def test_slow_lists_are_answered_500_within_ten_seconds_and_leave_their_places(
    serve: Serve, open_slow_store: Callable[..., Any], autojump_clock: MockClock
) -> None:
    async with serve(open_store=open_slow_store) as served:
        served.service.turns._run_sync = trio.to_thread.run_sync  # type: ignore[assignment]
        admin = await served.administrator()
        user_id = await served.user()
        autojump_clock.autojump_threshold = 0.2
        began_at, answers = trio.current_time(), []

        async def ask() -> None:
            answers.append(await admin.call("GET", "/api/iam/users"))

        with capture_logs() as log:
            async with trio.open_nursery() as nursery:
                for _ in range(3):  # one more than there are places
                    nursery.start_soon(ask)
        assert "looking failed" not in {entry["event"] for entry in log}, "the database ended it"
        assert trio.current_time() - began_at <= 9.5
        for answer in answers:
            assert (answer.status_code, answer.json()["code"]) == (500, "A0500")
        autojump_clock.autojump_threshold = 60.0
        with trio.fail_after(5):
            assert (await admin.call("GET", f"/api/iam/users/{user_id}")).status_code == 200
            assert (
                await served.service.query(lambda store, now: store.session_history("0" * 32), origin())
                is None
            )
