"""Run `ostiary serve` and `ostiary migrate`: the commands that need the whole application."""

import faulthandler
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

import click
import structlog
import trio

from ostiary_net.front_door import (
    AddressError,
    ServerFailed,
    find_handed_over,
    run_until_signal,
    serve as serve_http,
    supervise,
)
from ostiary_net.front_door.lifeline import WORKER
from ostiary_net.front_door.scraping import open_metrics_listeners
from ostiary_net.observability.log import LINES
from ostiary_net.runtime.interpreter import settle_interpreter
from ostiary_net.sql.migrations import Opening
from ostiary_web.app.asgi_app import asgi_app, describe_first_administrator, greet, load_settings_or_exit
from ostiary_web.server.app_services import AppServices
from ostiary_web.server.first_administrator import NewAdministrator, UnusedAdministrator
from ostiary_web.server.logs import configure_logs
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import find_unwritable, open_store
from ostiary_web.server.temporary_files import use_data_dir
from ostiary_web.server.wiring import Dependencies, prepare_store
from ostiary_web.streams import exit_with

_GRACEFUL_SECONDS: Final = 10.0


@click.command()
@click.option("--plain", is_flag=True, help="Serve everything through ASGI, without the token lane.")
def serve(plain: bool) -> None:
    """Serve HTTP until SIGTERM, SIGINT or SIGHUP."""
    with LINES.write_in_thread():
        _serve(_prepare_settings(), plain=plain)


def _serve(settings: Settings, *, plain: bool) -> None:
    use_data_dir(settings)
    for name, path in find_unwritable(settings):
        structlog.get_logger("ostiary").warning("cannot be written", setting=name, path=str(path))
    handed_over = find_handed_over(os.environ, os.getpid())
    if handed_over is not None and "fd://" not in settings.bind:
        structlog.get_logger("ostiary").info(
            "serves on the sockets that were handed over, and not on BIND",
            sockets=handed_over,
            bind=settings.bind,
        )
        settings = replace(settings, bind=handed_over)
    if settings.workers == 1:
        _serve_here(settings, settings.bind, partial(_greet, settings), plain=plain)
        return
    # The store is made ready once, so that no two workers make the first administrator.
    prepared: list[NewAdministrator | UnusedAdministrator | None] = []

    async def prepare() -> None:
        prepared.append(await prepare_store(settings))

    trio.run(run_until_signal, prepare)
    if not prepared:
        return
    [administrator] = prepared
    try:
        code = supervise(
            # -P: or a module of the folder that the server was started in would be taken for one of ours.
            [sys.executable, "-P", "-m", "ostiary_web", "work", *(["--plain"] if plain else [])],
            bind=settings.bind,
            workers=settings.workers,
            graceful_seconds=_GRACEFUL_SECONDS,
            on_listening=lambda addresses: _greet(settings, administrator, addresses),
            examine=partial(_examine_metrics_ports, settings),
        )
    except AddressError as error:
        _exit_with_bind(error)
    except SettingError as error:
        exit_with(error)
    sys.exit(code)


@click.command(hidden=True)
@click.option("--plain", is_flag=True)
@click.argument("bind")
def work(bind: str, plain: bool) -> None:
    """Serve as one worker of `ostiary serve`, on the sockets it inherits."""
    # The supervisor has made the database: one that is gone is not made anew beneath the other workers.
    dependencies = Dependencies(open_store=partial(open_store, opening=Opening.UPDATES))
    settings = _prepare_settings()
    use_data_dir(settings)
    with LINES.write_in_thread():
        _serve_here(settings, bind, lambda administrator, addresses: None, dependencies, plain=plain)


@click.command()
def migrate() -> None:
    """Bring the store's schema up to date, and make the first administrator if there is none."""
    administrator = trio.run(prepare_store, _prepare_settings())
    if administrator is not None:
        greet(describe_first_administrator(administrator), administrator)


def _prepare_settings() -> Settings:
    settings = load_settings_or_exit(os.environ)
    configure_logs(settings.log_level, settings.log_format)
    if (settings.rate_limit_scale, settings.guess_limit_scale) != (1, 1):
        structlog.get_logger("ostiary").warning(
            "rate limits are not the specification's",
            rate_limit_scale=settings.rate_limit_scale,
            guess_limit_scale=settings.guess_limit_scale,
        )
    return settings


def _examine_metrics_ports(settings: Settings) -> None:
    """Raise `SettingError` unless each worker can have a port: one without would restart for ever."""
    for slot in range(settings.workers):
        try:
            with open_metrics_listeners(settings.metrics_bind, {WORKER: str(slot)}):
                pass
        except AddressError as error:
            fault = f"{error}, for worker {slot + 1} of {settings.workers}"
            allowed = "an address with as many free ports in a row as there are WORKERS"
            raise SettingError("METRICS_BIND", fault, allowed) from error


def _serve_here(
    settings: Settings,
    bind: str,
    greet_at: Callable[[NewAdministrator | UnusedAdministrator | None, list[str]], None],
    dependencies: Dependencies | None = None,
    *,
    plain: bool,
) -> None:
    """Serve in this process; exit with one line if the start fails."""
    started: list[AppServices] = []

    def ready(services: AppServices) -> None:
        started.append(services)
        settle_interpreter()

    guarded = asgi_app(settings, ready, dependencies, has_lane=not plain)

    def announce(addresses: list[str]) -> None:
        greet_at(started[0].first_administrator if started else None, addresses)

    serving = partial(
        serve_http, guarded, bind=bind, graceful_seconds=_GRACEFUL_SECONDS, on_listening=announce
    )
    if sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)  # a disk that fails beneath a mapped file ends the process
    try:
        trio.run(serving)
    except AddressError as error:
        _exit_with_bind(error)
    except ServerFailed as error:
        exit_with(error)


def _exit_with_bind(error: AddressError) -> NoReturn:
    exit_with(SettingError("BIND", str(error), "an address that is free, as 127.0.0.1:8001"))


def _greet(
    settings: Settings, administrator: NewAdministrator | UnusedAdministrator | None, addresses: list[str]
) -> None:
    """Print the addresses, the first password if there is one, and a command to try."""
    served = settings.public_url or addresses[0]
    # To curl, a Unix socket is a way to a host and not its address.
    path = addresses[0].removeprefix("unix:")
    at_socket = settings.public_url is None and path != addresses[0]
    address = f"--unix-socket {shlex.quote(path)} http://localhost" if at_socket else served
    shown = administrator.drawn_password if isinstance(administrator, NewAdministrator) else None
    username = administrator.username if administrator is not None else settings.admin_username
    password = shown.reveal() if shown else "YOUR-PASSWORD"
    login = f'{{"username":"{username}","password":"{password}"}}'
    lines = [
        f"Ostiary serves {settings.public_url or ' and '.join(addresses)}",
        *([] if administrator is None else [describe_first_administrator(administrator)]),
        "Try it:",
        f"  curl {address}/api/auth/login -H 'Content-Type: application/json' -d '{login}'",
    ]
    greet("\n".join(lines), administrator)
