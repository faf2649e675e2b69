"""The demonstration's passwords are public, so it serves this machine and no other.

The tests in tests/web/browser show that it serves.
"""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner
from demo.__main__ import main
from demo.running import _listening_here
from demo.texts import TEXTS

from ostiary_net.front_door.listeners import AddressError, open_listeners
from ostiary_web.server.setting_values import SettingError

DEMO = Path(__file__).resolve().parents[2] / "docs" / "examples" / "demo"


def has_ipv6() -> bool:
    """Whether this machine has the loopback address of IPv6."""
    try:
        with open_listeners("[::1]:0"):
            return True
    except AddressError:
        return False


WITH_IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def refusal(*options: str, bind: str = "127.0.0.1:0") -> str:
    """Return the one line with which it ends."""
    ended = CliRunner().invoke(main, options or ("--shop", "127.0.0.1:0"), env={"BIND": bind}).exception
    assert isinstance(ended, SystemExit)
    [line] = str(ended.code).splitlines()
    return line


@pytest.mark.parametrize("bind", ["0.0.0.0:0", "0:0", pytest.param("[::]:0", marks=WITH_IPV6)])
def test_an_address_that_other_machines_reach_is_refused(bind: str) -> None:
    said = refusal(bind=bind)
    assert said.startswith(f"ostiary: BIND: cannot listen on {bind}: ")
    assert "passwords are known to everybody" in said
    assert "127.0.0.1:8001" in said
    assert "passwords are known to everybody" in refusal("--shop", bind)


def test_beside_a_running_server_it_says_which_setting_is_to_be_another() -> None:
    with open_listeners("127.0.0.1:0") as [taken]:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        for setting, said in (("BIND", refusal(bind=bind)), ("SHOP_BIND", refusal("--shop", bind))):
            assert said.startswith(f"ostiary: {setting}: cannot listen on {bind}: "), said
            allowed = "allowed: an address that is free and that only this machine reaches, as 127.0.0.1:8001"
            assert said.endswith(allowed)


def test_a_unix_socket_is_refused_as_no_browser_opens_one_and_left_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "door"
    with open_listeners(f"unix:{path}"):
        assert "no browser opens a Unix socket" in refusal(bind=f"unix:{path}")
        assert path.exists()


@pytest.mark.parametrize(
    "bind",
    ["127.0.0.1:0", "127.8.9.10:0", "127.1:0", "localhost:0", pytest.param("[::1]:0", marks=WITH_IPV6)],
)
def test_every_address_of_the_loopback_is_listened_on(bind: str) -> None:
    with _listening_here("BIND", bind) as listeners:
        assert listeners


@pytest.mark.parametrize("bind, is_ours", [("127.0.0.1:0", True), ("0.0.0.0:0", False)])
def test_a_socket_that_is_handed_over_is_judged_by_its_own_address(bind: str, is_ours: bool) -> None:
    judged = nullcontext() if is_ours else pytest.raises(SettingError, match="known to everybody")
    with open_listeners(bind) as [given], judged:
        handed_over = f"fd://{os.dup(given.fileno())}"
        with _listening_here("BIND", handed_over) as [listener]:
            assert listener.getsockname() == given.getsockname()


def test_the_shop_has_each_of_its_texts_in_every_language() -> None:
    used = "".join(path.read_text() for path in DEMO.glob("[!t]*.*"))
    used += (DEMO / "third_party.py").read_text()
    for texts in TEXTS.values():
        assert texts.keys() == TEXTS["en-US"].keys()
    for key in TEXTS["en-US"]:
        name = key.removeprefix("demo.")
        assert key in used or f"t.{name} " in used or name.startswith("do_"), key
