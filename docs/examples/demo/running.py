"""Both sides of the demonstration in one process: the server on its address, the third party on another.

Everybody knows its passwords, the administrator's too: it listens where nobody but this machine gets to.
"""

import ipaddress
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import trio

from demo.past import make_past
from demo.protocol import OAuthClient
from demo.sample import DEMO_CLIENT, PASSWORD
from demo.third_party import third_party
from ostiary_net.front_door import AddressError, Guard
from ostiary_net.front_door.listeners import format_listener_url, open_listeners
from ostiary_net.front_door.serving import serve_on
from ostiary_net.front_door.stopping import ForcedExit, heed_signals
from ostiary_net.runtime.system import SystemClock
from ostiary_web.app.asgi_app import asgi_app, make_door_limits
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings

_GRACEFUL_SECONDS = 2.0


def run_demo(settings: Settings, *, shop_bind: str, days: int, tell: Callable[[str, str, str], None]) -> None:
    """Serve both until SIGTERM, SIGINT or SIGHUP, on a store that is made for it and gone afterwards.

    Of `PUBLIC_URL` only the path counts: the server is where it listens, under that path. `tell` is given the
    addresses of the server and of the shop and everybody's password. Raises `SettingError` for an address
    that is taken, or that others than this machine would reach. The store has a past of so many `days`.
    """
    with (
        _listening_here("BIND", settings.bind) as server_listeners,
        _listening_here("SHOP_BIND", shop_bind) as shop_listeners,
        tempfile.TemporaryDirectory(prefix="ostiary-demo-") as folder,
    ):
        # Text messages too are gone afterwards, unless somebody said where they are to go.
        is_usual = settings.sms_outbox.parent == settings.data_dir
        demo = replace(
            settings,
            database=SQLiteFile(Path(folder) / "demo.db"),
            data_dir=Path(folder),
            sms_outbox=Path(folder) / settings.sms_outbox.name if is_usual else settings.sms_outbox,
            public_url=_public_url(server_listeners[0], settings.public_path),
            admin_username="admin",
            admin_password=PASSWORD,
            workers=1,
        )
        trio.run(partial(_serve_both, demo, server_listeners, shop_listeners, days, tell))


def _public_url(listener: socket.socket, path: str) -> str | None:
    return format_listener_url(listener) + path if path else None


@contextmanager
def _listening_here(setting: str, bind: str) -> Iterator[list[socket.socket]]:
    """As `listening`, for this machine alone; what a name or a descriptor stands for, its sockets tell."""
    allowed = "an address that is free and that only this machine reaches, as 127.0.0.1:8001"
    if "unix:" in bind:
        raise SettingError(setting, f"cannot listen on {bind}: no browser opens a Unix socket", allowed)
    with ExitStack() as stack:
        try:
            listeners = stack.enter_context(open_listeners(bind))
        except AddressError as error:
            raise SettingError(setting, str(error), allowed) from error
        if not all(map(_is_loopback, listeners)):
            why = "the demonstration's passwords are known to everybody, and others would reach it there"
            raise SettingError(setting, f"cannot listen on {bind}: {why}", allowed)
        yield listeners


def _is_loopback(listener: socket.socket) -> bool:
    if listener.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    address = ipaddress.ip_address(listener.getsockname()[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


async def _serve_both(
    settings: Settings,
    server_listeners: list[socket.socket],
    shop_listeners: list[socket.socket],
    days: int,
    tell: Callable[[str, str, str], None],
) -> None:
    stop = trio.Event()
    is_served = trio.Event()

    server = format_listener_url(server_listeners[0]) + settings.public_path
    shop = format_listener_url(shop_listeners[0])
    async with trio.open_nursery() as nursery:
        await nursery.start(heed_signals, stop, ForcedExit(None))
        secret = await make_past(settings, f"{shop}/callback", end=SystemClock().now(), days=days)
        nursery.start_soon(
            partial(
                serve_on,
                server_listeners,
                stop,
                asgi_app(settings, lambda _: None),
                graceful_seconds=_GRACEFUL_SECONDS,
                on_listening=lambda _: is_served.set(),
            )
        )
        await is_served.wait()
        async with httpx.AsyncClient(timeout=10.0) as http:
            oauth = OAuthClient(
                http,
                client_id=DEMO_CLIENT,
                secret=secret.reveal(),
                redirect_uri=f"{shop}/callback",
                server=server,
            )
            await serve_on(
                shop_listeners,
                stop,
                Guard(
                    cast(Any, third_party(oauth, server, settings.languages)),
                    make_door_limits(replace(settings, public_url=None)),
                ),
                graceful_seconds=_GRACEFUL_SECONDS,
                on_listening=lambda _: tell(server, shop, PASSWORD),
            )
        nursery.cancel_scope.cancel()
