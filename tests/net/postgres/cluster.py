"""A PostgreSQL that belongs to one module of tests alone, so that it can be stopped under load."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import chown
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.localhost import free_port


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Cluster:
    """One server with its data in a folder."""

    def __init__(self, folder: Path, binaries: Path, replaced: "Cluster | None" = None) -> None:
        """Make a server; with `replaced`, one with its data, which took over from it."""
        self.folder, self.binaries = folder, binaries
        self.owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.owner:
            chown(folder, "postgres")
        self.port = free_port()
        self.address = f"postgresql://ostiary@127.0.0.1:{self.port}/postgres"
        if replaced is None:
            self._run("initdb", "-U", "ostiary", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
            self.start()
            return
        subprocess.run([*self.owner, "cp", "-a", replaced.folder / "data", folder], check=True, cwd="/")
        subprocess.run([*self.owner, "touch", folder / "data" / "standby.signal"], check=True, cwd="/")
        self.start()
        self.execute("SELECT pg_promote()")

    def start(self) -> None:
        """Start, and return once it takes connections."""
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop; immediate is like a crash: its log has what is committed, and nothing else."""
        self._run("pg_ctl", "-m", mode, "-w", "stop")

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Stop all its processes while the block runs; connections stay open, as with a suspended machine."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        group = [postmaster, *children_of(postmaster)]
        for process in group:
            with suppress(ProcessLookupError):  # one of its helpers that has just ended
                os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in group:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(statement.encode())

    def set(self, name: str, value: str) -> None:
        """Set a parameter, a literal of SQL, while it runs; back when new connections have it."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute(f"SHOW {name}".encode()).fetchone() != (value.strip("'"),):
                pass

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self.owner, str(self.binaries / program), "-D", str(self.folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            timeout=60,
        )


def children_of(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Yield a new server; skip the test without PostgreSQL."""
    binaries = _binaries()
    if binaries is None:
        if "postgres" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
            pytest.fail("OSTIARY_TEST_REQUIRE names postgres, and there is no initdb in /usr/lib/postgresql")
        pytest.skip("no initdb in /usr/lib/postgresql: install postgresql")
    with TemporaryDirectory() as folder:
        made = Cluster(Path(folder), binaries)
        try:
            yield made
        finally:
            made.stop()
