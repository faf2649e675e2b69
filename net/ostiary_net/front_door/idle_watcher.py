"""Closes the connections of a server that are idle for too long, and those that a stop waits for in vain."""

import math

import trio

from ostiary_net.front_door.connections import OpenConnections
from ostiary_net.front_door.hypercorn_internals import Config, WorkerContext
from ostiary_net.front_door.limits import DoorLimits


class IdleWatcher:
    """Watches all connections of a server with one task, in place of the one a request that Hypercorn starts.

    The task runs while there are connections. Measured: a task for each would add 4 KiB to it.
    """

    def __init__(
        self, connections: OpenConnections, context: WorkerContext, config: Config, limits: DoorLimits
    ) -> None:
        self.context = context
        self._connections = connections
        self._graceful_seconds = config.graceful_timeout
        self._new_seconds = limits.head_seconds
        self._idle_seconds = limits.idle_seconds
        self._parting_seconds = limits.parting_seconds
        self._is_running = False

    def start(self) -> None:
        """Watch from now on, as there is a connection."""
        if not self._is_running:
            self._is_running = True
            trio.lowlevel.spawn_system_task(self._run)

    async def _run(self) -> None:
        terminated = self.context.terminated
        try:
            while len(self._connections) and not terminated.is_set():
                with trio.move_on_at(self._close_expired()):
                    await terminated.wait()
            if terminated.is_set():
                await self._end_all(trio.current_time())
        finally:
            self._is_running = False

    def _close_expired(self) -> float:
        """Close the connections whose time is over; return when the next one's may be."""
        now = trio.current_time()
        for connection in self._connections.take_expired(self._new_seconds, self._idle_seconds, now):
            connection.close_idle()
        # No connection that becomes idle later expires before the shorter of these.
        return self._connections.find_expiry(self._new_seconds, self._idle_seconds, now)

    async def _end_all(self, stopped_at: float) -> None:
        """Close idle connections when no request on its way is waited for any more, the others by force."""
        parting = stopped_at + self._parting_seconds
        while len(self._connections) and trio.current_time() < parting:
            expiry = self._close_expired()
            await trio.sleep_until(min(parting, expiry))
        for connection in self._connections.take_expired(-math.inf, -math.inf, parting):
            connection.close_idle()
        if len(self._connections):
            # A request that runs ends its connection by its answer. Hypercorn would wait without limit for a
            # client that does not take it, as it shields its writes.
            await trio.sleep_until(stopped_at + self._graceful_seconds)
            for connection in self._connections.open:
                connection.abort()
