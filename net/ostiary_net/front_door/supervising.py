"""Keeps several worker processes alive on the same sockets.

The parent opens the sockets, so that an address in use ends it at once, and a worker's death frees none. It
restarts a worker that dies: at once when that had served for a while, else after a pause that doubles. While
no worker has ever served, a few deaths in a row make the parent give up.

A worker that stands still may hold SQLite's lock of writing, which all others wait for. So each gives signs
of life once it serves, and one that has given none for a while is killed, which frees its locks.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog
import trio

from ostiary_net.front_door.lifeline import VARIABLE, WORKER, Lifeline, feed_watchdog, notify_manager
from ostiary_net.front_door.listeners import format_listener_url, open_listeners
from ostiary_net.front_door.serving import FORCE_EXIT_SECONDS, OnListening
from ostiary_net.front_door.stopping import list_stop_signals

_log = structlog.get_logger("ostiary")

_SETTLED_SECONDS: Final = 10.0
_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 15.0
_MOST_FAILED_STARTS: Final = 3
_KILL_SECONDS: Final = FORCE_EXIT_SECONDS + 1.0
"""Seconds after the graceful ones until a worker is killed, which should have ended itself by then."""


def supervise(
    argv: Sequence[str],
    *,
    bind: str,
    workers: int,
    graceful_seconds: float,
    on_listening: OnListening,
    examine: Callable[[], None] = lambda: None,
) -> int:
    """Run `workers` processes until one of `STOP_SIGNALS` comes; return the exit code of this process.

    Each is started as `argv` with the addresses of the inherited sockets, `fd://N`, behind it. The code is 0
    when all stopped in time. `on_listening` is called with the addresses when the first worker serves.
    `examine` is called while the address is held and before there are workers; what it raises ends it.
    Raises `AddressError`.
    """
    with open_listeners(bind) as listeners:
        examine()
        supervisor = _Supervisor(argv, listeners, workers, graceful_seconds, on_listening)
        return trio.run(supervisor.run)


@dataclass(slots=True)
class _Supervisor:
    argv: Sequence[str]
    listeners: Sequence[socket.socket]
    workers: int
    graceful_seconds: float
    on_listening: OnListening
    _stop: trio.Event = field(default_factory=trio.Event)
    _at_once: trio.Event = field(default_factory=trio.Event)
    _ever_served: bool = False
    _failed_starts: int = 0
    _exit_code: int = 0

    async def run(self) -> int:
        """Start all workers, and keep them running until asked to stop."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._heed_signals)
            nursery.start_soon(feed_watchdog)
            async with trio.open_nursery() as keepers:
                for slot in range(self.workers):
                    keepers.start_soon(self._keep, slot)
            nursery.cancel_scope.cancel()
        return self._exit_code

    async def _keep(self, slot: int) -> None:
        """Keep one worker running: start it again whenever it dies."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        while not self._stop.is_set():
            born = trio.current_time()
            try:
                code = await self._run_worker(slot)
            except OSError as error:
                # The system has no room for another process now: the others go on, and this one is tried
                # again.
                _log.error("a worker could not be started", worker=slot, reason=error.strerror)
                code = os.EX_OSERR
            if self._stop.is_set():
                return
            if trio.current_time() - born >= _SETTLED_SECONDS:
                pause_seconds = _FIRST_PAUSE_SECONDS
                _log.error("a worker died and is started again", worker=slot, exit_code=code)
                continue
            if not self._ever_served:
                self._failed_starts += 1
                if self._failed_starts >= _MOST_FAILED_STARTS:
                    self._give_up(code)
                    return
            _log.error(
                "a worker died and is started again", worker=slot, exit_code=code, in_seconds=pause_seconds
            )
            with trio.move_on_after(pause_seconds):
                await self._stop.wait()
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def _run_worker(self, slot: int) -> int:
        """Run one worker to its end; return its exit code, negative for a signal."""
        ours, its = socket.socketpair()
        with Lifeline(ours) as lifeline, its:
            listening = [each.fileno() for each in self.listeners]
            process = await trio.lowlevel.open_process(
                [*self.argv, ",".join(f"fd://{each}" for each in listening)],
                env={**os.environ, VARIABLE: str(its.fileno()), WORKER: str(slot)},
                stdin=subprocess.DEVNULL,
                pass_fds=(*listening, its.fileno()),
                start_new_session=True,  # so a Ctrl-C reaches the parent alone, which then stops its workers
            )
            its.close()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._listen, lifeline, process, slot)
                nursery.start_soon(self._end_in_time, process, slot)
                code = await process.wait()
                nursery.cancel_scope.cancel()
        return code

    async def _listen(self, lifeline: Lifeline, process: trio.Process, slot: int) -> None:
        """Wait until a worker serves, and kill it once it gives no sign of life."""
        if not await lifeline.wait():
            return
        # A worker may serve just as the supervisor is asked to stop, which has closed the sockets by then.
        if not self._ever_served and not self._stop.is_set():
            self._ever_served = True
            self.on_listening([format_listener_url(each) for each in self.listeners])
            notify_manager("READY=1")
        await lifeline.wait_for_silence()
        _log.error("a worker gives no sign of life and is killed", worker=slot)
        process.kill()

    async def _end_in_time(self, process: trio.Process, slot: int) -> None:
        """Send SIGTERM to a worker when asked to stop, and later SIGKILL if it has not ended."""
        await self._stop.wait()
        process.send_signal(signal.SIGTERM)
        with trio.move_on_after(self.graceful_seconds + _KILL_SECONDS):
            await self._at_once.wait()
        self._exit_code = 1
        process.kill()
        _log.error("a worker did not stop in time and is killed", worker=slot)

    def _give_up(self, code: int) -> None:
        _log.critical(
            "no worker could start; see what the last one said above",
            attempts=self._failed_starts,
            exit_code=code,
        )
        self._exit_code = 1
        self._stop.set()

    async def _heed_signals(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(*list_stop_signals()) as signals:
            task_status.started()
            async for _ in signals:
                if self._stop.is_set():
                    self._at_once.set()
                else:
                    notify_manager("STOPPING=1")
                self._stop.set()
                # The kernel would still queue connections, which no worker accepts any more.
                for each in self.listeners:
                    each.close()
