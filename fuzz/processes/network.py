"""A network of machines on one machine, whose cables can be pulled: a namespace for each, on one bridge.

Only root may make one. For everybody else all machines are 127.0.0.1, and no cable can be pulled.
"""

import os
import subprocess
from collections.abc import Sequence

from fuzz.processes.keeper import Keeper


class Network:
    """Machines by number, from 0 on; all is gone with the keeper."""

    def __init__(self, keeper: Keeper, machines: int) -> None:
        self.has_cables = os.geteuid() == 0
        self._draw()
        if not self.has_cables:
            return
        # The name stands for the subnet, so whoever has the bridge has both to itself.
        while not _succeeds("ip", "link", "add", self._tag, "type", "bridge"):
            self._draw()
        keeper.run_last(["ip", "link", "del", self._tag])
        _run("ip", "addr", "add", f"{self._subnet}.1/24", "dev", self._tag)
        _run("ip", "link", "set", self._tag, "up")
        for number in range(machines):
            keeper.run_last(["ip", "netns", "del", self._namespace(number)])
            self._add(number)

    def _draw(self) -> None:
        high, low = 200 + os.urandom(1)[0] % 50, os.urandom(1)[0]
        self._tag, self._subnet = f"ost{high}-{low}", f"10.{high}.{low}"

    @property
    def here(self) -> str:
        """Where those on no machine are found by machines, and by one another."""
        return f"{self._subnet}.1" if self.has_cables else "127.0.0.1"

    def _add(self, number: int) -> None:
        namespace, cable = self._namespace(number), self._cable(number)
        _run("ip", "netns", "add", namespace)
        _run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _run("ip", "link", "set", cable, "master", self._tag, "up")
        for words in (f"addr add {self.address(number)}/24 dev eth0", "link set eth0 up", "link set lo up"):
            _run("ip", "-n", namespace, *words.split())

    def address(self, number: int) -> str:
        """Where a machine is found, also by those on none."""
        return f"{self._subnet}.{10 + number}" if self.has_cables else "127.0.0.1"

    def on(self, number: int, command: Sequence[str]) -> list[str]:
        """The command that runs `command` on a machine."""
        return ["ip", "netns", "exec", self._namespace(number), *command] if self.has_cables else [*command]

    def cut(self, number: int) -> None:
        """Pull the cable of a machine: nothing reaches it, and nobody is told."""
        _run("ip", "link", "set", self._cable(number), "down")

    def mend(self, number: int) -> None:
        """Put the cable back."""
        _run("ip", "link", "set", self._cable(number), "up")

    def hide(self, number: int) -> None:
        """Let nothing reach a machine from those on none; machines go on reaching one another."""
        nobody = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")
        _run("ip", "neigh", "replace", self.address(number), *nobody, "dev", self._tag)

    def show(self, number: int) -> None:
        """Undo `hide`."""
        _run("ip", "neigh", "del", self.address(number), "dev", self._tag)

    def _namespace(self, number: int) -> str:
        return f"{self._tag}-{number}"

    def _cable(self, number: int) -> str:
        return f"{self._tag}-{number}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, check=False, capture_output=True, timeout=20).returncode == 0
