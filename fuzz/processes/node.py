"""A node of the cluster: a machine with PostgreSQL under Patroni, and a member of etcd."""

import json
import os
import signal
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

import psycopg

from fuzz.processes.keeper import find_descendants
from fuzz.processes.programs import Programs, find_postgresql

PASSWORD: Final = "a-password-of-the-cluster"
"""Password of every account in the cluster."""


class Node:
    """One machine with PostgreSQL, Patroni and a member of etcd."""

    def __init__(
        self, number: int, programs: Programs, words: Mapping[str, str], nodes: Sequence["Node"]
    ) -> None:
        """Create a node; `words` are values for Patroni's file, `nodes` all nodes once the cluster starts."""
        self.number = number
        self.name = f"db{number + 1}"
        self.host = programs.network.address(number)
        self.etcd_address = f"{self.host}:2379"
        self.etcd_peer = f"etcd{number + 1}=http://{self.host}:2380"
        """Address of its member of etcd for the other members."""
        self.folder = programs.folder / self.name
        self.data = self.folder / "data"
        self._programs, self._nodes = programs, nodes
        self._words = {**words, "/var/run/postgresql": str(self.folder)}
        self._patroni_pid = 0
        self._etcd_pid = 0

    def start_etcd(self) -> None:
        """Start etcd on its existing data, unless it runs."""
        if self._etcd_pid:
            return
        name, _, peer_address = self.etcd_peer.partition("=")
        address = f"http://{self.etcd_address}"
        self._etcd_pid = self._programs.start(
            "etcd",
            f"--name={name}",
            f"--data-dir={self._programs.folder / name}",
            f"--listen-client-urls={address}",
            f"--advertise-client-urls={address}",
            f"--listen-peer-urls={peer_address}",
            f"--initial-advertise-peer-urls={peer_address}",
            f"--initial-cluster={','.join(node.etcd_peer for node in self._nodes)}",
            f"--enable-v2={str(self._programs.patroni.etcd_interface == 'v2').lower()}",
            log=f"{name}.log",
            machine=self.number,
        )

    def kill_etcd(self) -> None:
        """Kill the member of etcd; its data stays."""
        os.kill(self._etcd_pid, signal.SIGKILL)
        self._etcd_pid = 0

    def start(self) -> None:
        """Start etcd and Patroni, which starts PostgreSQL."""
        self.start_etcd()
        file = self._programs.write("patroni.yml", self._words, self.name)
        command, settings = (self._programs.patroni.command, str(file)), self._environment()
        log = f"{self.name}.log"
        self._patroni_pid = self._programs.start(*command, log=log, machine=self.number, settings=settings)

    def _environment(self) -> dict[str, str]:
        """Return the settings of Patroni that differ for each node."""
        etcd = "ETCD3" if self._programs.patroni.etcd_interface == "v3" else "ETCD"
        members = ",".join(each.etcd_address for each in self._nodes)
        words = {
            "PATRONI_NAME=db1": f"PATRONI_NAME={self.name}",
            "0.0.0.0": self.host,
            "db1.internal": self.host,
            "/var/lib/postgresql/15/ostiary": str(self.data),
            "/usr/lib/postgresql/15/bin": str(find_postgresql()),
            "/var/lib/postgresql/patroni.pgpass": str(self.folder / "pgpass"),
            **dict.fromkeys(("change-me-1", "change-me-2", "change-me-3"), PASSWORD),
            "etcd1.internal:2379,etcd2.internal:2379,etcd3.internal:2379": members,
            "PATRONI_ETCD3_HOSTS=": f"PATRONI_{etcd}_HOSTS=",
        }
        text = self._programs.write("patroni.env", words, self.name).read_text(encoding="utf-8")
        return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))

    def processes(self, *, patroni: bool = True, etcd: bool = True) -> list[int]:
        """Return the processes of PostgreSQL, and by default of Patroni and etcd."""
        pids = []
        if patroni and self._patroni_pid:
            pids += [self._patroni_pid, *find_descendants(self._patroni_pid)]
        if patroni and etcd and self._etcd_pid:
            pids.append(self._etcd_pid)
        with suppress(FileNotFoundError, IndexError, ValueError):
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
            if b"postgres" in Path(f"/proc/{postmaster}/cmdline").read_bytes():
                pids += [postmaster, *find_descendants(postmaster)]
        return pids

    def signal(self, number: int, *, patroni: bool = True, etcd: bool = True) -> None:
        """Send a signal to all of these processes at once."""
        for pid in self.processes(patroni=patroni, etcd=etcd):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Kill all of them, as if the machine lost its power."""
        self.signal(signal.SIGSTOP)  # so that none starts another meanwhile
        self.signal(signal.SIGKILL)
        self._patroni_pid = self._etcd_pid = 0

    def ask(self, method: str, path: str, **content: object) -> dict[str, Any]:
        """Return the answer of its Patroni within 60 s. Raises `URLError`, `OSError` or `ValueError`."""
        credentials = b64encode(f"patroni:{PASSWORD}".encode()).decode()
        request = Request(
            f"http://{self.host}:8008{path}",
            method=method,
            data=json.dumps(content).encode() if content else None,
            headers={"Authorization": f"Basic {credentials}", "Content-Type": "application/json"},
        )
        with urlopen(request, timeout=2 if method == "GET" else 60) as answer:
            body = answer.read()
        return dict(json.loads(body)) if body.startswith(b"{") else {}

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Return a superuser's connection to this node, in autocommit, which gives up on a cut network."""
        return psycopg.connect(
            host=self.host,
            user="postgres",
            password=PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=2,
            keepalives_idle=1,
            keepalives_interval=1,
            keepalives_count=2,
            tcp_user_timeout=2_000,
        )
