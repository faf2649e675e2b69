"""The demonstration has passwords that everybody knows: it serves this machine and no other."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from demo.texts import TEXTS

from ostiary_net.front_door.listeners import AddressError, open_listeners
from tests.support.processes import Process

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
PATIENCE_SECONDS = 60


def has_ipv6() -> bool:
    """Whether this machine has the loopback address of IPv6."""
    try:
        with open_listeners("[::1]:0"):
            return True
    except AddressError:
        return False


WITH_IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def start_demo(*options: str, bind: str, inherited: socket.socket | None = None) -> Process:
    """The demonstration as it starts."""
    return Process(
        [sys.executable, "-m", "demo", *(options or ("--shop", "127.0.0.1:0"))],
        env={**os.environ, "BIND": bind, "PYTHONPATH": str(EXAMPLES), "PYTHONUNBUFFERED": "1"},
        pass_fds=() if inherited is None else (inherited.fileno(),),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refusal(process: Process) -> str:
    """The one line that it ends with."""
    # One that serves would say so at once, and wait for its end.
    assert process.out.readline() == ""
    assert process.wait(PATIENCE_SECONDS) == 1
    [line] = process.err.read().splitlines()
    return line


def address_served(process: Process) -> str:
    """Where it says that it serves."""
    found = re.fullmatch(r"Open (http://\S+) in a browser: .* with (http://\S+)\n", process.out.readline())
    assert found is not None
    assert httpx.get(found[1]).status_code == 200
    return found[2]


@pytest.mark.parametrize("bind", ["0.0.0.0:0", "0:0", pytest.param("[::]:0", marks=WITH_IPV6)])
def test_what_others_reach_is_refused(bind: str) -> None:
    with start_demo(bind=bind) as process:
        said = refusal(process)
    assert said.startswith(f"ostiary: BIND: cannot listen on {bind}: ")
    assert "passwords are known to everybody" in said
    assert "127.0.0.1:8001" in said


def test_beside_a_running_server_it_says_which_setting_is_to_be_another() -> None:
    with open_listeners("127.0.0.1:0") as [taken]:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        for setting, options, address in (("BIND", (), bind), ("SHOP_BIND", ("--shop", bind), "127.0.0.1:0")):
            with start_demo(*options, bind=address) as process:
                said = refusal(process)
            assert said.startswith(f"ostiary: {setting}: cannot listen on {bind}: "), said
            assert said.endswith(
                "allowed: an address that is free and that only this machine reaches, as 127.0.0.1:8001"
            )


def test_the_shop_is_for_this_machine_as_well() -> None:
    with start_demo("--shop", "0.0.0.0:0", bind="127.0.0.1:0") as process:
        assert "passwords are known to everybody" in refusal(process)


def test_a_unix_socket_is_refused_as_no_browser_opens_one_and_left_to_whoever_has_it(tmp_path: Path) -> None:
    path = tmp_path / "door"
    with open_listeners(f"unix:{path}"):
        with start_demo(bind=f"unix:{path}") as process:
            assert "no browser opens a Unix socket" in refusal(process)
        assert path.exists()


@pytest.mark.parametrize(
    "bind",
    ["127.0.0.1:0", "127.8.9.10:0", "127.1:0", "localhost:0", pytest.param("[::1]:0", marks=WITH_IPV6)],
)
def test_every_address_of_the_loopback_is_served(bind: str) -> None:
    with start_demo(bind=bind) as process:
        assert httpx.get(address_served(process) + "/readyz").status_code == 200


def test_a_socket_that_is_handed_over_is_judged_by_its_own_address() -> None:
    with (
        open_listeners("127.0.0.1:0") as [local],
        start_demo(bind=f"fd://{local.fileno()}", inherited=local) as process,
    ):
        assert httpx.get(address_served(process) + "/readyz").status_code == 200
    with (
        open_listeners("0.0.0.0:0") as [open_to_all],
        start_demo(bind=f"fd://{open_to_all.fileno()}", inherited=open_to_all) as process,
    ):
        assert "passwords are known to everybody" in refusal(process)


def test_the_shop_has_each_of_its_texts_in_every_language() -> None:
    used = "".join(path.read_text() for path in (EXAMPLES / "demo").glob("[!t]*"))
    used += (EXAMPLES / "demo" / "third_party.py").read_text()
    for texts in TEXTS.values():
        assert texts.keys() == TEXTS["en-US"].keys()
    for key in TEXTS["en-US"]:
        name = key.removeprefix("demo.")
        assert key in used or f"t.{name} " in used or name.startswith("do_"), key
