"""A cluster: three PostgreSQL under Patroni, with etcd, HAProxy and PgBouncer.

Each node, with a member of etcd beside it, is a machine of its own on a network of its own (`network`), with
a disk of its own (`disks`). The files are those that operators are given (docs/deploy/cluster); only
addresses, ports and times are others, so that Patroni takes over within seconds. Everything lies in one
folder and ends with the process that made it, however that ends (`keeper`).
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
_BROKEN_STATES: Final = frozenset({"starting", "start failed", "stopped", "crashed"})
"""Of a member that does not come back by itself, where they last; who copies the primary is in another."""


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
        # What begins with the cluster is one file's for all of them: the path is that of whoever runs it.
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
        """Of the nodes."""
        self._proxies = Proxies(programs)

    def start(self) -> None:
        """Back when all three are well and Ostiary's database is there."""
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

    # --- how it is

    @property
    def routes(self) -> dict[str, str]:
        """The ways to reach it, each as `DATABASE_URL`."""
        hosts = ",".join(f"{node.host}:5432" for node in self.nodes)
        addresses = {"all hosts": hosts, **self._proxies.addresses}
        return {name: f"postgresql://ostiary:{PASSWORD}@{each}/ostiary" for name, each in addresses.items()}

    def members(self) -> list[dict[str, Any]]:
        """The nodes as Patroni tells of them, asked of the first that answers; nothing where none does."""
        for node in self.nodes:
            with suppress(URLError, OSError, ValueError):
                return list(node.ask("GET", "/cluster")["members"])
        return []

    def primary(self) -> Node:
        """The node that Patroni holds for the primary. Raises `NotWell` where there is none."""
        return self._one_with("leader")

    def standby(self) -> Node:
        """The synchronous standby. Raises `NotWell` where there is none."""
        return self._one_with("sync_standby")

    def _one_with(self, role: str) -> Node:
        for member in self.members():
            if member["role"] == role:
                return next(node for node in self.nodes if node.name == member["name"])
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
        """The nodes that were made anew, as they did not come back by themselves in half of this time. Raises
        `NotWell` after so long, or after as long once more where one was made anew."""
        made_anew: list[str] = []
        until = time.monotonic() + seconds
        while not self.is_well():
            if not made_anew and time.monotonic() > until - seconds / 2:
                made_anew = [each["name"] for each in self.members() if _is_lost(each)]
                for name in made_anew:
                    self._make_anew(name)
                    until = time.monotonic() + seconds
            if time.monotonic() > until:
                told = ("name", "role", "state", "timeline", "lag")
                states = [" ".join(str(each.get(what)) for what in told) for each in self.members()]
                raise NotWell(f"the cluster is not well after {seconds:.0f} s: {states}")
            time.sleep(_LOOK_SECONDS)
        return made_anew

    def _make_anew(self, name: str) -> None:
        """Have a node copy the primary, as docs/cluster.md has it for one that cannot be rewound."""
        node = next(each for each in self.nodes if each.name == name)
        with suppress(OSError, ValueError):
            node.ask("POST", "/reinitialize", force=True)


def _is_lost(member: dict[str, Any]) -> bool:
    """Whether it does not come back by itself: it does not run, or goes on from where it cannot."""
    return member["state"] in _BROKEN_STATES or (member["state"] == "running" and member.get("lag", 0) != 0)


@contextmanager
def running_cluster(*, strict: bool = False, debian: bool = False) -> Iterator[Cluster]:
    """A new cluster, gone afterwards; its logs are kept where this ends with an exception.

    Raises `UsageError` where this machine lacks a program.
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
