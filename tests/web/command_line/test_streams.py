"""Real processes whose standard streams are closed, full, without a reader, or of another encoding."""

import fcntl
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from tests.support.processes import Machine, Process, wait_until
from tests.support.served import Served, ask_once

PATIENCE_SECONDS = 30
LINES_BEYOND_THE_PIPE = 100
LATIN: dict[str, Any] = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "iso-8859-1"}
GBK: dict[str, Any] = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk"}
CLIENT = ("client", "create", "shop", "--name", "商店", "--redirect-uri", "https://shop.example/callback")


def command(machine: Machine, *words: str, streams: str = "", **settings: str) -> dict[str, Any]:
    """Return how to start a command whose streams a shell redirects, as by `2>&-`."""
    ostiary = [sys.executable, "-m", "ostiary_web", *words]
    return {
        "args": ["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *ostiary],
        "env": {**os.environ, **machine.environment, **settings},
    }


def run(
    machine: Machine, *words: str, stdout: Any = subprocess.PIPE, stdin: bytes = b"", **settings: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end."""
    streams = {"input": stdin, "stdout": stdout, "stderr": subprocess.PIPE, "timeout": PATIENCE_SECONDS}
    return subprocess.run(**command(machine, *words, **settings), **streams, check=False)


@contextmanager
def serve(
    machine: Machine, folder: Path, streams: str = "", stdout: IO[str] | None = None, **settings: str
) -> Iterator[httpx.Client]:
    """Run a server whose first line is not read; yield a client that calls it."""
    path = folder / "door"
    settings = {"BIND": f"unix:{path}", **settings}
    with Process(**command(machine, "serve", streams=streams, **settings), stdout=stdout) as server:
        transport = httpx.HTTPTransport(uds=str(path), retries=8)
        with httpx.Client(transport=transport, base_url="http://door", timeout=PATIENCE_SECONDS) as caller:
            wait_until(lambda: path.exists() or server.poll() is not None)
            assert path.exists(), f"the server ended with {server.returncode}"
            yield caller
        server.stop()


# --- closed and full


def test_a_log_without_a_reader_delays_no_request_and_no_stop(machine: Machine) -> None:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    with machine.start(stderr=write_end, settings={"LOG_LEVEL": "info", "WORKERS": "2"}) as server:
        address = server.read_address()
        with httpx.Client(timeout=PATIENCE_SECONDS) as caller:
            for _ in range(LINES_BEYOND_THE_PIPE):
                assert caller.get(f"{address}/api/oauth2/userinfo").status_code == 401
        server.stop()
    os.close(read_end)
    os.close(write_end)


@pytest.mark.parametrize("streams, form", [("2>&-", "json"), ("<&- >&- 2>&-", "console")])
def test_servers_need_no_standard_streams(machine: Machine, tmp_path: Path, streams: str, form: str) -> None:
    with serve(machine, tmp_path, streams, LOG_FORMAT=form, LOG_LEVEL="info") as caller:
        assert caller.get("/healthz").status_code == 200
        assert caller.get("/api/oauth2/userinfo").status_code == 401
        wrong = {"username": "admin", "password": "wrong password"}
        assert caller.post("/api/auth/login", json=wrong).json()["code"] == "A1002"
        right = {**wrong, "password": machine.environment["ADMIN_PASSWORD"]}
        assert caller.post("/api/auth/login", json=right).status_code == 200
    kept = (tmp_path / "ostiary.db").read_bytes() + (tmp_path / "ostiary.db.lock").read_bytes()
    assert b"refused" not in kept, "no line of the log is in a file that took a stream's place"


def test_no_file_takes_the_number_of_another_closed_stream(tmp_path: Path) -> None:
    """Else the file that is opened for stdin would be standard output too, and no child would inherit it."""
    modes = tmp_path / "modes"
    look = (
        "import fcntl, os\n"
        "from ostiary_web.streams import open_standard_streams\n"
        "open_standard_streams()\n"
        "seen = [(fcntl.fcntl(n, fcntl.F_GETFL) & os.O_ACCMODE, os.get_inheritable(n)) for n in range(3)]\n"
        f"open({str(modes)!r}, 'w').write(repr(seen))\n"
    )
    shell = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", look]
    subprocess.run(shell, timeout=PATIENCE_SECONDS, check=True)
    assert modes.read_text() == repr([(os.O_RDWR, True)] * 3)


def full() -> IO[str]:
    return open("/dev/full", "w")


def without_reader() -> IO[str]:
    read_end, write_end = os.pipe()
    os.close(read_end)
    return os.fdopen(write_end, "w")


@pytest.mark.parametrize("output", [full, without_reader])
def test_a_greeting_that_cannot_be_written_ends_nothing_and_each_start_says_how_to_set_the_password(
    bare_machine: Machine, tmp_path: Path, output: Callable[[], IO[str]]
) -> None:
    another = "ostiary user reset-password admin --draw-password"
    log = tmp_path / "log"
    bare_machine.environment["ADMIN_PASSWORD"] = ""
    with output() as stdout, serve(bare_machine, tmp_path, f"2>{log}", stdout) as caller:
        assert caller.get("/healthz").status_code == 200
        wait_until(lambda: another in log.read_text(), "its lines are written by a thread")
        assert another in bare_machine.run("migrate").out
        sign_in = {"username": "admin", "password": bare_machine.script(*another.split()[1:])["password"]}
        assert caller.post("/api/auth/login", json=sign_in).status_code == 200
    assert bare_machine.run("migrate").out == ""


@pytest.mark.parametrize(
    "words, draw_again",
    [
        ("client create other --redirect-uri https://o.example/cb", "client reset-secret other"),
        ("user create anna --draw-password", "user reset-password anna --draw-password"),
        ("apply declared.toml", "client reset-secret declared"),
        ("client list", None),
        ("audit export --follow", None),
    ],
)
def test_where_nothing_can_be_printed_a_command_says_so_and_how_to_draw_what_is_lost(
    machine: Machine, tmp_path: Path, words: str, draw_again: str | None
) -> None:
    machine.script(*CLIENT)
    (tmp_path / "declared.toml").write_text(
        '[clients.declared]\nname = "x"\ngrantTypes = ["client_credentials"]\nscopes = ["user.read"]\n'
    )
    asked = words.replace("declared.toml", str(tmp_path / "declared.toml")).split()
    with full() as output:
        failed = run(machine, *asked, stdout=output)
    said = failed.stderr.decode()
    assert (failed.returncode, "Traceback" in said) == (1, False), said
    assert said.startswith("ostiary: ")
    assert "No space left on device" in said
    assert said.endswith(f"\n  ostiary {draw_again}\n") is (draw_again is not None)


def test_a_reader_that_leaves_early_causes_no_error_line(machine: Machine) -> None:
    with without_reader() as output:
        assert run(machine, "audit", "export", stdout=output).stderr == b""


# --- encodings


@pytest.mark.parametrize(
    "words, name",
    [("client reset-secret known", "商店"), ("user reset-password anna --draw-password", "王芳")],
)
def test_a_latin_terminal_shows_what_was_drawn(machine: Machine, words: str, name: str) -> None:
    """The terminal lacks the characters of a name, and the secret beside it is shown."""
    make_named(machine)
    made = run(machine, *words.split(), **LATIN)
    assert (made.returncode, made.stderr) == (0, b"")
    assert re.search(b"Name +" + re.escape(name.encode("ascii", "backslashreplace")), made.stdout)
    assert re.search(rb", shown this once +[\w-]{43}", made.stdout)


def test_output_for_machines_is_utf_8_and_apply_takes_an_export(machine: Machine, tmp_path: Path) -> None:
    make_named(machine)
    trail = [json.loads(line) for line in run(machine, "audit", "export", **GBK).stdout.splitlines()]
    assert trail == [json.loads(line) for line in machine.run("audit", "export").lines]
    assert "商店" in str(trail)
    exported = run(machine, "export", **GBK).stdout
    assert tomllib.loads(exported.decode())["clients"]["known"]["name"] == "商店"
    (tmp_path / "clients.toml").write_bytes(exported)
    applied = run(machine, "apply", str(tmp_path / "clients.toml"), "--json", **GBK)
    assert json.loads(applied.stdout)["changes"] == []


def test_an_exported_trail_moves_no_terminal(machine: Machine, tmp_path: Path) -> None:
    async def sign_in(served: Served) -> int:
        body = {"username": "admin", "password": machine.environment["ADMIN_PASSWORD"]}
        agent = {b"User-Agent": b"shop \x9b31m"}
        return (await served.api().post("/api/auth/login", json=body, headers=agent)).status_code

    assert ask_once(tmp_path, sign_in) == 200
    trail = machine.run("audit", "export").out
    assert r"shop \u009b31m" in trail
    assert json.loads(trail.splitlines()[-1])["userAgent"] == "shop \x9b31m"


def test_a_password_in_another_encoding_is_refused_and_not_hashed(machine: Machine) -> None:
    refused = run(machine, "user", "create", "anna", stdin="密码很长很长".encode("gbk"))
    assert (refused.returncode, b"is not in the locale" in refused.stderr) == (2, True), refused.stderr


def make_named(machine: Machine) -> None:
    """Create a client and a user whose names have no Latin letters."""
    machine.script("client", "create", "known", *CLIENT[3:])
    machine.script("user", "create", "anna", "--name", "王芳", stdin="a long password\n")
