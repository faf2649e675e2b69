"""`/healthz` and `/readyz`: for anybody, at any rate; 503 in the envelope where no change would be kept."""

from pathlib import Path

import apsw
import trio
from structlog.testing import capture_logs

from ostiary_net.sqlite.schema import known_migrations
from ostiary_web.server.readiness import Readiness
from tests.web.envelopes import refused
from tests.web.served import Served


async def test_a_process_with_its_store_is_healthy_and_ready(served: Served) -> None:
    for path in ("/healthz", "/readyz"):
        response = await served.api().get(path)
        assert (response.status_code, response.json()) == (200, {"code": 0, "msg": "ok", "data": None})


async def test_neither_is_rate_limited(served: Served) -> None:
    api = served.api()
    for _ in range(130):
        assert (await api.get("/healthz")).status_code == 200
        assert (await api.get("/readyz")).status_code == 200


async def test_a_schema_that_is_not_this_releases_is_not_ready_and_still_healthy(
    served: Served, tmp_path: Path
) -> None:
    with apsw.Connection(str(tmp_path / "ostiary.db")) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE version = ?", (len(known_migrations()),))
    with capture_logs() as log:
        refused(await served.api().get("/readyz"), 503, "A0503")
    assert [(entry["event"], entry["cause"]) for entry in log] == [("not ready", "SchemaError")]
    assert (await served.api().get("/healthz")).status_code == 200


async def test_a_store_that_keeps_nothing_is_not_ready(served: Served) -> None:
    served.store.close()
    refused(await served.api().get("/readyz"), 503, "A0503")


async def test_a_file_that_became_read_only_is_not_ready(served: Served, tmp_path: Path) -> None:
    held = apsw.Connection(str(tmp_path / "ostiary.db"))
    held.set_busy_timeout(0)
    served.store._writer._open_connection().set_busy_timeout(1)
    held.execute("BEGIN IMMEDIATE")
    try:
        refused(await served.api().get("/readyz"), 503, "A0503")
    finally:
        held.close(force=True)


async def test_asking_often_looks_at_the_store_once_a_moment(autojump_clock: trio.testing.MockClock) -> None:
    looks, broken = 0, False

    async def look() -> None:
        nonlocal looks
        looks += 1
        await trio.sleep(0.1)
        if broken:
            raise OSError("no space left on device")

    readiness = Readiness(look)
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(readiness.is_ready)
    assert looks == 1
    broken = True
    with capture_logs() as log:
        await trio.sleep(1.1)
        assert not await readiness.is_ready()
        broken = False
        await trio.sleep(1.1)
        assert await readiness.is_ready()
    assert [entry["event"] for entry in log] == ["not ready", "ready again"]


async def test_a_look_that_takes_too_long_is_a_no(autojump_clock: trio.testing.MockClock) -> None:
    with capture_logs() as log:
        assert not await Readiness(trio.sleep_forever).is_ready()
    assert [entry["cause"] for entry in log] == ["TooSlowError"]
