"""What happens to a cluster, its network and the instances on it: each is over where its function ends."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import psycopg

from fuzz.processes.cluster import Cluster
from fuzz.processes.node import Node
from fuzz.processes.programs import NotWell
from fuzz.processes.server import Server

_REPLACED_SECONDS: Final = 4.0
"""How long after its lock has lapsed a primary is sure to have been replaced."""
_AWAY_SECONDS: Final = 10.0
_ENDINGS: Final = 50
_ENDINGS_OF_COMMITS: Final = 20
_ENDINGS_IN_A_ROW: Final = 3
_GATHERING_SECONDS: Final = 0.3
_COMMITTING_SECONDS: Final = 0.3
_PRIMARY_SECONDS: Final = 40.0


@dataclass(slots=True)
class Scene:
    """Where it happens."""

    cluster: Cluster
    servers: Sequence[Server]
    random: Random
    victim: Server | None = None
    """The instance that it happens to, if it is one."""


def kill_primary(scene: Scene) -> None:
    """The primary's machine loses its power, and comes back once another took over."""
    node = scene.cluster.primary()
    node.kill()
    _wait_for_another(scene.cluster, node)
    node.start()


def kill_postgres(scene: Scene) -> None:
    """PostgreSQL on the primary is killed; Patroni beside it is not."""
    scene.cluster.primary().signal(signal.SIGKILL, patroni=False)


def switch_over(scene: Scene) -> None:
    """An operator makes the synchronous standby the primary."""
    primary, candidate = scene.cluster.primary(), scene.cluster.standby()
    primary.ask("POST", "/switchover", leader=primary.name, candidate=candidate.name)


def freeze_primary(scene: Scene) -> None:
    """The primary's machine stands still, another takes over, and the first goes on as if nothing was.

    Not its member of etcd, here and below: one that led when it stood still for longer than a lock lasts ends
    everybody's locks as it goes on (etcd 3.4.23; etcd-io/etcd#15247), and the database itself loses work.
    """
    node = scene.cluster.primary()
    node.signal(signal.SIGSTOP, etcd=False)
    time.sleep(scene.cluster.patroni.ttl_seconds + 2 * _REPLACED_SECONDS)
    node.signal(signal.SIGCONT, etcd=False)


def make_two_primaries(scene: Scene) -> None:
    """The same, and Patroni beside it stands still for longer, so that nobody demotes the first.

    Meanwhile the instances must connect anew: both take connections, and what one of them knows is old.
    """
    cluster, first = scene.cluster, scene.cluster.primary()
    first.signal(signal.SIGSTOP, etcd=False)
    _wait_for_another(cluster, first)
    second = cluster.primary()
    time.sleep(2 * _REPLACED_SECONDS)
    first.signal(signal.SIGCONT, patroni=False)
    _end_connections(scene, second)
    first.signal(signal.SIGCONT, etcd=False)


def kill_standby(scene: Scene) -> None:
    """The synchronous standby's machine loses its power."""
    node = scene.cluster.standby()
    node.kill()
    time.sleep(scene.random.uniform(2, 6))
    node.start()


def freeze_standby(scene: Scene) -> None:
    """The synchronous standby's machine stands still."""
    node = scene.cluster.standby()
    node.signal(signal.SIGSTOP)
    time.sleep(_AWAY_SECONDS)
    node.signal(signal.SIGCONT)


def kill_etcd_member(scene: Scene) -> None:
    """One of three is killed, and the others go on, where need be with another leader."""
    _have_etcd_away(scene, 1)


def kill_etcd(scene: Scene) -> None:
    """Two of three members are killed: nobody can hold a lock."""
    _have_etcd_away(scene, 2)


def end_connections(scene: Scene) -> None:
    """The instances' connections are ended, again and again, some of them in the middle of a commit."""
    _end_connections(scene, scene.cluster.primary())


def end_commits(scene: Scene) -> None:
    """Commits that wait for the synchronous standby, which stands still, are ended: kept, and unanswered."""
    cluster = scene.cluster
    primary, standby = cluster.primary(), cluster.standby()
    with primary.connect() as connection:
        for _ in range(_ENDINGS_OF_COMMITS):
            standby.signal(signal.SIGSTOP, patroni=False)
            try:
                # What is asked during one turn goes into the next: that is to be met as well.
                for _ in range(_ENDINGS_IN_A_ROW):
                    time.sleep(_GATHERING_SECONDS)
                    _wait_for_commits(connection, len(scene.servers))
                    connection.execute(f"SELECT pg_terminate_backend(pid) {_COMMITS_UNDER_WAY}")
            finally:
                standby.signal(signal.SIGCONT, patroni=False)
            # Whoever asks again of its own accord is to be answered.
            time.sleep(0.5)


def restart_instance(scene: Scene) -> None:
    """An instance is replaced gracefully."""
    scene.victim = scene.random.choice(scene.servers)
    scene.victim.stop()
    scene.victim.start_and_wait()


def kill_instance(scene: Scene) -> None:
    """An instance is killed, and starts again."""
    scene.victim = scene.random.choice(scene.servers)
    scene.victim.kill()
    scene.victim.start_and_wait()


def cut_primary_off(scene: Scene) -> None:
    """Nothing reaches the primary's machine, nor does it reach anything, and nobody is told."""
    network, node = scene.cluster.network, scene.cluster.primary()
    network.cut(node.number)
    time.sleep(scene.cluster.patroni.ttl_seconds + _REPLACED_SECONDS + scene.random.uniform(0, 5))
    network.mend(node.number)


def cut_standby_off(scene: Scene) -> None:
    """Nothing reaches the synchronous standby's machine."""
    network, node = scene.cluster.network, scene.cluster.standby()
    network.cut(node.number)
    time.sleep(_AWAY_SECONDS)
    network.mend(node.number)


def hide_primary(scene: Scene) -> None:
    """The instances do not reach the primary, which is well, so that nobody takes over."""
    network, node = scene.cluster.network, scene.cluster.primary()
    network.hide(node.number)
    time.sleep(_AWAY_SECONDS)
    network.show(node.number)


def lose_primary_unheard(scene: Scene) -> None:
    """The standbys hear nothing of the primary for a moment, in which it works on; then its machine is gone.

    Whatever it acknowledged alone in that moment is lost.
    """
    cluster, node = scene.cluster, scene.cluster.primary()
    others = [each for each in cluster.nodes if each is not node]
    for each in others:
        cluster.network.cut(each.number)
    time.sleep(1.0)
    cluster.network.cut(node.number)
    node.kill()
    for each in others:
        cluster.network.mend(each.number)
    _wait_for_another(cluster, node)
    cluster.network.mend(node.number)
    node.start()


def make_primary_stutter(scene: Scene) -> None:
    """The primary's machine has a quarter of its time: PostgreSQL and Patroni stand still again and again."""
    node = scene.cluster.primary()
    until = time.monotonic() + _AWAY_SECONDS
    while time.monotonic() < until:
        node.signal(signal.SIGSTOP)
        time.sleep(0.3)
        node.signal(signal.SIGCONT)
        time.sleep(0.1)


_COMMITS_UNDER_WAY: Final = "FROM pg_stat_activity WHERE usename = 'ostiary' AND wait_event = 'SyncRep'"


def _wait_for_commits(connection: psycopg.Connection[Any], number: int) -> None:
    """Until so many are under way, or are not going to be."""
    until = time.monotonic() + _COMMITTING_SECONDS
    while time.monotonic() < until:
        [[waiting]] = connection.execute(f"SELECT count(*) {_COMMITS_UNDER_WAY}").fetchall()
        if waiting >= number:
            return
        time.sleep(0.02)


def slow_primary_disk(scene: Scene) -> None:
    """The primary's disk has a tenth of its time."""
    cluster = scene.cluster
    disk = cluster.disks[cluster.primary().number]
    until = time.monotonic() + _AWAY_SECONDS
    while time.monotonic() < until:
        with disk.freeze():
            time.sleep(0.9)
        time.sleep(0.1)


def stop_primary_disk(scene: Scene) -> None:
    """Whatever is written to the primary's disk waits, for longer than a lock lasts."""
    cluster = scene.cluster
    with cluster.disks[cluster.primary().number].freeze():
        time.sleep(cluster.patroni.ttl_seconds + _REPLACED_SECONDS)


def fill_primary_disk(scene: Scene) -> None:
    """There is no room on the primary's disk, until an operator makes some."""
    _have_no_room(scene, scene.cluster.primary())


def fill_standby_disk(scene: Scene) -> None:
    """There is no room on the synchronous standby's disk, until an operator makes some."""
    _have_no_room(scene, scene.cluster.standby())


def _have_no_room(scene: Scene, node: Node) -> None:
    cluster = scene.cluster
    disk = cluster.disks[node.number]
    disk.fill()
    until = time.monotonic() + cluster.patroni.ttl_seconds + _REPLACED_SECONDS
    while time.monotonic() < until:
        # The log goes on in a new file, as the old one has room inside.
        with suppress(psycopg.Error, NotWell), cluster.primary().connect() as connection:
            connection.execute("SELECT pg_switch_wal()")
        time.sleep(0.5)
    disk.clear()


Mishap = Callable[[Scene], None]

MISHAPS: Final[dict[str, Mishap]] = {
    "primary killed": kill_primary,
    "PostgreSQL of the primary killed": kill_postgres,
    "switchover": switch_over,
    "primary frozen": freeze_primary,
    "two primaries": make_two_primaries,
    "primary stutters": make_primary_stutter,
    "standby killed": kill_standby,
    "standby frozen": freeze_standby,
    "etcd without a member": kill_etcd_member,
    "etcd without a majority": kill_etcd,
    "connections ended": end_connections,
    "commits ended": end_commits,
    "instance restarted": restart_instance,
    "instance killed": kill_instance,
}

CUTS: Final[dict[str, Mishap]] = {
    "primary cut off": cut_primary_off,
    "primary lost unheard": lose_primary_unheard,
    "standby cut off": cut_standby_off,
    "primary hidden": hide_primary,
}
"""Those that need a network whose cables can be pulled."""

OF_DISKS: Final[dict[str, Mishap]] = {
    "primary's disk slow": slow_primary_disk,
    "primary's disk stands still": stop_primary_disk,
    "primary's disk full": fill_primary_disk,
    "standby's disk full": fill_standby_disk,
}
"""Those that need disks of the nodes' own."""

ALL: Final = MISHAPS | CUTS | OF_DISKS


def possible_mishaps(cluster: Cluster) -> dict[str, Mishap]:
    """Those that can be made here."""
    cuts = CUTS if cluster.network.has_cables else {}
    return MISHAPS | cuts | (OF_DISKS if cluster.disks else {})


def _have_etcd_away(scene: Scene, members: int) -> None:
    nodes = scene.random.sample(scene.cluster.nodes, members)
    for node in nodes:
        node.kill_etcd()
    time.sleep(_AWAY_SECONDS)
    for node in nodes:
        node.start_etcd()


def _end_connections(scene: Scene, node: Node) -> None:
    ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ostiary'"
    with node.connect() as connection:
        for _ in range(_ENDINGS):
            connection.execute(ending)
            time.sleep(scene.random.uniform(0, 0.4))


def _wait_for_another(cluster: Cluster, node: Node) -> None:
    until = time.monotonic() + _PRIMARY_SECONDS
    while time.monotonic() < until:
        if any(each["role"] == "leader" and each["name"] != node.name for each in cluster.members()):
            return
        time.sleep(0.2)
    raise NotWell(f"nobody took over from {node.name}: {cluster.folder}")
