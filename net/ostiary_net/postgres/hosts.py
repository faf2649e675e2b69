"""Connect to the primary among several hosts by trying all of them at once; or to the only host.

A host that refuses is tried again, with pauses. Tried one after the other, a lost machine would be waited for
before the next host, at each connection, and a host that is about to become the primary would be tried too
early. The last primary has a head start: if only connections were cut, the others cost more time than they
save.
"""

from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection

C = TypeVar("C", bound=Connection[Any])

_LONGEST_PAUSE_SECONDS: Final = 0.2
_FIRST_PAUSE_SECONDS: Final = 0.02
"""First pause before a host is tried again: a connection may be cut by chance. Each pause doubles."""
_AHEAD_SECONDS: Final = 0.2
"""Head start of the last primary over the other hosts."""
_ASKS_BESIDE_SECONDS: Final = 2.0
"""Time after which a silent host is tried a second time, beside the first.

A network that is back is noticed at the next attempt, and the system's own are seconds apart."""


class Hosts:
    """The hosts of an address, and which was the primary last."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._hosts = _split(parameters)
        self._last_primary: dict[str, str] | None = None

    def __len__(self) -> int:
        return len(self._hosts)

    def connect(self, connect: Callable[[dict[str, str]], C], seconds: float) -> C:
        """Return the first connection that `connect` makes, within about so many seconds.

        `connect` is called in several threads, with the parameters of one host each. Raises the last host's
        error.
        """
        is_over = Event()
        answers: SimpleQueue[tuple[dict[str, str], C]] = SimpleQueue()
        errors: list[psycopg.Error] = []
        hosts_that_answered: list[dict[str, str]] = []

        def ask(host: dict[str, str], pause: float) -> None:
            is_over.wait(pause)
            if host in hosts_that_answered:
                return
            pause = _FIRST_PAUSE_SECONDS
            while not is_over.is_set():
                try:
                    connection = connect(host)
                except psycopg.Error as error:
                    errors.append(error)
                    hosts_that_answered.append(host)
                    is_over.wait(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                    continue
                answers.put((host, connection))
                break

        def close_late_ones(threads: Sequence[Thread]) -> None:
            for thread in threads:
                thread.join()
            while not answers.empty():
                answers.get()[1].close()

        threads = [
            Thread(target=ask, args=(host, pause), daemon=True)
            for host in self._hosts
            for pause in (0.0 if self._last_primary in (None, host) else _AHEAD_SECONDS, _ASKS_BESIDE_SECONDS)
        ]
        for thread in threads:
            thread.start()
        try:
            self._last_primary, connection = answers.get(timeout=seconds)
            return connection
        except Empty:
            raise errors[-1] if errors else psycopg.OperationalError("none of the hosts answers") from None
        finally:
            is_over.set()
            Thread(target=close_late_ones, args=(threads,), daemon=True).start()


def _split(parameters: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the parameters of each host; one empty set if the address has one host or chooses.

    Raises `psycopg.OperationalError` for several ports that are not one for each host.
    """
    hosts, ports = (str(parameters.get(name) or "").split(",") for name in ("host", "port"))
    if len(hosts) == 1 or "target_session_attrs" in parameters or "hostaddr" in parameters:
        return [{}]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    if len(ports) != len(hosts):
        raise psycopg.OperationalError(f"{len(ports)} ports are named for {len(hosts)} hosts")
    return [
        {"host": host, **({"port": port} if port else {})} for host, port in zip(hosts, ports, strict=True)
    ]
