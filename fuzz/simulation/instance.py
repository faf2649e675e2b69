"""One instance of the server: the real application behind the real front door, with crashes and restarts."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from quart import request

from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS
from fuzz.shared.seeds import SeededEntropy
from fuzz.shared.sheets import CHEAP
from fuzz.simulation.connections import HOST, Connection, Wire, connect
from fuzz.simulation.plan import Swarm
from fuzz.simulation.storage import FaultyStore, Shared
from fuzz.simulation.witness import Witness, WitnessedService
from ostiary_core.http import TokenEndpoint
from ostiary_core.model.decision import Decision
from ostiary_core.model.policy import Policy
from ostiary_core.throttling.rate_windows import RateWindows
from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_net.front_door import Guard, patch_hypercorn
from ostiary_net.front_door.connection import open_connection
from ostiary_net.lane import start_door
from ostiary_net.runtime.arrivals import StallDetector
from ostiary_net.runtime.system import RunSync, SystemClock, run_inline
from ostiary_net.runtime.text_messages import TextMessage
from ostiary_net.turns.service import Service
from ostiary_net.upkeep.sweeping import Purge, erase_salts
from ostiary_web.app.asgi_app import make_door_limits
from ostiary_web.app.factory import Application
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.settings import Settings
from ostiary_web.server.wiring import NO_UPKEEP, Dependencies
from ostiary_web.sheets.reader import read_sheet_in_place

T = TypeVar("T")

FREE_GUESSES: Final = 20
"""Failed sign-ins of one address without a delay, by default."""
MOST_WRONG_SECONDS: Final = 60
"""Largest error of a clock, in seconds.

The sweeper of one instance may harm another if their clocks differ by more than
`Policy.clock_margin_seconds`, which is twice this.
"""
_TICKS_AFTER_PAUSE: Final = 6
PROXY: Final = "10.0.0.9"
_ENVIRONMENT: Final = {"TRUST_PROXY": PROXY, "PUBLIC_URL": f"http://{HOST}", "RATE_LIMIT_SCALE": "100"}


class _Kept:
    """Gateway of text messages that only keeps them."""

    is_local = True

    def __init__(self) -> None:
        self.messages: list[TextMessage] = []

    async def deliver(self, message: TextMessage) -> None:
        """Keep a message."""
        self.messages.append(message)


ROUTES: Final = Counter[str]()
"""Requests of the present run that the application answered, by route; without the lane's."""


class RestingDetector(StallDetector):
    """A detector that ticks around pauses only: ticking for months of virtual time would take minutes."""

    pauses: int = 0
    """Number of ongoing pauses."""

    def begin_pause(self) -> None:
        """Tick for the last time before the process stands still."""
        if not self.pauses:
            self.tick()
        self.pauses += 1

    def end_pause(self) -> None:
        """Tick again, late, unless another pause goes on."""
        self.pauses -= 1
        if not self.pauses:
            self.tick()

    async def settle(self) -> None:
        """Tick until the backlog of a pause is read, then detect nothing until the next one."""
        for _ in range(_TICKS_AFTER_PAUSE):
            await trio.sleep(0.5)
            if self.pauses:
                return
            self.tick()
        self._ticked_at = None


@cache
def _application(number: int) -> Application:
    """Return an application to reuse in many runs, as making one costs more than a run."""
    patch_hypercorn()
    application = Application(Settings.from_environment(_ENVIRONMENT))

    async def count_route() -> None:
        if request.url_rule is not None:
            ROUTES[f"{request.method} {request.url_rule.rule}"] += 1

    application.quart.before_request(count_route)
    return application


def read_routes() -> list[tuple[str, str]]:
    """Return every method and path of the application, the variable parts of a path in angle brackets."""
    return [
        (method, str(rule.rule))
        for rule in _application(0).quart.url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


@dataclass
class Instance:
    """One instance, and its current process."""

    number: int
    name: str
    folder: Path
    policy: Policy
    shared: Shared
    witness: Witness
    wire: Wire
    swarm: Swarm
    committed: Callable[[Sequence[Decision]], None]
    secret: Callable[[], str]
    random: Random
    offset_ms: int = 0
    stalled_until: float = 0.0
    """Time until which its store stands still."""
    times_set: int = 0
    """Number of changes of its clock: two opposite changes leave no other sign."""
    incarnation: int = 0
    up: trio.Event = field(default_factory=trio.Event)
    """Event that is set while it serves; each crash replaces it."""
    store: FaultyStore | None = None
    service: Service | None = None
    clock: SystemClock | None = None
    _most_ms: int = 0
    _scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    _connections: list[Connection] = field(default_factory=list)
    _nursery: trio.Nursery | None = None
    _guard: Any = None
    _config: Config = field(default_factory=Config)
    delivered: _Kept = field(default_factory=_Kept)
    faults_met: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.offset_ms = self.swarm.offsets_ms[self.number]

    # --- time

    def _nanoseconds(self) -> int:
        """Return the machine's clock, with the run's error."""
        return (BEGINNING_OF_TIME_MS + round(trio.current_time() * 1000) + self.offset_ms) * 1_000_000

    def _monotonic_nanoseconds(self) -> int:
        """Return the monotonic clock, which has no error."""
        return round(trio.current_time() * 1000) * 1_000_000

    def earliest(self) -> int:
        """Return the machine's clock; the server's clock is not behind it."""
        return self._nanoseconds() // 1_000_000

    def latest(self) -> int:
        """Return the latest time of the machine's clock, or the server's if that is later."""
        server_ms = 0 if self.clock is None else self.clock.now()
        self._most_ms = max(self._most_ms, self.earliest(), server_ms)
        return self._most_ms

    def set_clock(self, by_ms: int) -> int:
        """Set the machine's clock wrong within the allowed error; return the change in milliseconds."""
        self.latest()
        self.times_set += 1
        before = self.offset_ms
        self.offset_ms = max(-MOST_WRONG_SECONDS * 1_000, min(before + by_ms, MOST_WRONG_SECONDS * 1_000))
        return self.offset_ms - before

    def stall(self, by_ms: int) -> None:
        """Make its store stand still from now on."""
        self.stalled_until = max(self.stalled_until, trio.current_time() + by_ms / 1000)

    async def pause(self, by_ms: int) -> int:
        """Let time pass as if the process stood still; return how long, 0 if it crashed meanwhile."""
        detector = None if self.service is None else self.service.stall_detector
        if not isinstance(detector, RestingDetector) or not self.is_up:
            return 0
        incarnation = self.incarnation
        detector.begin_pause()
        await trio.sleep(by_ms / 1000)
        if not self.up.is_set() or self.incarnation != incarnation or self._nursery is None:
            return 0
        detector.end_pause()
        self._nursery.start_soon(detector.settle)
        return by_ms

    def _stalling(self, run_sync: RunSync) -> RunSync:
        """Wrap the executor of its turns, so that turns wait while the store stands still."""

        async def run(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
            await trio.sleep(max(0.0, self.stalled_until - trio.current_time()))
            return await run_sync(sync_fn, limiter=limiter)

        return run

    # --- start and crash

    @property
    def is_up(self) -> bool:
        return self.up.is_set()

    async def live(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start, and start again after every crash, until cancelled."""
        while True:
            self.incarnation += 1
            with trio.CancelScope() as self._scope:
                await self._serve(task_status)
            task_status = trio.TASK_STATUS_IGNORED
            self._die()
            await trio.sleep(self.random.choice((0.0, 0.05, 1.0)))

    async def _serve(self, task_status: trio.TaskStatus[None]) -> None:
        application = _application(self.number)
        scheme = "https" if self.swarm.is_https else "http"
        application.settings = replace(
            application.settings,
            data_dir=self.folder,
            database=SQLiteFile(self.folder / "ostiary.db"),
            public_url=f"{scheme}://{HOST}",
            recovery_by_text_message=self.policy.text_recovery,
            second_factor_key=self.policy.second_factor_key,
        )
        application.dependencies = self._dependencies()
        self._config.include_date_header = False
        async with application.open() as services:
            self.service = services.service
            self._guard = Guard(application, make_door_limits(application.settings))
            started = start_door(services.service, self._guard.limits, has_lane=self.swarm.lanes[self.number])
            # The application answers the requests that the lane does not take.
            self._guard.started = replace(started, shortcut=None)
            self._config.keep_alive_max_requests = 1_000_000
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self.up.set()
                task_status.started()
                await trio.sleep_forever()

    def _dependencies(self) -> Dependencies:
        self.clock = SystemClock(self._nanoseconds, self._monotonic_nanoseconds)
        seconds = self.swarm.sweep_seconds
        return Dependencies(
            clock=self.clock,
            entropy_source=SeededEntropy(f"{self.name} instance {self.number} life {self.incarnation}"),
            open_store=self._open_store,
            hasher=CHEAP,
            run_sync=run_inline,
            run_turns=self._stalling(self.shared.run_sync(self.random, self.witness)),
            open_delivery=lambda *of: nullcontext(self.delivered),
            read_sheet=read_sheet_in_place,
            upkeep=replace(NO_UPKEEP, sweep_seconds=seconds, uses_seconds=seconds, summary_seconds=seconds),
            has_administrator=True,
            change_service=self._watch,
        )

    @asynccontextmanager
    async def _open_store(self, settings: Settings) -> AsyncIterator[Any]:
        with self.shared.open_store() as inner:
            hooks = (self.crash, self.stall, self.committed, self.secret)
            self.store = FaultyStore(inner, self.witness, *hooks, met=self.faults_met)
            yield self.store

    def _watch(self, service: Service) -> Service:
        throttle = SignInThrottle(scale=self.swarm.free_guesses / FREE_GUESSES)
        endpoint = TokenEndpoint(RateWindows(scale=self.swarm.window_scale), service.endpoint.languages)
        detector = RestingDetector(service.clock)
        changed = replace(service, sign_in_throttle=throttle, endpoint=endpoint, stall_detector=detector)
        return WitnessedService.watching(self.witness, changed)

    def crash(self) -> None:
        """Lose everything that is not stored, in the middle of all work."""
        if self.is_up:
            self._die()
            self._scope.cancel()

    def _die(self) -> None:
        self.up = trio.Event()
        self.clock = None
        if self.store is not None:
            self.store.is_dead = True
        for connection in self._connections:
            connection.is_usable = False
            connection.sever()
        self._connections.clear()

    # --- for callers

    @property
    def open_connections(self) -> int:
        """Number of connections that the front door counts."""
        return 0 if self._guard is None else len(self._guard.connections)

    def connect(self, source: str, *, slow: bool = False) -> Connection | None:
        """Open a connection; return None if no process listens."""
        if not self.is_up or self._nursery is None:
            return None
        connection, stream = connect(self.wire, source, slow=slow)
        self._connections.append(connection)
        wrapper: Any = ASGIWrapper(self._guard)
        opened: Any = open_connection(wrapper, self._config, WorkerContext(None), ConnectionState({}), stream)
        self._nursery.start_soon(opened.run)
        return connection

    async def sweep(self) -> None:
        """Run the sweeper now."""
        if self.is_up and self.service is not None and self.store is not None and self.clock is not None:
            await erase_salts(self.service.turns, self.store, self.clock, run_inline)
            await Purge(self.service.turns, self.store, self.clock, run_sync=run_inline).purge_once()
