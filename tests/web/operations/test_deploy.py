"""The files under docs/deploy are what the program understands, and name no setting that there is not."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from ostiary_net.front_door.rules import DoorRules
from ostiary_net.front_door.serving import HARD_END_SECONDS
from ostiary_net.observability.metrics import Metrics
from ostiary_web.cli.command_line import _GRACEFUL_SECONDS
from ostiary_web.server.settings import Settings

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "docs" / "deploy"
OF_OTHERS = {
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "POSTGRES_USER",
    "POSTGRES_DB",
    "POSTGRES_PASSWORD_FILE",
}
"""Variables in these files that are not for Ostiary."""


class Asked(Mapping[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default

    def __getitem__(self, name: str) -> str:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def known() -> set[str]:
    """Every setting there is, by its being read."""
    asked = Asked()
    Settings.from_environment(asked)
    return asked.names


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def unit() -> dict[str, list[str]]:
    """The lines of the unit's service by name; some stand several times."""
    lines = (DEPLOY / "ostiary.service").read_text().splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def environments() -> dict[str, dict[str, str]]:
    """The variables that each file sets."""
    container = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    set_there = [
        line.removeprefix("ENV ").split() for line in container.splitlines() if line.startswith("ENV ")
    ]
    return {
        "Containerfile": dict(word.split("=", 1) for words in set_there for word in words),
        "compose.yaml": {
            name: str(value)
            for service in compose()["services"].values()
            for name, value in service.get("environment", {}).items()
        },
        "ostiary.service": dict(value.split("=", 1) for value in unit()["Environment"]),
    }


@pytest.mark.parametrize("file", ["Containerfile", "compose.yaml", "ostiary.service"])
def test_what_a_file_sets_is_a_setting_with_a_value_that_is_allowed(file: str) -> None:
    ours = {name: value for name, value in environments()[file].items() if name not in OF_OTHERS}
    assert ours
    assert set(ours) <= known()
    Settings.from_environment(ours)


def test_the_readme_has_every_setting_and_no_other() -> None:
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]+)`", row.split("|")[1])}
    assert named == known()


def test_what_the_pages_name_as_a_setting_is_one() -> None:
    page = (ROOT / "docs" / "operating.md").read_text()
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)(?:=[^`]*)?`", page))
    of_the_sdk = {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_TRACES_SAMPLER", "OTEL_SERVICE_NAME"}
    assert named <= known() | of_the_sdk | {"SO_REUSEPORT"}


def test_a_stop_is_given_longer_than_it_takes() -> None:
    longest = _GRACEFUL_SECONDS + HARD_END_SECONDS
    [by_systemd] = unit()["TimeoutStopSec"]
    assert float(by_systemd.removesuffix("s")) > longest
    for name, service in compose()["services"].items():
        if name.startswith("ostiary"):
            assert float(service["stop_grace_period"].removesuffix("s")) > longest


def test_the_proxy_that_is_trusted_is_the_one_in_front() -> None:
    services = compose()["services"]
    [address] = [each["ipv4_address"] for each in services["caddy"]["networks"].values()]
    for name in ("ostiary-1", "ostiary-2"):
        assert services[name]["environment"]["TRUST_PROXY"] == address
        assert f"{name}:8000" in (DEPLOY / "Caddyfile").read_text()
    assert "TRUST_PROXY=127.0.0.1" in (DEPLOY / "nginx.conf").read_text()


def test_containers_run_without_root_and_write_nowhere_but_to_their_volumes() -> None:
    container = (DEPLOY / "Containerfile").read_text()
    assert re.search(r"^USER [1-9][0-9]*:[1-9][0-9]*$", container, re.MULTILINE)
    for name, service in compose()["services"].items():
        if name.startswith("ostiary"):
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]


def test_proxies_close_idle_connections_before_ostiary_does() -> None:
    [idle_seconds] = [each.default for each in fields(DoorRules) if each.name == "idle_seconds"]
    assert isinstance(idle_seconds, float)
    [by_nginx] = re.findall(r"keepalive_timeout (\d+)s", (DEPLOY / "nginx.conf").read_text())
    [by_caddy] = re.findall(r"keepalive (\d+)s", (DEPLOY / "Caddyfile").read_text())
    assert max(float(by_nginx), float(by_caddy)) < idle_seconds


@pytest.mark.parametrize("file", ["nginx.conf", "Caddyfile"])
def test_every_block_is_closed(file: str) -> None:
    lines = [line.partition("#")[0].strip() for line in (DEPLOY / file).read_text().splitlines()]
    depth = 0
    for line in lines:
        depth += line.count("{") - line.count("}")
        assert depth >= 0
        if file == "nginx.conf" and line:
            assert line[-1] in ";{}"
    assert depth == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "ostiary.service").read_text().replace("/opt/ostiary/bin/ostiary", "/bin/true")
    (tmp_path / "ostiary.service").write_text(text)
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(text)
    assert set(parsed.sections()) == {"Unit", "Service", "Install"}
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "ostiary.service")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    about_it = [line for line in ran.stderr.splitlines() if "ostiary.service" in line]
    assert about_it == []


def test_the_socket_is_where_the_proxy_asks_and_is_handed_over_as_the_server_takes_it() -> None:
    text = (DEPLOY / "ostiary.socket").read_text()
    [address] = re.findall(r"^ListenStream=(\S+)$", text, re.MULTILINE)
    assert f"    server {address} " in (DEPLOY / "nginx.conf").read_text()
    [bind] = re.findall(r"^#   Environment=BIND=(\S+)$", text, re.MULTILINE)
    assert Settings.from_environment({"BIND": bind}).bind == "fd://3", "the first that systemd hands over"


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:ostiary|process)_[a-z_]+\b", target["expr"])
    }
    metrics = Metrics()
    for name in ("turns_waiting", "hashes_waiting", "text_messages_unfinished", "connections_open"):
        metrics.add_gauge(f"ostiary_{name}", "", list)
    there = set(re.findall(r"# TYPE (\S+)", metrics.exposition()))
    there |= {f"{name}_bucket" for name in there}
    assert asked
    assert asked <= there
