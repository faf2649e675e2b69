"""A network of machines on one machine, with cables that can be pulled: namespaces on a bridge.

Only root may make one.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from fuzz.processes.keeper import Keeper


class Network:
    """Machines by number, from 0 on; all are removed with the keeper."""

    def __init__(self, keeper: Keeper, machines: int) -> None:
        while True:
            high, low = 200 + os.urandom(1)[0] % 50, os.urandom(1)[0]
            self._tag, self._subnet = f"ost{high}-{low}", f"10.{high}.{low}"
            # The bridge's name contains the subnet, so the process that creates the bridge owns both.
            made = _run("ip", "link", "add", self._tag, "type", "bridge", check=False)
            if made.returncode == 0:
                break
            if "File exists" not in made.stderr:
                raise click.UsageError(f"no network can be made here: {made.stderr}")
        keeper.run_last(["ip", "link", "del", self._tag])
        _run("ip", "addr", "add", f"{self._subnet}.1/24", "dev", self._tag)
        _run("ip", "link", "set", self._tag, "up")
        for number in range(machines):
            keeper.run_last(["ip", "netns", "del", self._namespace(number)])
            self._add(number)

    @property
    def here(self) -> str:
        """Address of programs that run on no machine."""
        return f"{self._subnet}.1"

    def _add(self, number: int) -> None:
        namespace, cable = self._namespace(number), self._cable(number)
        _run("ip", "netns", "add", namespace)
        _run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _run("ip", "link", "set", cable, "master", self._tag, "up")
        for words in (f"addr add {self.address(number)}/24 dev eth0", "link set eth0 up", "link set lo up"):
            _run("ip", "-n", namespace, *words.split())

    def address(self, number: int) -> str:
        """Return the address of a machine."""
        return f"{self._subnet}.{10 + number}"

    def on(self, number: int, command: Sequence[str]) -> list[str]:
        """Return the command that runs `command` on a machine."""
        return ["ip", "netns", "exec", self._namespace(number), *command]

    def cut(self, number: int) -> None:
        """Pull the cable of a machine: nothing reaches it, and no connection is reset."""
        _run("ip", "link", "set", self._cable(number), "down")

    def mend(self, number: int) -> None:
        """Put the cable back."""
        _run("ip", "link", "set", self._cable(number), "up")

    @contextmanager
    def cut_off(self, number: int) -> Iterator[None]:
        """Leave the cable of a machine pulled while the block runs."""
        self.cut(number)
        yield
        self.mend(number)

    @contextmanager
    def hide(self, number: int) -> Iterator[None]:
        """Block programs on no machine from a machine; machines still reach each other."""
        nobody = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")
        _run("ip", "neigh", "replace", self.address(number), *nobody, "dev", self._tag)
        yield
        _run("ip", "neigh", "del", self.address(number), "dev", self._tag)

    def _namespace(self, number: int) -> str:
        return f"{self._tag}-{number}"

    def _cable(self, number: int) -> str:
        return f"{self._tag}-{number}"


def _run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=20)
