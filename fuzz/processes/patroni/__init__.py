"""The Patroni of a cluster: a new, pinned one in an environment under build/, or Debian's."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import click

from fuzz.processes.server import ROOT

_LOCK: Final = Path(__file__).with_name("requirements.txt")
_PYTHON: Final = "/usr/bin/python3"
"""The system's Python, which other users may run wherever the campaign's own one lies."""
_SECONDS: Final = 300
"""Longest time of one command, in seconds: installing Patroni."""


@dataclass(frozen=True, slots=True)
class Patroni:
    """A Patroni program, and its settings of a cluster."""

    command: str
    version: str

    @property
    def _numbers(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")[:3]))

    @property
    def etcd_interface(self) -> str:
        """Interface of etcd to use.

        With the new one, before Patroni 3.0.3, a primary that stood still overwrites another's lock.
        """
        return "v3" if self._numbers >= (3, 0, 3) else "v2"

    @property
    def ttl_seconds(self) -> int:
        """Shortest lock that it allows, in seconds."""
        return 20 if self._numbers >= (3, 1) else 6

    @property
    def times(self) -> Mapping[str, str]:
        """Times that replace those of the operators' file."""
        return {
            "ttl: 30": f"ttl: {self.ttl_seconds}",
            "loop_wait: 10": "loop_wait: 1",
            "retry_timeout: 10": f"retry_timeout: {3 if self.ttl_seconds == 20 else 2}",
        }

    def __str__(self) -> str:
        return f"Patroni {self.version}, etcd's {self.etcd_interface}"


def choose_patroni(as_owner: Sequence[str], *, debian: bool) -> Patroni:
    """Return the pinned Patroni, or Debian's, run as its owner. Raises `UsageError` if there is none."""
    try:
        command = "patroni" if debian else str(_environment() / "bin" / "patroni")
        return Patroni(command, _run(*as_owner, command, "--version").split()[-1])
    except (OSError, subprocess.SubprocessError) as error:
        message = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        raise click.UsageError(f"no Patroni: {message}; --debian takes Debian's") from error


def _environment() -> Path:
    folder = ROOT / "build" / f"patroni-{sha256(_LOCK.read_bytes()).hexdigest()[:16]}"
    if not (folder / "complete").exists():
        _run(_PYTHON, "-m", "venv", "--clear", str(folder))
        install = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--retries", "1")
        _run(*install, "--require-hashes", "-r", str(_LOCK))
        (folder / "complete").touch()
    return folder


def _run(*command: str) -> str:
    here = tempfile.gettempdir()
    done = subprocess.run(command, cwd=here, capture_output=True, check=True, text=True, timeout=_SECONDS)
    return done.stdout
