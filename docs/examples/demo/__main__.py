"""`make demo`: the whole protocol in a browser, with sample data of a week that is gone when it stops."""

import os
import sys

import click

from demo.running import run_demo
from ostiary_net.front_door import ServerFailed
from ostiary_web.app.asgi_app import greet, load_settings_or_exit
from ostiary_web.server.logs import configure_logs
from ostiary_web.server.setting_values import SettingError


@click.command()
@click.option(
    "--shop",
    "shop_bind",
    envvar="SHOP_BIND",
    show_envvar=True,
    default="127.0.0.1:9000",
    show_default=True,
    metavar="HOST:PORT",
    help="Where the third-party backend listens.",
)
@click.option(
    "--days",
    default=7,
    show_default=True,
    type=click.IntRange(0, 90),
    help="Days of sign-ins and changes that there are to look at.",
)
def main(shop_bind: str, days: int) -> None:
    """Serve with sample data, and a third-party backend that signs in with it.

    The server listens on BIND, which nobody but this machine may reach; nothing that is done is kept.
    """
    settings = load_settings_or_exit(os.environ)
    configure_logs("warning", settings.log_format)
    try:
        run_demo(settings, shop_bind=shop_bind, days=days, tell=_tell)
    except* (SettingError, ServerFailed) as group:
        sys.exit(f"ostiary: {group.exceptions[0]}")


def _tell(server: str, shop: str, password: str) -> None:
    greet(
        f"Open {shop} in a browser: a third-party backend that signs people in with {server}\n"
        f'Sign in as alice, bob, wangfang or liwei, or at {server} as admin; the password is "{password}".\n'
        "Ctrl-C ends it, and everything is gone.",
        None,
    )


if __name__ == "__main__":
    main()
