"""Mishaps of a cluster, its network and its instances; each has ended when its function returns."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import psycopg

from fuzz.processes.cluster import Cluster
from fuzz.processes.node import Node
from fuzz.processes.programs import NotWell
from fuzz.processes.server import Server

_REPLACED_SECONDS: Final = 4.0
"""Seconds after its lock has expired until a primary has surely been replaced."""
_AWAY_SECONDS: Final = 10.0
_ENDINGS: Final = 50
_ENDINGS_OF_COMMITS: Final = 20
_ENDINGS_IN_A_ROW: Final = 3
_GATHERING_SECONDS: Final = 0.3
_COMMITTING_SECONDS: Final = 0.3
_PRIMARY_SECONDS: Final = 40.0
_COMMITS_UNDER_WAY: Final = "FROM pg_stat_activity WHERE usename = 'ostiary' AND wait_event = 'SyncRep'"


@dataclass(slots=True)
class Scene:
    """The cluster and the instances of a mishap."""

    cluster: Cluster
    servers: Sequence[Server]
    random: Random
    victim: Server | None = None
    """The instance that a mishap ends, if any."""

    @property
    def replaced_seconds(self) -> float:
        """Seconds that a primary must be away until another has taken over."""
        return self.cluster.patroni.ttl_seconds + _REPLACED_SECONDS


Mishap = Callable[[Scene], None]
Trouble = Callable[[Scene], AbstractContextManager[None]]


def _for_a_while(trouble: Trouble, *, replaced: bool = False) -> Mishap:
    """Return a mishap that ends before another node has to take over, or after it has if `replaced`."""

    def meet(scene: Scene) -> None:
        with trouble(scene):
            time.sleep(scene.replaced_seconds + scene.random.uniform(0, 5) if replaced else _AWAY_SECONDS)

    return meet


def _in_turns(trouble: Trouble, on_seconds: float, off_seconds: float) -> Mishap:
    """Return a mishap that comes and goes."""

    def meet(scene: Scene) -> None:
        until = time.monotonic() + _AWAY_SECONDS
        while time.monotonic() < until:
            with trouble(scene):
                time.sleep(on_seconds)
            time.sleep(off_seconds)

    return meet


# --- machines


def _kill_primary(scene: Scene) -> None:
    node = scene.cluster.primary()
    node.kill()
    _wait_for_another(scene.cluster, node)
    node.start()


def _kill_standby(scene: Scene) -> None:
    node = scene.cluster.standby()
    node.kill()
    time.sleep(scene.random.uniform(2, 6))
    node.start()


def _kill_postgres(scene: Scene) -> None:
    scene.cluster.primary().signal(signal.SIGKILL, patroni=False)


def _switch_over(scene: Scene) -> None:
    primary, candidate = scene.cluster.primary(), scene.cluster.standby()
    primary.ask("POST", "/switchover", leader=primary.name, candidate=candidate.name)


@contextmanager
def _freeze(node: Node, *, etcd: bool) -> Iterator[None]:
    """Stop a node's machine while the block runs.

    The primary's member of etcd is left running: a leading member that stood still for longer than a lock
    lasts ends all locks when it continues (etcd 3.4.23; etcd-io/etcd#15247), and the database itself loses
    work.
    """
    node.signal(signal.SIGSTOP, etcd=etcd)
    yield
    node.signal(signal.SIGCONT, etcd=etcd)


def _freeze_primary(scene: Scene) -> AbstractContextManager[None]:
    return _freeze(scene.cluster.primary(), etcd=False)


def _make_two_primaries(scene: Scene) -> None:
    """Keep Patroni on a frozen primary stopped for longer, so that the old primary is not demoted.

    Meanwhile the instances must connect again: both nodes take connections, and one of them has old data.
    """
    cluster, first = scene.cluster, scene.cluster.primary()
    with _freeze(first, etcd=False):
        _wait_for_another(cluster, first)
        second = cluster.primary()
        time.sleep(2 * _REPLACED_SECONDS)
        first.signal(signal.SIGCONT, patroni=False)
        _end_connections(scene, second)


def _kill_etcd(members: int) -> Trouble:
    @contextmanager
    def kill(scene: Scene) -> Iterator[None]:
        nodes = scene.random.sample(scene.cluster.nodes, members)
        for node in nodes:
            node.kill_etcd()
        yield
        for node in nodes:
            node.start_etcd()

    return kill


# --- connections and instances


def _end_connections(scene: Scene, node: Node) -> None:
    ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ostiary'"
    with node.connect() as connection:
        for _ in range(_ENDINGS):
            connection.execute(ending)
            time.sleep(scene.random.uniform(0, 0.4))


def _end_commits(scene: Scene) -> None:
    cluster = scene.cluster
    primary, standby = cluster.primary(), cluster.standby()
    with primary.connect() as connection:
        for _ in range(_ENDINGS_OF_COMMITS):
            standby.signal(signal.SIGSTOP, patroni=False)
            try:
                # Requests during one turn go into the next one, which is hit as well.
                for _ in range(_ENDINGS_IN_A_ROW):
                    time.sleep(_GATHERING_SECONDS)
                    _wait_for_commits(connection, len(scene.servers))
                    connection.execute(f"SELECT pg_terminate_backend(pid) {_COMMITS_UNDER_WAY}")
            finally:
                standby.signal(signal.SIGCONT, patroni=False)
            # The instances' own retries must succeed.
            time.sleep(0.5)


def _wait_for_commits(connection: psycopg.Connection[Any], number: int) -> None:
    """Wait until so many commits are under way, or for a limited time."""
    until = time.monotonic() + _COMMITTING_SECONDS
    while time.monotonic() < until:
        [[waiting]] = connection.execute(f"SELECT count(*) {_COMMITS_UNDER_WAY}").fetchall()
        if waiting >= number:
            return
        time.sleep(0.02)


def _replace_instance(end: Callable[[Server], object]) -> Mishap:
    def meet(scene: Scene) -> None:
        scene.victim = scene.random.choice(scene.servers)
        end(scene.victim)
        scene.victim.start_and_wait()

    return meet


# --- the network


def _cut_primary_off(scene: Scene) -> AbstractContextManager[None]:
    return scene.cluster.network.cut_off(scene.cluster.primary().number)


def _lose_primary_unheard(scene: Scene) -> None:
    """Cut the standbys off, then kill the primary: a commit that it acknowledged alone meanwhile is lost."""
    cluster, node = scene.cluster, scene.cluster.primary()
    others = [each for each in cluster.nodes if each is not node]
    for each in others:
        cluster.network.cut(each.number)
    time.sleep(1.0)
    with cluster.network.cut_off(node.number):
        node.kill()
        for each in others:
            cluster.network.mend(each.number)
        _wait_for_another(cluster, node)
    node.start()


# --- disks


def _freeze_disk(scene: Scene) -> AbstractContextManager[None]:
    return scene.cluster.disks[scene.cluster.primary().number].freeze()


def _fill_disk(find: Callable[[Cluster], Node]) -> Mishap:
    def fill(scene: Scene) -> None:
        cluster = scene.cluster
        disk = cluster.disks[find(cluster).number]
        disk.fill()
        until = time.monotonic() + scene.replaced_seconds
        while time.monotonic() < until:
            # The old log file has room left, so that the log must go on in a new one.
            with suppress(psycopg.Error, NotWell), cluster.primary().connect() as connection:
                connection.execute("SELECT pg_switch_wal()")
            time.sleep(0.5)
        disk.clear()

    return fill


MISHAPS: Final[dict[str, Mishap]] = {
    # A machine loses its power; the primary's comes back after another node took over.
    "primary killed": _kill_primary,
    "standby killed": _kill_standby,
    "PostgreSQL of the primary killed": _kill_postgres,
    "switchover": _switch_over,
    # A machine stands still, or has a quarter of its time.
    "primary frozen": _for_a_while(_freeze_primary, replaced=True),
    "two primaries": _make_two_primaries,
    "primary stutters": _in_turns(_freeze_primary, 0.3, 0.1),
    "standby frozen": _for_a_while(lambda scene: _freeze(scene.cluster.standby(), etcd=True)),
    # Of three members one is killed, or so many that no node can hold a lock.
    "etcd without a member": _for_a_while(_kill_etcd(1)),
    "etcd without a majority": _for_a_while(_kill_etcd(2)),
    # Connections of instances end; in the second case during commits, which are kept without an answer.
    "connections ended": lambda scene: _end_connections(scene, scene.cluster.primary()),
    "commits ended": _end_commits,
    "instance restarted": _replace_instance(Server.stop),
    "instance killed": _replace_instance(Server.kill),
    # A machine is cut off from everything, or from the instances only.
    "primary cut off": _for_a_while(_cut_primary_off, replaced=True),
    "primary lost unheard": _lose_primary_unheard,
    "standby cut off": _for_a_while(
        lambda scene: scene.cluster.network.cut_off(scene.cluster.standby().number)
    ),
    "primary hidden": _for_a_while(lambda scene: scene.cluster.network.hide(scene.cluster.primary().number)),
    # A disk works a tenth of the time, or not at all, or is full until an operator frees space.
    "primary's disk slow": _in_turns(_freeze_disk, 0.9, 0.1),
    "primary's disk stands still": _for_a_while(_freeze_disk, replaced=True),
    "primary's disk full": _fill_disk(Cluster.primary),
    "standby's disk full": _fill_disk(Cluster.standby),
}


def _wait_for_another(cluster: Cluster, node: Node) -> None:
    until = time.monotonic() + _PRIMARY_SECONDS
    while time.monotonic() < until:
        if any(each["role"] == "leader" and each["name"] != node.name for each in cluster.members()):
            return
        time.sleep(0.2)
    raise NotWell(f"nobody took over from {node.name}: {cluster.folder}")
