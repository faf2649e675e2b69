"""A running server starts each background task, which acts at its interval."""

from pathlib import Path

import trio
from trio.testing import MockClock

from ostiary_core.model.fact import FactKind
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, Session, Table
from ostiary_core.model.why import Why
from ostiary_web.server.wiring import Upkeep
from tests.support.callers import Registered
from tests.support.people import holder_of
from tests.support.served import Serve, in_memory, serving
from tests.support.stores import PlainStore

UPKEEP = Upkeep(watches_pauses=False)
DAY_SECONDS = 24 * 60 * 60


async def test_each_background_task_of_a_server_acts(serve: Serve, autojump_clock: MockClock) -> None:
    async with serve(upkeep=UPKEEP, RETENTION_AUDIT_DAYS="1", RETENTION_SESSIONS_DAYS="2") as served:
        app = await served.client()
        pair = await served.tokens(app)
        user = await served.administrator()
        await served.code(user)
        await served.api().refresh(app, pair["refresh_token"])
        await served.api().service("introspect", Registered("app", "wrong"), token="x")
        entries = served.audit()

        def salted() -> list[str]:
            sessions = served.store.records(Table.SESSION)
            return [each.session_id for each in sessions if isinstance(each, Session) and each.salt]

        async def pass_time(seconds: float, interval_seconds: float) -> None:
            served.clock.wait(seconds)
            await trio.sleep(interval_seconds + 1)

        await pass_time(0, UPKEEP.uses_seconds)
        [client] = served.store.fetch(Table.CLIENT, ["app"])
        assert isinstance(client, Client)
        assert client.secret_used_at is not None
        assert client.wrong_secrets == 1

        await pass_time(served.store.policy.salt_seconds, UPKEEP.sweep_seconds)
        assert len(salted()) == 1, "a retry may still need it"
        await pass_time(1, UPKEEP.sweep_seconds)
        assert salted() == [], "no salt outlives its window"

        await pass_time(0, UPKEEP.summary_seconds)
        totals = (await user.succeed("GET", "/api/monitor/overview"))["totals"]
        assert (totals["refused"], totals["refreshes"]) == ({"client_secret_wrong": 1}, 1)

        served.services.passwords._foreign_costs.append((trio.current_time(), 1.0))
        await pass_time(600, UPKEEP.purge_seconds)
        assert not served.services.passwords._foreign_costs, "nobody has a hash of another system any more"
        assert served.store.records(Table.CODE) == ()
        assert set(entries) <= set(served.audit())
        await pass_time(DAY_SECONDS, UPKEEP.purge_seconds)
        assert set(entries).isdisjoint(served.audit())
        assert served.store.records(Table.SESSION) != ()
        await pass_time(10 * DAY_SECONDS, UPKEEP.purge_seconds)
        assert served.store.records(Table.SESSION) == ()


async def test_a_stop_first_records_what_was_refused_meanwhile(tmp_path: Path) -> None:
    store = PlainStore()
    async with serving(tmp_path, open_store=in_memory(store), upkeep=UPKEEP) as served:
        await served.client()
        clerk = await holder_of(served, Permission.CLIENT_LIST)
        for _ in range(3):
            await clerk.fail(403, "A0403", "GET", "/api/iam/users")
        await served.api().service("introspect", Registered("app", "wrong"), token="x")
        assert store.last_refusals("app") == []
    told = [entry.changes for entry in store.audit() if entry.kind is FactKind.ADMINISTRATOR_REFUSED]
    assert [change.after for changes in told for change in changes if change.field == "times"] == [1, 2]
    assert [each.why for each in store.last_refusals("app")] == [Why.CLIENT_SECRET_WRONG]
