"""Both sides of the demonstration in one process: the server on its address, the third party on another."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import trio

from ostiary_net.front_door import DoorRules, guard
from ostiary_net.front_door.serving import heed_signals, serve_until
from ostiary_web.app import Backing
from ostiary_web.database import SQLiteFile
from ostiary_web.demo.protocol import OAuthClient
from ostiary_web.demo.sample import DEMO_CLIENT, PASSWORD, fill
from ostiary_web.demo.third_party import third_party
from ostiary_web.entrance import door_rules, entrance
from ostiary_web.settings import Settings

__all__ = ["run_demo"]

_GRACEFUL_SECONDS = 2.0


def run_demo(settings: Settings, *, shop_bind: str, tell: Callable[[str, str, str], None]) -> None:
    """Serve both until SIGTERM, SIGINT or SIGHUP, on a store that is made for it and gone afterwards.

    `tell` is given the addresses of the server and of the shop and everybody's password.
    """
    with tempfile.TemporaryDirectory(prefix="ostiary-demo-") as folder:
        # Text messages too are gone afterwards, unless somebody said where they are to go.
        is_usual = settings.sms_outbox.parent == settings.data_dir
        demo = replace(
            settings,
            database=SQLiteFile(Path(folder) / "demo.db"),
            data_dir=Path(folder),
            sms_outbox=Path(folder) / settings.sms_outbox.name if is_usual else settings.sms_outbox,
            admin_username="admin",
            admin_password=PASSWORD,
            workers=1,
        )
        trio.run(partial(_serve_both, demo, shop_bind, tell))


async def _serve_both(settings: Settings, shop_bind: str, tell: Callable[[str, str, str], None]) -> None:
    stop = trio.Event()
    backings: list[Backing] = []
    listening, addresses = trio.Event(), []

    def started(found: list[str]) -> None:
        addresses.extend(found)
        listening.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(heed_signals, stop)
        nursery.start_soon(
            partial(
                serve_until,
                stop,
                entrance(settings, backings.append),
                bind=settings.bind,
                graceful_seconds=_GRACEFUL_SECONDS,
                started=started,
            )
        )
        await listening.wait()
        server = addresses[0]
        shop = f"http://{shop_bind}"
        sample = await fill(backings[0], f"{shop}/callback")
        async with httpx.AsyncClient(timeout=10.0) as http:
            oauth = OAuthClient(
                http,
                client_id=DEMO_CLIENT,
                secret=sample.secret.reveal(),
                redirect_uri=f"{shop}/callback",
                server=server,
            )
            rules: DoorRules = door_rules(settings)
            await serve_until(
                stop,
                guard(cast(Any, third_party(oauth, server)), rules),
                bind=shop_bind,
                graceful_seconds=_GRACEFUL_SECONDS,
                started=lambda _: tell(server, shop, PASSWORD),
            )
        nursery.cancel_scope.cancel()
