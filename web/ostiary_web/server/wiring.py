"""Wire everything that the application works with: for a server, and with other dependencies for tests."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog
import trio
from argon2 import PasswordHasher

from ostiary_core.http import TokenEndpoint
from ostiary_core.model.instant import DAY_SECONDS
from ostiary_core.throttling.rate_windows import RateWindows
from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_net.front_door.listeners import AddressError
from ostiary_net.front_door.scraping import open_metrics_listeners, serve_metrics
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.arrivals import StallDetector
from ostiary_net.runtime.files import Files
from ostiary_net.runtime.hashing_line import PasswordsBusy
from ostiary_net.runtime.passwords import OWASP, Passwords
from ostiary_net.runtime.system import (
    Clock,
    EntropySource,
    RunSync,
    SystemClock,
    SystemEntropy,
    run_in_thread,
)
from ostiary_net.runtime.text_messages import Delivery, Outbox, TextMessages, open_gateway, open_text_messages
from ostiary_net.turns.ports import ServerStore
from ostiary_net.turns.service import Service
from ostiary_net.turns.turns import Turns, open_turns
from ostiary_net.upkeep.flushing import flush_refusals, flush_uses
from ostiary_net.upkeep.repeating import attempt, repeat
from ostiary_net.upkeep.summarising import Summarising
from ostiary_net.upkeep.sweeping import Purge, erase_salts
from ostiary_web.server.app_services import AppServices
from ostiary_web.server.checks import SelfCheck, run_checks
from ostiary_web.server.first_administrator import (
    NewAdministrator,
    UnusedAdministrator,
    ensure_administrator,
)
from ostiary_web.server.import_runs import ImportRuns
from ostiary_web.server.readiness import Readiness
from ostiary_web.server.rollback_check import WatermarkedStore, refuse_rolled_back, write_mark_forever
from ostiary_web.server.second_factor_key import make_second_factor_key, warn_of_other_keys
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import LoggingStore, open_store
from ostiary_web.server.submissions import Submissions
from ostiary_web.sheets.reader import ReadSheet, SheetReader

if TYPE_CHECKING:  # or OpenTelemetry would be imported if nobody asks for it
    from ostiary_net.observability.spans import Spans


_log = structlog.get_logger("ostiary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Intervals of background work in seconds; infinity for never."""

    sweep_seconds: float = 30.0
    uses_seconds: float = 5.0
    """Interval of writing which client secrets were used; of each at most once a minute (READINGS 49)."""
    mark_seconds: float = 60.0
    """Interval of writing the database's watermark."""
    purge_seconds: float = 60.0
    """Interval of removing what has expired, and of checking for other systems' password hashes."""
    summary_seconds: float = 60.0
    """Interval of writing refusals and counting the audit trail."""
    watches_pauses: bool = True
    """Whether stalls of the server itself are noticed."""


NO_UPKEEP: Final = Upkeep(
    sweep_seconds=math.inf,
    uses_seconds=math.inf,
    mark_seconds=math.inf,
    purge_seconds=math.inf,
    summary_seconds=math.inf,
    watches_pauses=False,
)


@asynccontextmanager
async def open_delivery(
    settings: Settings, entropy_source: EntropySource, run_sync: RunSync = run_in_thread
) -> AsyncIterator[Delivery]:
    """Open the way of text messages: the gateway, or the outbox if none is named (READINGS 28)."""
    if settings.sms_gateway_url is None:
        yield Outbox(settings.sms_outbox, run_sync)
        return
    async with open_gateway(settings.sms_gateway_url, settings.read_gateway_token, entropy_source) as gateway:
        yield gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What a server needs besides settings: time, randomness, store, threads; by default the machine's."""

    clock: Clock = field(default_factory=SystemClock)
    entropy_source: EntropySource = field(default_factory=SystemEntropy)
    open_store: Callable[[Settings], AbstractAsyncContextManager[ServerStore]] = open_store
    hasher: PasswordHasher = OWASP
    run_sync: RunSync = run_in_thread
    """Runs file access and password hashing."""
    run_turns: RunSync | None = None
    """Runs the store's work; None for its default."""
    open_delivery: Callable[[Settings, EntropySource, RunSync], AbstractAsyncContextManager[Delivery]] = (
        open_delivery
    )
    read_sheet: ReadSheet = field(default_factory=lambda: SheetReader().read)
    upkeep: Upkeep = Upkeep()
    has_administrator: bool = False
    """Whether the caller has made the first administrator."""
    change_service: Callable[[Service], Service] = lambda service: service
    """Changes the service for the doors: a test may observe it."""


async def prepare_store(
    settings: Settings, dependencies: Dependencies | None = None
) -> NewAdministrator | UnusedAdministrator | None:
    """Bring the store's schema up to date, and make the first administrator if there is none.

    Raises `SettingError`. Needs nothing but the store: no key of second factors, no address, no folder.
    """
    dependencies = dependencies or Dependencies()
    passwords = Passwords(
        dependencies.hasher,
        entropy_source=dependencies.entropy_source,
        run_sync=dependencies.run_sync,
        at_a_time=1,
    )
    async with (
        dependencies.open_store(settings) as store,
        open_turns(store, dependencies.clock, dependencies.run_turns) as turns,
    ):
        return await _ensure_ready(settings, store, turns, passwords, dependencies)


async def _ensure_ready(
    settings: Settings, store: ServerStore, turns: Turns, passwords: Passwords, dependencies: Dependencies
) -> NewAdministrator | UnusedAdministrator | None:
    if isinstance(store, WatermarkedStore):
        await trio.to_thread.run_sync(refuse_rolled_back, settings, store)
    if dependencies.has_administrator:
        return None
    return await ensure_administrator(
        turns,
        passwords,
        dependencies.entropy_source,
        username=settings.admin_username,
        password=settings.admin_password,
    )


@asynccontextmanager
async def open_services(
    settings: Settings,
    dependencies: Dependencies | None = None,
    *,
    make_busy_refusal: Callable[[int], Exception] = PasswordsBusy,
) -> AsyncIterator[AppServices]:
    """Open the store, the queue of turns and everything beside them; raise `SettingError` if one fails.

    Makes the first administrator if there is none. `make_busy_refusal` makes what is raised if too many
    passwords wait to be hashed, given the seconds after which to try again.
    """
    dependencies = dependencies or Dependencies()
    clock, entropy_source = dependencies.clock, dependencies.entropy_source
    key, is_new_key = settings.second_factor_key, False
    if key is None:
        key, is_new_key = make_second_factor_key(settings.data_dir, entropy_source)
        settings = replace(settings, second_factor_key=key)
    passwords = Passwords(
        dependencies.hasher,
        entropy_source=entropy_source,
        run_sync=dependencies.run_sync,
        at_a_time=settings.password_hashing_threads,
        make_refusal=make_busy_refusal,
    )
    metrics = Metrics()
    async with (
        dependencies.open_store(settings) as store,
        _open_metrics(settings, metrics),
        _open_tracing(settings) as tracing,
        open_turns(store, clock, dependencies.run_turns, metrics, tracing) as turns,
        dependencies.open_delivery(settings, entropy_source, dependencies.run_sync) as delivery,
        open_text_messages(delivery) as text_messages,
        trio.open_nursery() as nursery,
    ):
        first_administrator = await _ensure_ready(settings, store, turns, passwords, dependencies)
        if is_new_key:
            await trio.to_thread.run_sync(warn_of_other_keys, store, key, settings.data_dir)
        _add_gauges(metrics, store, turns, passwords, text_messages)
        service = dependencies.change_service(
            Service(
                turns=turns,
                clock=clock,
                entropy_source=entropy_source,
                endpoint=TokenEndpoint(RateWindows(scale=settings.rate_limit_scale), settings.languages),
                sign_in_throttle=SignInThrottle(scale=settings.guess_limit_scale),
                metrics=metrics,
                tracing=tracing,
                stall_detector=StallDetector(clock),
            )
        )
        _start_upkeep(nursery, settings, dependencies, service, passwords, store)

        async def check_ready() -> None:
            await trio.to_thread.run_sync(store.check_ready, abandon_on_cancel=True)
            turns.keeping.require()

        yield AppServices(
            settings=settings,
            service=service,
            passwords=passwords,
            text_messages=text_messages,
            files=Files(
                settings.data_dir / "files", entropy_source=entropy_source, run_sync=dependencies.run_sync
            ),
            read_sheet=dependencies.read_sheet,
            submissions=Submissions(clock),
            import_runs=ImportRuns(
                settings.data_dir / "imports",
                clock=clock,
                entropy_source=entropy_source,
                nursery=nursery,
                run_sync=dependencies.run_sync,
            ),
            readiness=Readiness(check_ready),
            self_check=SelfCheck(partial(run_checks, settings, store, clock), dependencies.run_sync),
            started_at=clock.now(),
            first_administrator=first_administrator,
        )
        nursery.cancel_scope.cancel()
        if dependencies.upkeep.summary_seconds < math.inf:
            with trio.move_on_after(_LAST_WORDS_SECONDS, shield=True):
                last = partial(flush_refusals, service.activity, store, clock, dependencies.run_sync)
                await attempt(last, "refusals not kept")
                await service.report_repeated_refusals(are_last=True)


_LAST_WORDS_SECONDS: Final = 5.0
"""Longest time in seconds that a stop waits for writing the last refusals."""


def _start_upkeep(
    nursery: trio.Nursery,
    settings: Settings,
    dependencies: Dependencies,
    service: Service,
    passwords: Passwords,
    store: ServerStore,
) -> None:
    """Start the background work, each at its interval."""
    upkeep, turns, clock = dependencies.upkeep, service.turns, dependencies.clock
    if upkeep.watches_pauses and service.stall_detector is not None:
        nursery.start_soon(service.stall_detector.watch)
    if upkeep.uses_seconds < math.inf:
        flush = partial(flush_uses, service.activity, turns)
        nursery.start_soon(repeat, flush, upkeep.uses_seconds, "uses of secrets not kept")
    if upkeep.sweep_seconds < math.inf:
        erase = partial(erase_salts, turns, store, clock, dependencies.run_sync)
        nursery.start_soon(repeat, erase, upkeep.sweep_seconds, "sweep failed")
    if upkeep.mark_seconds < math.inf and isinstance(store, WatermarkedStore):
        nursery.start_soon(write_mark_forever, settings, store, upkeep.mark_seconds)
    if min(upkeep.purge_seconds, upkeep.summary_seconds) == math.inf:
        return
    holder = dependencies.entropy_source.draw()[:16].hex()
    if upkeep.purge_seconds < math.inf:
        audit_seconds = settings.retention_audit_days * DAY_SECONDS
        purge = Purge(
            turns,
            store,
            clock,
            audit_seconds=audit_seconds,
            run_sync=dependencies.run_sync,
            metrics=service.metrics,
        )
        nursery.start_soon(purge.run, holder, upkeep.purge_seconds)
        forget = partial(passwords.forget_foreign, store.has_password_hash_unlike)
        nursery.start_soon(repeat, forget, upkeep.purge_seconds, "password hashes not looked at")
    if upkeep.summary_seconds < math.inf:
        every = upkeep.summary_seconds
        write = partial(flush_refusals, service.activity, store, clock, dependencies.run_sync)
        nursery.start_soon(repeat, write, every, "refusals not kept")
        nursery.start_soon(repeat, service.report_repeated_refusals, every, "refusals not kept")
        nursery.start_soon(Summarising(store, clock, run_sync=dependencies.run_sync).run, holder, every)


@asynccontextmanager
async def _open_tracing(settings: Settings) -> AsyncIterator["Spans | None"]:
    """Return the tracing of requests; None, without importing OpenTelemetry, if no collector is named."""
    if settings.otel_exporter_otlp_endpoint is None:
        yield None
        return
    from ostiary_net.observability.spans import open_spans

    async with open_spans(settings.otel_exporter_otlp_endpoint) as spans:
        yield spans


@asynccontextmanager
async def _open_metrics(settings: Settings, metrics: Metrics) -> AsyncIterator[None]:
    """Serve `/metrics` on its own address, if the settings name one."""
    with ExitStack() as stack:
        try:
            listeners = stack.enter_context(open_metrics_listeners(settings.metrics_bind))
        except AddressError as error:
            allowed = "an address that is free, as 127.0.0.1:9464"
            raise SettingError("METRICS_BIND", str(error), allowed) from error
        if not listeners:
            yield
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_metrics, listeners, metrics)
            yield
            nursery.cancel_scope.cancel()


def _add_gauges(
    metrics: Metrics, store: ServerStore, turns: Turns, passwords: Passwords, text_messages: TextMessages
) -> None:
    """Add the gauges that are read when the metrics are asked for."""
    metrics.add_gauge(
        "ostiary_turns_waiting",
        "Events that wait for their turn.",
        lambda: [({"queue": name}, number) for name, number in turns.count_waiting().items()],
    )
    metrics.add_gauge(
        "ostiary_hashes_waiting",
        "Password checks that wait for a place.",
        lambda: [({}, len(passwords.line))],
    )
    metrics.add_counter(
        "ostiary_hashes_refused_total",
        "Password checks that were refused a place, as too many waited.",
        lambda: [({}, passwords.line.refused)],
    )
    metrics.add_gauge(
        "ostiary_text_messages_unfinished",
        "Text messages on their way to the gateway.",
        lambda: [({}, text_messages.count_unfinished())],
    )
    if isinstance(store, LoggingStore):
        metrics.add_gauge(
            "ostiary_write_ahead_log_bytes",
            "The file of SQLite's log; beyond 80 MiB somebody keeps it from being folded.",
            lambda: [({}, store.log_bytes())],
        )
