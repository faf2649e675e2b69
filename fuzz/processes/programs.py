"""The programs of a cluster: their names, and how to run them on one of its machines or on none."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from fuzz.processes.keeper import Keeper
from fuzz.processes.network import Network
from fuzz.processes.patroni import choose_patroni
from fuzz.processes.server import ROOT

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
"""Required programs, with the Debian package of each."""
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_RUN_SECONDS: Final = 120.0


class NotWell(RuntimeError):
    """The cluster did not reach the expected state; the text says where its logs are."""


def require_programs() -> None:
    """Raise `UsageError` if a program is missing; it names the missing ones and how to install them."""
    if os.geteuid() != 0:
        raise click.UsageError("only root may make the networks and disks of a cluster")
    missing = [program for program in _PROGRAMS if shutil.which(program, path=_PATH) is None]
    packages = {_PROGRAMS[program] for program in missing}
    if find_postgresql() is None:
        packages.add("postgresql")
    if packages:
        names = " ".join(sorted(packages))
        install = f"apt-get install --no-install-recommends {names} python3-etcd"
        raise click.UsageError(f"missing: {names} (Debian: {install})")


def find_postgresql() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


class Programs:
    """The programs of one cluster, run by PostgreSQL's owner, with their files in one folder."""

    def __init__(self, keeper: Keeper, folder: Path, machines: int, *, debian: bool) -> None:
        self.folder = folder
        self._keeper = keeper
        self._as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        self.give(folder)
        folder.chmod(0o711)
        self.patroni = choose_patroni(self._as_owner, debian=debian)
        self.network = Network(keeper, machines)

    def give(self, path: Path) -> None:
        """Make the owner own this path."""
        shutil.chown(path, "postgres", "postgres")

    def start(
        self, *command: str, log: str, machine: int | None = None, settings: Mapping[str, str] | None = None
    ) -> int:
        """Start a program that keeps running; return its process id."""
        return self._keeper.start(self._place(machine, command), self.folder / log, settings)

    def run(self, *command: str) -> None:
        """Run a program to its end, on no machine. Raises `NotWell` with its output."""
        line = self._place(None, command)
        ran = subprocess.run(line, capture_output=True, check=False, cwd="/", text=True, timeout=_RUN_SECONDS)
        if ran.returncode:
            raise NotWell(f"{command[0]} ends with {ran.returncode}: {ran.stdout} {ran.stderr}")

    def _place(self, machine: int | None, command: Sequence[str]) -> list[str]:
        whole = [*self._as_owner, *command]
        return whole if machine is None else self.network.on(machine, whole)

    def write(self, name: str, words: Mapping[str, str], folder: str = "") -> Path:
        """Write an operators' file with words replaced, each of which must occur in it."""
        text = (_FILES / name).read_text(encoding="utf-8")
        for word, other in words.items():
            assert word in text, word
            text = text.replace(word, other)
        path = self.folder / folder / name
        path.write_text(text, encoding="utf-8")
        return path
