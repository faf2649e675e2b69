"""`python -m fuzz.processes.cluster`: three PostgreSQL under Patroni, with etcd, HAProxy and PgBouncer.

Each node, with a member of etcd beside it, is a machine of its own on a network of its own (`network`), with
a disk of its own (`disks`). The files are those that operators are given (docs/deploy/cluster); only
addresses, ports and times are others, so that Patroni takes over within seconds. Everything lies in one
folder and ends with the process that made it, however that ends (`keeper`).
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

import psycopg

from fuzz.processes.disks import Disk, make_disks
from fuzz.processes.keeper import Keeper, descendants
from fuzz.processes.network import Network
from fuzz.processes.patroni import choose_patroni
from fuzz.processes.server import ROOT, runs

_FILES: Final = ROOT / "docs" / "deploy" / "cluster"
_PROGRAMS: Final = {
    "patroni": "patroni",
    "etcd": "etcd-server",
    "haproxy": "haproxy",
    "pgbouncer": "pgbouncer",
    "pgbackrest": "pgbackrest",
    "setpriv": "util-linux",
    "ip": "iproute2",
}
"""What is needed, and the Debian package that has it."""
_NODES: Final = 3
_PASSWORD: Final = "a-password-of-the-cluster"
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.1
_BROKEN_STATES: Final = frozenset({"starting", "start failed", "stopped", "crashed"})
"""Of a member that does not come back by itself, where they last; who copies the primary is in another."""


class NotWell(RuntimeError):
    """The cluster did not come to what it should; the text says where its logs are."""


def missing() -> str:
    """What this machine lacks, and how to get it, in one line; empty where nothing is missing."""
    packages = {
        package for program, package in _PROGRAMS.items() if shutil.which(program, path=_PATH) is None
    }
    if _binaries() is None:
        packages.add("postgresql")
    if not packages:
        return ""
    names = " ".join(sorted(packages))
    return f"missing: {names} (Debian: apt-get install --no-install-recommends {names} python3-etcd)"


_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _render(text: str, words: Mapping[str, str]) -> str:
    """The text with other words, each of which must be there."""
    for word, other in words.items():
        assert word in text, word
        text = text.replace(word, other)
    return text


class Node:
    """One machine with PostgreSQL, Patroni and a member of etcd."""

    def __init__(self, cluster: "Cluster", number: int) -> None:
        self.number = number
        self.name = f"db{number + 1}"
        self.host = cluster.network.address(number)
        self.port, self.rest_port, etcd_port, etcd_peer_port = (
            (5432, 8008, 2379, 2380) if cluster.network.has_cables else (_free_port() for _ in range(4))
        )
        self.etcd_address = f"{self.host}:{etcd_port}"
        self.etcd_peer = f"etcd{number + 1}=http://{self.host}:{etcd_peer_port}"
        """As the members know each other."""
        self.data = cluster.folder / self.name / "data"
        self._cluster = cluster
        self._patroni = 0
        self._etcd = 0

    def start_etcd(self) -> None:
        """Start etcd on the data it has, unless it runs."""
        if self._etcd:
            return
        cluster = self._cluster
        name, _, peer_address = self.etcd_peer.partition("=")
        address = f"http://{self.etcd_address}"
        command = [
            "etcd",
            f"--name={name}",
            f"--data-dir={cluster.folder / name}",
            f"--listen-client-urls={address}",
            f"--advertise-client-urls={address}",
            f"--listen-peer-urls={peer_address}",
            f"--initial-advertise-peer-urls={peer_address}",
            f"--initial-cluster={','.join(node.etcd_peer for node in cluster.nodes)}",
            f"--enable-v2={str(cluster.patroni.etcd_interface == 'v2').lower()}",
        ]
        self._etcd = cluster.keeper.start(
            cluster.network.on(self.number, [*cluster.as_owner, *command]), cluster.folder / f"{name}.log"
        )

    def kill_etcd(self) -> None:
        """The member is gone, and its data is not."""
        os.kill(self._etcd, signal.SIGKILL)
        self._etcd = 0

    def start(self) -> None:
        """Start etcd, and Patroni, which starts PostgreSQL."""
        self.start_etcd()
        cluster = self._cluster
        command = cluster.network.on(
            self.number, [*cluster.as_owner, cluster.patroni.command, cluster.write_patroni_file(self)]
        )
        self._patroni = cluster.keeper.start(command, cluster.folder / f"{self.name}.log", self.environment())

    def environment(self) -> dict[str, str]:
        """Its own side of Patroni's settings, which `patronictl` reads too."""
        cluster = self._cluster
        rest, postgres = f"{self.host}:{self.rest_port}", f"{self.host}:{self.port}"
        return {
            "PATRONI_NAME": self.name,
            "PATRONI_RESTAPI_LISTEN": rest,
            "PATRONI_RESTAPI_CONNECT_ADDRESS": rest,
            "PATRONI_RESTAPI_USERNAME": "patroni",
            "PATRONI_RESTAPI_PASSWORD": _PASSWORD,
            "PATRONI_POSTGRESQL_LISTEN": postgres,
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": postgres,
            "PATRONI_POSTGRESQL_DATA_DIR": str(self.data),
            "PATRONI_POSTGRESQL_BIN_DIR": str(_binaries()),
            "PATRONI_POSTGRESQL_PGPASS": str(self.data.with_name("pgpass")),
            "PATRONI_SUPERUSER_USERNAME": "postgres",
            "PATRONI_SUPERUSER_PASSWORD": _PASSWORD,
            "PATRONI_REPLICATION_USERNAME": "replicator",
            "PATRONI_REPLICATION_PASSWORD": _PASSWORD,
            "PATRONI_ETCD3_HOSTS"
            if cluster.patroni.etcd_interface == "v3"
            else "PATRONI_ETCD_HOSTS": ",".join(each.etcd_address for each in cluster.nodes),
        }

    def stop(self) -> None:
        """Stop Patroni, and so PostgreSQL, in an orderly way; etcd goes on."""
        os.kill(self._patroni, signal.SIGTERM)
        until = time.monotonic() + _STOP_SECONDS
        while runs(self._patroni) or self.processes(patroni=False):
            if time.monotonic() > until:
                raise NotWell(f"{self.name} does not stop: {self._cluster.folder}")
            time.sleep(_LOOK_SECONDS)
        self._patroni = 0

    def processes(self, *, patroni: bool = True) -> list[int]:
        """Those of PostgreSQL, and unless that alone is meant, of Patroni and etcd."""
        pids = []
        if patroni and self._patroni:
            pids += [self._patroni, *descendants(self._patroni)]
        if patroni and self._etcd:
            pids.append(self._etcd)
        with suppress(FileNotFoundError, IndexError, ValueError):
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
            if b"postgres" in Path(f"/proc/{postmaster}/cmdline").read_bytes():
                pids += [postmaster, *descendants(postmaster)]
        return pids

    def signal(self, number: int, *, patroni: bool = True) -> None:
        """Send a signal to all of them at once."""
        for pid in self.processes(patroni=patroni):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """As if the machine lost its power."""
        self.signal(signal.SIGSTOP)  # so that nobody starts another meanwhile
        self.signal(signal.SIGKILL)
        self._patroni = self._etcd = 0

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection of the superuser to this node, in autocommit, that gives up on a cut network."""
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user="postgres",
            password=_PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=2,
            keepalives_idle=1,
            keepalives_interval=1,
            keepalives_count=2,
            tcp_user_timeout=2_000,
        )


class Cluster:
    """The nodes, and HAProxy and PgBouncer in front of them."""

    def __init__(
        self,
        keeper: Keeper,
        folder: Path,
        *,
        synchronous: bool = True,
        strict: bool = False,
        debian: bool = False,
    ) -> None:
        self.keeper, self.folder = keeper, folder
        self.as_owner: list[str] = []
        if os.geteuid() == 0:
            self.as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
            shutil.chown(folder, "postgres")
        folder.chmod(0o711)
        self._synchronous = synchronous
        self.patroni = choose_patroni(self.as_owner, debian=debian)
        self.network = Network(keeper, _NODES)
        self.nodes = [Node(self, number) for number in range(_NODES)]
        self.disks: list[Disk] = []
        """Of the nodes, where they can have some."""
        # On a network of their own nobody else has the usual ports.
        has_usual = self.network.has_cables
        self._haproxy = f"{self.network.here}:{5000 if has_usual else _free_port()}"
        self._pgbouncers = {
            mode: f"{self.network.here}:{port if has_usual else _free_port()}"
            for mode, port in (("session", 6432), ("transaction", 6433))
        }
        repository = folder / "repository"
        words = {
            "/var/lib/pgbackrest": str(repository),
            "[ostiary]": f"lock-path={folder}/repository/lock\nlog-level-file=off\n\n[ostiary]",
        }
        self._pgbackrest = ["pgbackrest", f"--config={self._write('pgbackrest.conf', words)}"]
        repository.mkdir()
        if self.as_owner:
            shutil.chown(repository, "postgres", "postgres")
        self._words = {
            **self.patroni.times,
            "wal_sender_timeout: 10s": "wal_sender_timeout: 3s",
            "synchronous_mode: true": f"synchronous_mode: {str(synchronous).lower()}",
            "synchronous_mode_strict: false": f"synchronous_mode_strict: {str(strict).lower()}",
            "mode: automatic": "mode: off",  # it would switch this very machine off
        }

    def write_patroni_file(self, node: Node) -> str:
        """The path of the file that a node's Patroni is started with."""
        # What begins with the cluster is one file's for all of them: the path is that of whoever runs it.
        archiving = " ".join((*self._pgbackrest, "--pg1-path=$PWD"))
        words = {
            **self._words,
            "/var/run/postgresql": str(node.data.parent),
            "archive_command: pgbackrest": f"archive_command: {archiving}",
            "restore_command: pgbackrest": f"restore_command: {archiving}",
        }
        return str(self._write("patroni.yml", words, node.name))

    def start(self) -> None:
        """Back when all three are well and Ostiary's database is there."""
        for node in self.nodes:
            node.data.parent.mkdir()
        self.disks = make_disks(self.keeper, [node.data.parent for node in self.nodes])
        for node in self.nodes:
            if self.as_owner:
                shutil.chown(node.data.parent, "postgres", "postgres")
        for node in self.nodes:
            node.start_etcd()
        for node in self.nodes:
            node.start()
        self.wait_until_well(_START_SECONDS)
        self.run_pgbackrest(self.primary(), "stanza-create")
        with self.primary().connect() as connection:
            connection.execute(f"CREATE ROLE ostiary LOGIN PASSWORD '{_PASSWORD}'".encode())
            connection.execute("GRANT pg_monitor TO ostiary")
            connection.execute("CREATE DATABASE ostiary OWNER ostiary")
            connection.execute("CREATE TABLE probe (filler text NOT NULL)")
            connection.execute("ALTER TABLE probe ALTER filler SET STORAGE PLAIN")
        words = {"127.0.0.1:5000": self._haproxy}
        for node in self.nodes:
            server = f"{node.name}.internal:5432 check port 8008"
            words[server] = f"{node.host}:{node.port} check port {node.rest_port}"
        path = self._write("haproxy.cfg", words)
        self.keeper.start([*self.as_owner, "haproxy", "-db", "-f", str(path)], self.folder / "haproxy.log")
        for pool_mode, address in self._pgbouncers.items():
            self._start_pgbouncer(pool_mode, address)

    def _start_pgbouncer(self, pool_mode: str, address: str) -> None:
        users = self.folder / "userlist.txt"
        users.write_text(f'"ostiary" "{_PASSWORD}"\n', encoding="utf-8")
        host, _, port = self._haproxy.partition(":")
        own_host, _, own_port = address.partition(":")
        words = {
            "host=127.0.0.1 port=5000": f"host={host} port={port}",
            "listen_addr = 127.0.0.1": f"listen_addr = {own_host}",
            "listen_port = 6432": f"listen_port = {own_port}",
            "pool_mode = session": f"pool_mode = {pool_mode}",
            "/etc/pgbouncer/userlist.txt": str(users),
        }
        folder = self.folder / f"pgbouncer-{pool_mode}"
        folder.mkdir()
        path = self._write("pgbouncer.ini", words, folder.name)
        self.keeper.start([*self.as_owner, "pgbouncer", str(path)], folder / "log")

    def run_pgbackrest(self, node: Node, *command: str) -> None:
        """Run pgBackRest on a node."""
        here = [f"--pg1-path={node.data}", "--stanza=ostiary"]
        if "restore" not in command:  # the only one for which nothing runs
            here.append(f"--pg1-socket-path={node.data.parent}")
        self.run_as_owner(*self._pgbackrest, *here, *command)

    def run_pg_ctl(self, node: Node, *command: str) -> None:
        """Run pg_ctl for a node's PostgreSQL."""
        log = f"--log={node.data.parent / 'log'}"
        whole = (f"{_binaries()}/pg_ctl", f"--pgdata={node.data}", log, "--wait", *command)
        self.run_as_owner(*whole, machine=node)

    def run_patronictl(self, node: Node, *command: str, answers: str = "") -> None:
        """Run patronictl on a node, and answer what it asks."""
        program = f"{self.patroni.command}ctl"
        file = str(node.data.with_name("patroni.yml"))
        whole = (program, "-c", file, *command)
        self.run_as_owner(*whole, machine=node, answers=answers, settings=node.environment())

    def run_as_owner(
        self,
        *command: str,
        machine: Node | None = None,
        answers: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Run a command as PostgreSQL's owner, on a machine or none. Raises `NotWell` with what it said."""
        whole = [*self.as_owner, *command]
        done = subprocess.run(
            self.network.on(machine.number, whole) if machine else whole,
            input=answers,
            capture_output=True,
            check=False,
            cwd="/",
            env={**os.environ, **(settings or {})},
            text=True,
            timeout=_START_SECONDS,
        )
        if done.returncode:
            raise NotWell(f"{command[0]} ends with {done.returncode}: {done.stdout} {done.stderr}")

    def _write(self, name: str, words: Mapping[str, str], folder: str = "") -> Path:
        path = self.folder / folder / name
        path.write_text(_render((_FILES / name).read_text(encoding="utf-8"), words), encoding="utf-8")
        return path

    # --- how it is

    @property
    def routes(self) -> dict[str, str]:
        """The ways to reach it, each as `DATABASE_URL`."""
        hosts = ",".join(f"{node.host}:{node.port}" for node in self.nodes)
        addresses = {"all hosts": hosts, "HAProxy": self._haproxy, "PgBouncer": self._pgbouncers["session"]}
        addresses["PgBouncer by transactions"] = self._pgbouncers["transaction"]
        return {name: f"postgresql://ostiary:{_PASSWORD}@{each}/ostiary" for name, each in addresses.items()}

    def members(self) -> list[dict[str, Any]]:
        """The nodes as Patroni tells of them, asked of the first that answers; nothing where none does."""
        for node in self.nodes:
            with suppress(URLError, OSError, ValueError):
                return list(self.ask(node, "GET", "/cluster")["members"])
        return []

    def ask(self, node: Node, method: str, path: str, **content: object) -> dict[str, Any]:
        """What Patroni on a node answers within 60 s. Raises `URLError`, `OSError` or `ValueError`."""
        credentials = b64encode(f"patroni:{_PASSWORD}".encode()).decode()
        request = Request(
            f"http://{node.host}:{node.rest_port}{path}",
            method=method,
            data=json.dumps(content).encode() if content else None,
            headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/json"},
        )
        with urlopen(request, timeout=2 if method == "GET" else 60) as answer:
            body = answer.read()
        return dict(json.loads(body)) if body.startswith(b"{") else {}

    def primary(self) -> Node:
        """The node that Patroni holds for the primary. Raises `NotWell` where there is none."""
        return self._one_with("leader")

    def standby(self) -> Node:
        """The synchronous standby. Raises `NotWell` where there is none."""
        return self._one_with("sync_standby" if self._synchronous else "replica")

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
            and roles.count("sync_standby") == int(self._synchronous)
        )

    def wait_until_well(self, seconds: float) -> list[str]:
        """The nodes that were made anew, as they did not come back by themselves in half of this time. Raises
        `NotWell` after so long, or after as long once more where one was made anew."""
        made_anew: list[str] = []
        until = time.monotonic() + seconds
        while not self.is_well():
            if not made_anew and time.monotonic() > until - seconds / 2:
                made_anew = [each["name"] for each in self.members() if each["state"] in _BROKEN_STATES]
                for name in made_anew:
                    self._make_anew(name)
                    until = time.monotonic() + seconds
            if time.monotonic() > until:
                states = [(each.get("name"), each.get("role"), each.get("state")) for each in self.members()]
                raise NotWell(f"the cluster is not well after {seconds:.0f} s: {states}; logs: {self.folder}")
            time.sleep(_LOOK_SECONDS)
        return made_anew

    def _make_anew(self, name: str) -> None:
        """Have a node copy the primary, as docs/cluster.md has it for one that cannot be rewound."""
        node = next(each for each in self.nodes if each.name == name)
        with suppress(OSError, ValueError):
            self.ask(node, "POST", "/reinitialize", force=True)


@contextmanager
def running_cluster(
    *, synchronous: bool = True, strict: bool = False, debian: bool = False
) -> Iterator[Cluster]:
    """A new cluster, gone afterwards; its logs are kept where this ends with an exception."""
    folder = Path(tempfile.mkdtemp(prefix="ostiary-cluster-"))
    with Keeper(folder) as keeper:
        cluster = Cluster(keeper, folder, synchronous=synchronous, strict=strict, debian=debian)
        try:
            cluster.start()
            yield cluster
        except BaseException:
            logs = folder.with_name(f"{folder.name}-logs")
            logs.mkdir()
            for log in (*folder.glob("*.log"), *folder.glob("*/log")):
                shutil.copy(log, logs / "-".join(log.relative_to(folder).parts))
            raise


def main() -> int:
    """Run a cluster until the input ends."""
    if lack := missing():
        print(lack, file=sys.stderr)
        return 2
    with running_cluster() as cluster:
        print(f"{cluster.patroni}; primary {cluster.primary().name}; files {cluster.folder}")
        for route, address in cluster.routes.items():
            print(f"{route:<26} {address}", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
