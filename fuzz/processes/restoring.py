"""`python -m fuzz failover --restore`: a cluster is put back to a moment, as docs/cluster.md says.

What ended after that moment is alive in the database that was put back, and what was spent is unspent. A
server must refuse it; and once everything was ended, nothing of before may be alive.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

import trio

from fuzz.processes.cluster import Cluster, running_cluster
from fuzz.processes.failures import InvariantBroken, fail
from fuzz.processes.node import Node
from fuzz.processes.programs import NotWell
from fuzz.processes.server import ROOT, NotServing, Server
from fuzz.processes.tenant_actions import authorize, refresh, revoke
from fuzz.processes.tenants import Tenants
from fuzz.shared.campaign import Report
from fuzz.shared.invariants import ENDED_STAYS_ENDED

_WELL_SECONDS: Final = 120.0
_ARCHIVED_SECONDS: Final = 60.0


def run(*, debian: bool) -> int:
    """Put a cluster back to a moment; 0 where nothing that had ended is alive afterwards."""
    with running_cluster(debian=debian) as cluster:
        print(f"  {cluster.patroni}", flush=True)
        folder = cluster.folder / "instance"
        folder.mkdir()
        settings = {"DATABASE_URL": cluster.routes["all hosts"]}
        with Server(folder, settings=settings, end_too=cluster.keeper.end_too) as server:
            report = Report()
            try:
                _walk(cluster, server, settings | {"DATA_DIR": str(folder)})
            except* (InvariantBroken, NotServing, NotWell) as group:
                fail(report, group, "as a cluster is put back", f"its logs:   {cluster.folder}-logs")
    for story in report.stories:
        print(story(), file=sys.stderr)
    return 1 if report.stories else 0


def _walk(cluster: Cluster, server: Server, settings: dict[str, str]) -> None:
    server.start_and_wait()
    tenants = Tenants("restored", range(1), [server], Report())
    cluster.run_pgbackrest(cluster.primary(), "--type=full", "backup")
    trio.run(_begin, tenants)
    moment = _tell_time(cluster)
    alive = _count_alive(cluster)
    trio.run(_go_on, tenants)
    _archive_all(cluster)
    server.stop()
    server.start_and_wait()  # it notes how far the trail is
    server.stop()
    node = cluster.primary()
    _tell_duration("the database was put back", lambda: _put_back(cluster, node, moment))
    if (found := _count_alive(cluster)) != alive:
        raise NotWell(f"{alive} sessions were alive at the moment, {found} are in what was put back")
    try:
        server.start_and_wait()
    except NotServing as refusal:
        if "end-everything" not in str(refusal):
            raise
        print(f"  refused: {str(refusal).strip().splitlines()[-1][:200]}", flush=True)
    else:
        raise InvariantBroken("a database that was put back is served", ENDED_STAYS_ENDED)
    command = [sys.executable, "-m", "ostiary_web", "end-everything"]
    environment = {"PATH": "", **settings}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    print(f"  {done.stdout.strip()}", flush=True)
    server.start_and_wait()
    tenants.all[0].end(tenants.all[0].live)
    trio.run(_check, tenants)
    _tell_duration("the others were made anew", lambda: _make_others_anew(cluster, node))
    trio.run(_check, tenants)


def _put_back(cluster: Cluster, node: Node, moment: str) -> None:
    for each in sorted(cluster.nodes, key=lambda each: each is node):
        each.stop()
    target = ("--delta", "--type=time", f"--target={moment}", "--target-action=promote")
    cluster.run_pgbackrest(node, *target, "restore")
    # Patroni knows nothing of a target: PostgreSQL gets there without it.
    node.run_pg_ctl("start")
    _wait_until_promoted(cluster, node)
    node.run_pg_ctl("stop")
    node.run_patronictl("remove", "ostiary", answers="ostiary\nYes I am aware\n")
    node.start()
    _wait(lambda: any(each["role"] == "leader" for each in cluster.members()), "there is no leader")


def _make_others_anew(cluster: Cluster, node: Node) -> None:
    others = [each for each in cluster.nodes if each is not node]
    for each in others:
        each.start()
    _wait(lambda: len(cluster.members()) == len(cluster.nodes), "not all are members")
    for each in others:
        node.run_patronictl("reinit", "ostiary", each.name, "--force", "--wait")
    cluster.wait_until_well(_WELL_SECONDS)


def _wait_until_promoted(cluster: Cluster, node: Node) -> None:
    def is_promoted() -> bool:
        with node.connect() as connection:
            [[is_standby]] = connection.execute("SELECT pg_is_in_recovery()").fetchall()
        return not is_standby

    _wait(is_promoted, "the moment is not reached")


def _tell_time(cluster: Cluster) -> str:
    """A moment between what came before and what comes after."""
    time.sleep(1)
    with cluster.primary().connect() as connection:
        [[moment]] = connection.execute("SELECT clock_timestamp()::text").fetchall()
    time.sleep(1)
    return str(moment)


def _count_alive(cluster: Cluster) -> int:
    with cluster.primary().connect("ostiary") as connection:
        [[alive]] = connection.execute("SELECT count(*) FROM sessions WHERE ended_at IS NULL").fetchall()
    return int(alive)


def _archive_all(cluster: Cluster) -> None:
    with cluster.primary().connect() as connection:
        [[segment]] = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchall()
        latest = "SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver"
        _wait(
            lambda: connection.execute(latest).fetchall()[0][0] >= segment, "the archive does not come along"
        )


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + _ARCHIVED_SECONDS
    while not is_so():
        if time.monotonic() > until:
            raise NotWell(otherwise)
        time.sleep(0.2)


def _tell_duration(what: str, do: Callable[[], None]) -> None:
    began = time.monotonic()
    do()
    print(f"  {what} in {time.monotonic() - began:.1f} s", flush=True)


async def _begin(tenants: Tenants) -> None:
    """A user and a client with three sessions."""
    await tenants.move_in()
    for _ in range(3):
        await authorize(tenants.all[0])
    tenants.close()


async def _go_on(tenants: Tenants) -> None:
    """One is revoked, one rotated, and another begins."""
    for action in (revoke, refresh, authorize):
        await action(tenants.all[0])
    tenants.close()


async def _check(tenants: Tenants) -> None:
    """Nothing of before is alive, and whoever signs in anew is served."""
    [tenant] = tenants.all
    tenant.login = None
    await tenant.check()
    await authorize(tenant)
    tenants.close()
