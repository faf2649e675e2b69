"""`ostiary check` names every fault and exits with 1 for it; it warns of settings that may be intended."""

import json
import sys
import sysconfig
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import apsw
import pytest
import trio
from trio.testing import MockClock

from ostiary_core.model.decision import Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Client, Table, revise
from ostiary_net.runtime.system import run_inline
from ostiary_net.sqlite import SQLiteStore
from ostiary_web.server import checks
from ostiary_web.server.findings import Finding
from tests.support.processes import Machine
from tests.web.operations.test_storage import of_nobody

SOUND = {
    "PUBLIC_URL": "https://id.example.com",
    "TRUST_PROXY": "10.0.0.5",
    "SMS_GATEWAY_URL": "https://sms.example.com/send",
    "ADMIN_PASSWORD": "",
}


@pytest.fixture(autouse=True)
def optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the interpreter seem built with its optimisations, as that of the tests need not be."""
    monkeypatch.setattr(sysconfig, "get_config_var", {"CONFIG_ARGS": "'--enable-optimizations'"}.get)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a sound installation."""
    return Machine.with_database(tmp_path, **SOUND)


def levels(machine: Machine, **environment: str) -> dict[str, str]:
    """Return each subject with a finding that is not fine, and the level of this finding."""
    ran = machine.run("check", "--json", env=environment)
    findings = json.loads(ran.out)["findings"]
    found = {each["about"]: each["level"] for each in findings if each["level"] != "fine"}
    assert ran.exit_code == ("fault" in found.values())
    return found


async def test_a_server_looks_for_its_findings_once_a_minute(autojump_clock: MockClock) -> None:
    looks: list[float] = []

    def look() -> list[Finding]:
        looks.append(trio.current_time() - start)
        return []

    start, check = trio.current_time(), checks.SelfCheck(look, run_inline)
    for wait_seconds in (0, 0, 59.9, 0.1, 59.9):
        await trio.sleep(wait_seconds)
        assert await check.findings() == []
    assert looks == [0, pytest.approx(60)]


def test_a_sound_installation_has_nothing_but_fine_lines(machine: Machine) -> None:
    assert levels(machine) == {}
    lines = machine.run("check").lines
    assert all(line.startswith("fine") for line in lines)
    assert len(lines) >= 4


@pytest.mark.parametrize("name, value", [("ALL_PROXY", "socks5://127.0.0.1:9"), ("SSL_CERT_FILE", "/gone")])
def test_a_variable_that_stops_messages_stops_no_command(machine: Machine, name: str, value: str) -> None:
    assert levels(machine, **{name: value}) == {name: "fault"}
    assert machine.run("migrate", env={name: value}).exit_code == 0


@pytest.mark.parametrize(
    "name, value, level",
    [
        ("PUBLIC_URL", "", "warning"),
        ("PUBLIC_URL", "http://id.example.com", "fault"),
        ("TRUST_PROXY", "", "warning"),
        ("TRUST_PROXY", "0.0.0.0/0", "fault"),
        ("TRUST_PROXY", "10.0.0.5,::/0", "fault"),
        ("RATE_LIMIT_SCALE", "10", "warning"),
        ("GUESS_LIMIT_SCALE", "10", "warning"),
        ("SMS_GATEWAY_URL", "", "warning"),
        ("SMS_GATEWAY_URL", "http://sms.example.com", "warning"),
        ("ADMIN_PASSWORD", "correct horse battery", "warning"),
    ],
)
def test_an_unwise_setting_is_named(machine: Machine, name: str, value: str, level: str) -> None:
    assert levels(machine, **{name: value}) == {name: level}


def test_behind_a_unix_socket_no_address_is_known_unless_the_proxy_is_trusted(machine: Machine) -> None:
    assert levels(machine, BIND="unix:/run/door", TRUST_PROXY="")["TRUST_PROXY"] == "warning"


@pytest.mark.parametrize(
    "options, prefix, is_told",
    [
        ("'--prefix=/opt'", "/opt", True),
        ("'--prefix=/usr'", "/usr", False),
        ("'--enable-optimizations'", "/opt", False),
        ("'--prefix=/opt'", ".", False),
        (None, "/opt", False),
        (ImportError, "/opt", False),
    ],
)
def test_an_interpreter_built_without_its_optimisations_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Any, prefix: str, is_told: bool
) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", Mock(side_effect=[options] * 9))
    monkeypatch.setattr(sys, "base_prefix", prefix)
    monkeypatch.chdir(tmp_path)
    Path("conda-meta").mkdir()
    assert levels(Machine.with_database(tmp_path, **SOUND)) == ({"Python": "warning"} if is_told else {})


def test_a_database_that_others_can_read_is_at_fault(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "ostiary.db").chmod(0o644)
    assert levels(machine) == {"files": "fault"}


def test_a_log_that_a_long_reader_keeps_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_LONG_LOG_BYTES", 200_000)
    machine = Machine.with_database(tmp_path, **SOUND)
    reading = apsw.Connection(str(tmp_path / "ostiary.db"))
    reading.execute("BEGIN; SELECT 1 FROM users").fetchall()
    assert levels(machine) == {}
    for number in range(10):
        machine.script("client", "create", f"app{number}", "--redirect-uri", "https://app.example/callback")
    assert levels(machine) == {"log": "warning"}
    reading.close()


def test_a_secret_that_every_user_can_read_is_named(machine: Machine, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    for mode, expected in ((0o640, {}), (0o644, {"secrets": "warning"})):
        token.chmod(mode)
        assert levels(machine, SMS_GATEWAY_TOKEN_FILE=str(token)) == expected


@pytest.mark.parametrize("setting, name", [("DATA_DIR", "data"), ("SMS_OUTBOX", "outbox")])
@pytest.mark.parametrize("fault", ["unwritable", "another kind"])
def test_a_place_that_cannot_be_written_is_at_fault(
    setting: str, name: str, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with of_nobody() as folder:
        machine = Machine.with_database(folder, **SOUND)
        place = folder / name
        if fault == "unwritable":
            place.mkdir()
            place.chmod(0o555)
            path = place if setting == "DATA_DIR" else place / "sms.jsonl"
        else:
            path = place
            place.touch() if setting == "DATA_DIR" else place.mkdir()
            place.chmod(0o700)
        found = levels(machine, **{setting: str(path), "SMS_GATEWAY_URL": ""})
        assert found.pop("SMS_GATEWAY_URL") == "warning"
        assert found[setting] == "fault"
        # A start says so too; this one goes no further.
        nowhere = f"sqlite:///{folder / 'ostiary.db'}/x"
        machine.run("serve", env={setting: str(path), "SMS_GATEWAY_URL": "", "DATABASE_URL": nowhere})
        assert f"cannot be written path={place} setting={setting}\n" in capfd.readouterr().err
        place.chmod(0o700)


def test_a_folder_of_temporary_files_that_cannot_be_written_is_named() -> None:
    with of_nobody() as folder:
        machine = Machine.with_database(folder, **SOUND)
        for chosen, place in ({}, folder / "tmp"), ({"TMPDIR": str(folder / "other")}, folder / "other"):
            place.mkdir(mode=0o555)
            assert levels(machine, **chosen).get("TMPDIR") == "warning"
            place.chmod(0o700)
            assert "TMPDIR" not in levels(machine, **chosen)


def test_a_clock_that_was_set_back_is_at_fault(machine: Machine, tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        client = next(each for each in store.records(Table.CLIENT) if isinstance(each, Client))
        store.write([Update(client, revise(client, updated_at=Instant(client.updated_at + 3_600_000)))])
    assert levels(machine) == {"clock": "fault"}


def test_a_redirect_uri_older_than_its_rule_is_named_and_works_on(machine: Machine, tmp_path: Path) -> None:
    machine.script("client", "create", "app", "--redirect-uri", "https://app.example/callback")
    old = ("https://app.example/?%63ode=1", "https://a..example/")
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        client = next(each for each in store.records(Table.CLIENT) if each.key[1] == "app")
        assert isinstance(client, Client)
        store.write([Update(client, revise(client, redirect_uris=(*client.redirect_uris, *old)))])
    assert levels(machine) == {"client app": "warning"}
    told = [line for line in machine.run("check").lines if "client app" in line]
    assert [uri for uri in old if any(uri in line for line in told)] == list(old)
    machine.script("client", "update", "app", "--name", "Renamed")
    assert machine.script("client", "show", "app")["redirectUris"][1:] == list(old)
