"""The servers side by side: how each is started, where it has its operations, and what it has stored.

Each is set up as its own documentation does for production: opaque tokens, rotated refresh tokens and, on
SQLite, every change on disk before it is answered.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docs.bench import population
from docs.bench.driver import Address, WrongAnswer, ask_once
from docs.bench.names import token
from docs.bench.peers import glewlwyd
from docs.bench.peers.installing import HERE, Unavailable, node_programs, python_of_peers
from docs.bench.workloads import OPERATIONS, REFRESH_ANY, TRACED, Paths

ROOT: Final = Path(__file__).parents[2]
STORE: Final = "store.db"
"""The file in a cell's folder that holds its sessions."""

_SERVERS: Final = Path(__file__).parent / "servers"
_NO_PATHS: Final = Paths("/", "/", "/")


def _nothing(folder: Path, sessions: int) -> int:
    return 0


def _no_codes(folder: Path, address: Address, first: int, count: int) -> None:
    raise NotImplementedError("this server has no codes")


@dataclass(frozen=True, slots=True)
class Cell:
    """One server: its name in the tables, and the command that starts it on a port."""

    name: str
    command: tuple[str, ...]
    """With {port}, {sessions} and {folder} to be filled in."""
    operations: tuple[str, ...] = ("fixed",)
    paths: Paths = _NO_PATHS
    fill: Callable[[Path, int], int] = _nothing
    """Puts so many sessions into its folder; says how many bytes they take on the disk."""
    lay_out_codes: Callable[[Path, Address, int, int], None] = _no_codes
    """Gives the running server codes to redeem: its folder, its address, the first number, and how many."""
    environment: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1
    token: Callable[[str, int], str] = token
    """Returns the text of a token or code by its kind and number."""
    instances: int = 1
    """Each has as many connections as one."""


# --- this server


def _fill_own(folder: Path, sessions: int) -> int:
    return population.fill(folder / STORE, sessions)


def _own_codes(folder: Path, address: Address, first: int, count: int) -> None:
    population.lay_out_codes(folder / STORE, first, count)


def _own(name: str, *command: str, workers: int = 1) -> Cell:
    return Cell(
        name,
        (sys.executable, "-m", *command),
        (*OPERATIONS, TRACED, REFRESH_ANY),
        Paths("/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/userinfo"),
        _fill_own,
        _own_codes,
        {"WORKERS": str(workers)},
        workers,
    )


_HYPERCORN: Final = (
    *("hypercorn", "--config", str(_SERVERS / "hypercorn.toml")),
    *("--worker-class", "trio", "--bind", "127.0.0.1:{port}"),
)

LANE: Final = _own("lane", "ostiary_web", "serve")
TWO_WORKERS: Final = _own("lane, 2 workers", "ostiary_web", "serve", workers=2)
WORKERS_ASKED_BY: Final = (32, 256)
"""Connections at which one worker and two are compared: few, as elsewhere, and so many that one is busy."""
PLAIN: Final = _own("plain", *_HYPERCORN, "ostiary_web.asgi:app")


# --- floors: they answer everything with the same bytes

BARE_ASGI: Final = Cell("bare ASGI", (sys.executable, "-m", *_HYPERCORN, "docs.bench.servers.bare_asgi:app"))
FLOORS: Final = [BARE_ASGI, Cell("bare Trio", (sys.executable, str(_SERVERS / "bare_trio.py"), "{port}"))]


# --- the field


def peers() -> tuple[list[Cell], dict[str, str]]:
    """Those that can be had, and why the others cannot."""
    cells: list[Cell] = []
    left_out: dict[str, str] = {}
    for name, make in (
        ("Authlib", _authlib),
        ("django-oauth-toolkit", _django_toolkit),
        ("oidc-provider", _oidc_provider),
        ("Glewlwyd", make_glewlwyd),
    ):
        try:
            cells.append(make(name))
        except Unavailable as reason:
            left_out[name] = str(reason)
    return cells, left_out


def _authlib(name: str) -> Cell:
    paths = Paths("/oauth/token", "/oauth/introspect", "/api/me")
    return _python_peer(name, "authlib_flask", "app", paths)


def _django_toolkit(name: str) -> Cell:
    paths = Paths("/o/token/", "/o/introspect/", "/o/userinfo/")
    return _python_peer(name, "django_toolkit", "application", paths)


def _python_peer(name: str, program: str, application: str, paths: Paths) -> Cell:
    python = python_of_peers()

    def run(folder: Path, *command: object) -> bytes:
        environment = {**os.environ, "BENCH_STORE": str(folder / STORE), "PYTHONPATH": str(ROOT)}
        whole = [str(python), str(HERE / f"{program}.py"), *map(str, command)]
        return subprocess.run(whole, env=environment, check=True, stdout=subprocess.PIPE).stdout

    def fill(folder: Path, sessions: int) -> int:
        return int(run(folder, "fill", sessions))

    def lay_out_codes(folder: Path, address: Address, first: int, count: int) -> None:
        run(folder, "codes", first, count)

    # One worker of the class that keeps connections; with 1 or 4 threads Authlib was not clearly cheaper.
    command = (
        *(str(python), "-m", "gunicorn", "--bind", "127.0.0.1:{port}", "--workers", "1"),
        *("--worker-class", "gthread", "--threads", "2", "--keep-alive", "75"),
        f"docs.bench.peers.{program}:{application}",
    )
    return Cell(name, command, OPERATIONS, paths, fill, lay_out_codes)


def _oidc_provider(name: str) -> Cell:
    node, folder = node_programs()

    def lay_out_codes(folder: Path, address: Address, first: int, count: int) -> None:
        query = f"first={first}&count={count}"
        status, _ = ask_once(address, f"POST /bench/codes?{query} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        if status != 200:
            raise WrongAnswer("oidc-provider was not given its codes")

    return Cell(
        name,
        (str(node), str(folder / "oidc_provider.mjs"), "{port}", "{sessions}"),
        OPERATIONS,
        Paths("/token", "/token/introspection", "/me"),
        lay_out_codes=lay_out_codes,
        environment={"NODE_ENV": "production"},
    )


def make_glewlwyd(name: str) -> Cell:
    """Glewlwyd, of Debian's package. Raises `Unavailable` where it is not installed."""

    def fill(folder: Path, sessions: int) -> int:
        return glewlwyd.fill(folder / STORE, sessions)

    def lay_out_codes(folder: Path, address: Address, first: int, count: int) -> None:
        glewlwyd.lay_out_codes(folder / STORE, first, count)

    return Cell(
        name,
        (str(glewlwyd.find_program()), "-c", f"{{folder}}/{glewlwyd.CONFIGURATION}", "-p", "{port}"),
        OPERATIONS,
        Paths("/api/oidc/token", "/api/oidc/introspect", "/api/oidc/userinfo"),
        fill,
        lay_out_codes,
        token=glewlwyd.token_of,
    )
