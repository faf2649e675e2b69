"""A cluster: three PostgreSQL under Patroni, with etcd, HAProxy and PgBouncer.

Each node, with a member of etcd beside it, is a machine of its own on a network of its own (`network`), with
a disk of its own (`disks`). Its files are those for operators (docs/deploy/cluster) with other addresses,
ports and times, so that Patroni takes over within seconds. Everything lies in one folder and ends with the
process that made it, however that ends (`keeper`).
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError

from fuzz.processes.disks import Disk
from fuzz.processes.keeper import Keeper
from fuzz.processes.node import PASSWORD, Node
from fuzz.processes.programs import NotWell, Programs, require_programs
from fuzz.processes.proxies import Proxies

_NODES: Final = 3
_START_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.1
_ROLE_SECONDS: Final = 10.0
"""Longest wait for a role that is being given, as after a loss of etcd, which may take the standby's away."""
_BROKEN_STATES: Final = frozenset({"starting", "start failed", "stopped", "crashed"})
"""Patroni's states of a member that will not recover if they last; a copying member is in another state."""


class Cluster:
    """The nodes, and HAProxy and PgBouncer in front of them."""

    def __init__(self, keeper: Keeper, folder: Path, *, strict: bool, debian: bool) -> None:
        self.keeper, self.folder = keeper, folder
        self._programs = programs = Programs(keeper, folder, _NODES, debian=debian)
        self.network, self.patroni = programs.network, programs.patroni
        repository = folder / "repository"
        repository.mkdir()
        programs.give(repository)
        words = {
            "/var/lib/pgbackrest": str(repository),
            "[ostiary]": f"lock-path={folder}/repository/lock\nlog-level-file=off\n\n[ostiary]",
        }
        self._pgbackrest = ("pgbackrest", f"--config={programs.write('pgbackrest.conf', words)}")
        # Settings at the cluster's start come from one file for all nodes: each needs its own path.
        archiving = " ".join((*self._pgbackrest, "--pg1-path=$PWD"))
        words = {
            **self.patroni.times,
            "wal_sender_timeout: 10s": "wal_sender_timeout: 3s",
            "synchronous_mode_strict: false": f"synchronous_mode_strict: {str(strict).lower()}",
            "mode: automatic": "mode: off",  # it would switch this very machine off
            "archive_command: pgbackrest": f"archive_command: {archiving}",
            "restore_command: pgbackrest": f"restore_command: {archiving}",
        }
        self.nodes: list[Node] = []
        self.nodes += [Node(each, programs, words, self.nodes) for each in range(_NODES)]
        self.disks: list[Disk] = []
        """Disks of the nodes."""
        self._proxies = Proxies(programs)

    def start(self) -> None:
        """Start; return when all three nodes are well and Ostiary's database exists."""
        folders = [node.folder for node in self.nodes]
        for folder in folders:
            folder.mkdir()
        self.disks = [Disk(self.keeper, folder) for folder in folders]
        for folder in folders:
            self._programs.give(folder)
        for node in self.nodes:
            node.start_etcd()
        for node in self.nodes:
            node.start()
        self.wait_until_well(_START_SECONDS)
        primary = self.primary()
        here = (f"--pg1-path={primary.data}", f"--pg1-socket-path={primary.folder}", "--stanza=ostiary")
        self._programs.run(*self._pgbackrest, *here, "stanza-create")
        with primary.connect() as connection:
            connection.execute(f"CREATE ROLE ostiary LOGIN PASSWORD '{PASSWORD}'".encode())
            connection.execute("GRANT pg_monitor TO ostiary")
            connection.execute("CREATE DATABASE ostiary OWNER ostiary")
            connection.execute("CREATE TABLE probe (filler text NOT NULL)")
            connection.execute("ALTER TABLE probe ALTER filler SET STORAGE PLAIN")
        self._proxies.start(self.nodes)

    # --- its state

    @property
    def routes(self) -> dict[str, str]:
        """The ways to reach it, each as `DATABASE_URL`."""
        hosts = ",".join(f"{node.host}:5432" for node in self.nodes)
        addresses = {"all hosts": hosts, **self._proxies.addresses}
        return {name: f"postgresql://ostiary:{PASSWORD}@{each}/ostiary" for name, each in addresses.items()}

    def members(self) -> list[dict[str, Any]]:
        """Return Patroni's list of the nodes, from the first node that answers; an empty one if none does."""
        for node in self.nodes:
            with suppress(URLError, OSError, ValueError):
                return list(node.ask("GET", "/cluster")["members"])
        return []

    def primary(self) -> Node:
        """Return the node that Patroni lists as the primary. Raises `NotWell` if none is in seconds."""
        return self._one_with("leader")

    def standby(self) -> Node:
        """Return the synchronous standby. Raises `NotWell` if none is in seconds."""
        return self._one_with("sync_standby")

    def _one_with(self, role: str) -> Node:
        until = time.monotonic() + _ROLE_SECONDS
        while time.monotonic() < until:
            for member in self.members():
                if member["role"] == role:
                    return next(node for node in self.nodes if node.name == member["name"])
            time.sleep(_LOOK_SECONDS)
        raise NotWell(f"there is no {role}: {self.folder}")

    def is_well(self) -> bool:
        """Whether all nodes run on one timeline, one is the primary and one its synchronous standby."""
        members = self.members()
        roles = [member["role"] for member in members]
        return (
            len(members) == _NODES
            and {member["state"] for member in members} <= {"running", "streaming"}
            and len({member.get("timeline") for member in members}) == 1
            and all(member.get("lag", 0) == 0 for member in members)
            and roles.count("leader") == 1
            and roles.count("sync_standby") == 1
        )

    def wait_until_well(self, seconds: float) -> list[str]:
        """Wait until the cluster is well; return the nodes that were rebuilt.

        A node that does not recover in half of this time is rebuilt. Raises `NotWell` after the time, or
        after twice the time if a node was rebuilt.
        """
        made_anew: list[str] = []
        until = time.monotonic() + seconds
        while not self.is_well():
            if not made_anew and time.monotonic() > until - seconds / 2:
                made_anew = [each["name"] for each in self.members() if _is_lost(each)]
                for name in made_anew:
                    self._make_anew(name)
                    until = time.monotonic() + seconds
            if time.monotonic() > until:
                fields = ("name", "role", "state", "timeline", "lag")
                states = [" ".join(str(each.get(what)) for what in fields) for each in self.members()]
                raise NotWell(f"the cluster is not well after {seconds:.0f} s: {states}")
            time.sleep(_LOOK_SECONDS)
        return made_anew

    def _make_anew(self, name: str) -> None:
        """Rebuild a node as a copy of the primary, as docs/cluster.md says of one that cannot rewind."""
        node = next(each for each in self.nodes if each.name == name)
        with suppress(OSError, ValueError):
            node.ask("POST", "/reinitialize", force=True)


def _is_lost(member: dict[str, Any]) -> bool:
    """Whether a member does not recover by itself: it does not run, or continues from an unusable state."""
    return member["state"] in _BROKEN_STATES or (member["state"] == "running" and member.get("lag", 0) != 0)


@contextmanager
def run_cluster(*, strict: bool = False, debian: bool = False) -> Iterator[Cluster]:
    """Run a new cluster and remove it afterwards; its logs are kept after an exception.

    Raises `UsageError` if this machine lacks a program.
    """
    require_programs()
    folder = Path(tempfile.mkdtemp(prefix="ostiary-cluster-"))
    with Keeper(folder) as keeper:
        cluster = Cluster(keeper, folder, strict=strict, debian=debian)
        try:
            cluster.start()
            yield cluster
        except BaseException as error:
            logs = folder.with_name(f"{folder.name}-logs")
            logs.mkdir()
            for log in (*folder.glob("*.log"), *folder.glob("*/log")):
                shutil.copy(log, logs / "-".join(log.relative_to(folder).parts))
            error.add_note(f"its logs:   {logs}")
            raise
