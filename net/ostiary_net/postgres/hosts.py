"""Connects to whichever of several hosts is the primary, asking all of them at once; or to the only one.

Whoever does not let one in is asked again and again, with pauses. Asked one after the other, a machine that
is gone without a word would be waited for before the next one is tried, at each connection; and one that is
about to become the primary would be asked too early. The one that was the primary last is a little ahead of
the others: where only connections were cut, asking these costs more time than it saves.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection

C = TypeVar("C", bound=Connection[Any])

_ASKS_AGAIN_SECONDS: Final = 0.2
_FIRST_PAUSE_SECONDS: Final = 0.02
"""Before the first of these: a connection may be cut by chance. Each pause is twice as long as the last."""
_AHEAD_SECONDS: Final = 0.2
"""How much sooner the primary of the last connection is asked than the others."""
_ASKS_BESIDE_SECONDS: Final = 2.0
"""When a host that has said nothing is asked a second time, beside the first: a network that comes back is
noticed at the next attempt of the system's own, and by then those of one connection are seconds apart."""


class Hosts:
    """The hosts of an address, and which of them let one in last."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._hosts = _split(parameters)
        self._last_primary: dict[str, str] | None = None

    def __len__(self) -> int:
        return len(self._hosts)

    def connect(self, connect: Callable[[dict[str, str]], C], seconds: float) -> C:
        """Connect by the first host that lets `connect` succeed, within about so many seconds.

        `connect` is given the parameters that name a host alone, in one of several threads. Raises what one
        of the hosts raised last.
        """
        until = time.monotonic() + seconds
        is_over = Event()
        answers: SimpleQueue[tuple[dict[str, str], C]] = SimpleQueue()
        errors: list[psycopg.Error] = []
        hosts_that_answered: list[dict[str, str]] = []

        def ask(host: dict[str, str], pause: float) -> None:
            is_over.wait(pause)
            if host in hosts_that_answered:
                return
            pause = _FIRST_PAUSE_SECONDS
            while not is_over.is_set() and time.monotonic() < until:
                try:
                    connection = connect(host)
                except psycopg.Error as error:
                    errors.append(error)
                    hosts_that_answered.append(host)
                    is_over.wait(pause)
                    pause = min(2 * pause, _ASKS_AGAIN_SECONDS)
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
    """The hosts of an address, each as the parameters that name it alone.

    One set of none where there is a single host, or where the address itself says which of them it means.
    """
    hosts, ports = (str(parameters.get(name) or "").split(",") for name in ("host", "port"))
    if len(hosts) == 1 or "target_session_attrs" in parameters or "hostaddr" in parameters:
        return [{}]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [
        {"host": host, **({"port": port} if port else {})} for host, port in zip(hosts, ports, strict=True)
    ]
