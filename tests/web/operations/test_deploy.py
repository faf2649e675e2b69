"""The program understands the files under docs/deploy, and has every setting that they name."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from kubernetes_validate import ValidationError, validate

from docs.reference_pages import described_settings
from ostiary_net.front_door.limits import DoorLimits
from ostiary_net.front_door.serving import FORCE_EXIT_SECONDS
from ostiary_net.observability.metrics import Metrics
from ostiary_net.postgres.schema import _LOCK_TIMEOUT_MS, _MOST_LOCK_ATTEMPTS, _PAUSE_SECONDS
from ostiary_net.runtime.foreign_hashes import _MOST_BYTES
from ostiary_web.application.avatars import UPLOAD_LIMITS
from ostiary_web.application.resources.imports import LONGEST_IMPORT
from ostiary_web.cli.command_line import main
from ostiary_web.cli.serving import _GRACEFUL_SECONDS
from ostiary_web.server.database import PostgreSQLDatabase
from ostiary_web.server.readiness import _TIMEOUT_SECONDS
from ostiary_web.server.settings import Settings
from ostiary_web.sheets.child import MOST_MEMORY_BYTES
from ostiary_web.sheets.reader import _AT_A_TIME
from tests.support.processes import Machine, Process, free_port, wait_until

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "docs" / "deploy"
NGINX_CONF = (DEPLOY / "nginx.conf").read_text()
OF_OTHERS = {
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "LISTEN_FDS", "SSL_CERT_FILE", "TMPDIR", "PATH"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"),
    *("POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD_FILE"),
}
"""Variables in these files that are not for Ostiary."""


def find_settings() -> set[str]:
    """Return every setting that the program reads."""
    names: set[str] = set()

    class Asked(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            names.add(name)
            return default

    Settings.from_environment(Asked())
    return names


def containerfile() -> str:
    """Return the Containerfile with each instruction on one line."""
    return (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def kubernetes_objects() -> list[dict[str, Any]]:
    """Return the objects in all files for Kubernetes."""
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def kubernetes(kind: str) -> dict[str, Any]:
    """Return the one object of a kind among them."""
    [found] = [each for each in kubernetes_objects() if each["kind"] == kind]
    assert found["metadata"]["name"].startswith("ostiary")
    return found


def pod(kind: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Return the specification of the pods of a kind, their one container, and its variables."""
    spec = kubernetes(kind)["spec"]["template"]["spec"]
    [container] = spec["containers"]
    return spec, container, {each["name"]: each["value"] for each in container["env"]}


def unit() -> dict[str, list[str]]:
    """Return the lines of the unit that is shipped, by name."""
    return read_unit((DEPLOY / "ostiary.service").read_text())


def read_unit(text: str) -> dict[str, list[str]]:
    """Return the lines of a unit by name; a name may stand several times."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def environments() -> dict[str, dict[str, str]]:
    """Return the variables that each file sets."""
    of_container = [line.split()[1:] for line in containerfile().splitlines() if line.startswith("ENV ")]
    of_services = [service.get("environment", {}) for service in compose()["services"].values()]
    return {
        "Containerfile": dict(word.split("=", 1) for words in of_container for word in words),
        "compose.yaml": {name: str(value) for each in of_services for name, value in each.items()},
        "ostiary.service": dict(value.split("=", 1) for value in unit()["Environment"]),
    }


@pytest.mark.parametrize("file", ["Containerfile", "compose.yaml", "ostiary.service"])
def test_what_a_file_sets_is_a_setting_with_a_value_that_is_allowed(file: str) -> None:
    ours = {name: value for name, value in environments()[file].items() if name not in OF_OTHERS}
    assert ours
    assert set(ours) <= find_settings()
    Settings.from_environment(ours)


def test_the_unit_loads_every_secret_that_may_come_from_a_file() -> None:
    secrets = sorted(name for name in find_settings() if f"{name}_FILE" in find_settings())
    assert sorted(unit()["LoadCredential"]) == [f"{name}:ostiary.{name}" for name in secrets]


def test_every_setting_has_a_default_and_a_meaning_in_its_page() -> None:
    described = described_settings()
    assert set(described) == find_settings()
    assert [name for name, texts in described.items() if not all(texts)] == []


def test_what_the_pages_name_as_a_setting_is_one() -> None:
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)(?:=[^`]*)?`", (ROOT / "docs" / "operating.md").read_text()))
    of_the_sdk = {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_TRACES_SAMPLER", "OTEL_SERVICE_NAME"}
    assert named <= find_settings() | of_the_sdk | OF_OTHERS | {"SO_REUSEPORT"}


def test_a_stop_is_given_longer_than_it_takes() -> None:
    longest = _GRACEFUL_SECONDS + FORCE_EXIT_SECONDS
    [by_systemd] = unit()["TimeoutStopSec"]
    assert float(by_systemd.removesuffix("s")) > longest
    for name, service in compose()["services"].items():
        if name.startswith("ostiary"):
            assert float(service["stop_grace_period"].removesuffix("s")) > longest
    spec, container, _ = pod("Deployment")
    [command, pause] = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command == "sleep"
    assert spec["terminationGracePeriodSeconds"] > float(pause) + longest


def test_the_proxy_that_is_trusted_is_the_one_in_front() -> None:
    services = compose()["services"]
    [address] = [each["ipv4_address"] for each in services["caddy"]["networks"].values()]
    for name in ("ostiary-1", "ostiary-2"):
        assert services[name]["environment"]["TRUST_PROXY"] == address
        assert f"{name}:8000" in (DEPLOY / "Caddyfile").read_text()
    assert "TRUST_PROXY=127.0.0.1" in NGINX_CONF


@pytest.fixture
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a proxy for outgoing requests that does not run."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


def container_check() -> list[str]:
    """Return the command of the container's health check."""
    [check] = re.findall(r"^HEALTHCHECK .* CMD +(\[.*\])$", containerfile(), re.MULTILINE)
    words: list[str] = json.loads(check)
    return words


@pytest.mark.usefixtures("dead_proxy")
@pytest.mark.parametrize(
    "bind",
    [
        *("127.0.0.1:{port}", "0.0.0.0:{port}", "[::]:{port}", "[::1]:{port}", "localhost:{port}"),
        *("unix:{path}", "unix:{path},127.0.0.1:{port}", "127.0.0.1:{port}, unix:{path}"),
    ],
)
def test_the_health_check_of_the_container_asks_wherever_a_server_listens(bind: str, tmp_path: Path) -> None:
    program, *arguments = container_check()
    assert program == "python"
    bind = bind.format(port=free_port(), path=tmp_path / "door")
    machine = Machine(tmp_path, BIND=bind)

    def is_healthy() -> bool:
        environment = {**os.environ, "BIND": bind}
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0

    assert not is_healthy()
    with machine.start():
        wait_until(is_healthy)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are seen in /proc alone")
def test_what_is_written_for_a_moment_is_written_in_the_data_directory(tmp_path: Path) -> None:
    """A container need have no other writable folder. An upload is kept in a file while it comes."""
    (tmp_path / "data").mkdir()
    machine = Machine(tmp_path, DATA_DIR=str(tmp_path / "data"), BIND=f"127.0.0.1:{free_port()}")
    folder = str(tmp_path / "data" / "tmp")
    with machine.start() as process:
        address = process.read_address()
        content = {"username": "admin", "password": machine.environment["ADMIN_PASSWORD"]}
        login = httpx.post(f"{address}/api/auth/login", json=content).json()["data"]
        seen: list[str] = []

        def sheet() -> Iterator[bytes]:
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.xlsx"\r\n\r\n'
            for _ in range(100):
                yield b"0" * 20_000
                seen.extend(open_files(process.pid))
                if any(name.startswith(folder) for name in seen):
                    break
                time.sleep(0.02)
            yield b"\r\n--x--\r\n"

        headers = {"Authorization": f"Bearer {login['accessToken']}"}
        headers |= {"Content-Type": "multipart/form-data; boundary=x"}
        httpx.post(f"{address}/api/iam/users/import", content=sheet(), headers=headers)
    assert any(name.startswith(folder) for name in seen), sorted(set(seen))


def open_files(pid: int) -> Iterator[str]:
    """Yield the files that a process has open, those without a name too."""
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            yield os.readlink(descriptor)


def test_the_head_of_compose_says_what_makes_its_files_work(tmp_path: Path) -> None:
    lines = (DEPLOY / "compose.yaml").read_text().splitlines()
    said = [line.removeprefix("#   ") for line in lines if line.startswith("#   ")]
    assert said[0] == "cd docs/deploy"
    made = [line for line in said[1:] if not line.startswith("podman")]
    assert said[len(made) + 1 :] == ["podman compose up --detach", "podman compose logs ostiary-1"]
    subprocess.run(["sh", "-ec", "\n".join(made)], cwd=tmp_path, check=True)
    content = compose()
    for service in ("ostiary-1", "ostiary-2"):
        given = (tmp_path / content["services"][service]["env_file"]).read_text()
        [(name, value)] = [line.split("=", 1) for line in given.splitlines()]
        database = Settings.from_environment({name: value}).database
        assert isinstance(database, PostgreSQLDatabase)
        password = (tmp_path / content["secrets"]["postgres-password"]["file"]).read_text().strip()
        assert f":{password}@postgres/" in database.url.reveal()
    assert not (tmp_path / "secrets" / "ostiary.env").stat().st_mode & 0o077
    assert "/docs/deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    waits = {name: set(each.get("depends_on", ())) for name, each in content["services"].items()}
    assert "ostiary-1" in waits["ostiary-2"], "so the first one makes the administrator, and says so"
    assert waits["ostiary-1"] == {"postgres"}
    _, *check = content["services"]["ostiary-1"]["healthcheck"]["test"]
    assert check == container_check(), "podman's images have none, and ostiary-2 would wait for ever"
    assert all("id.example.com" in (DEPLOY / file).read_text() for file in ("compose.yaml", "Caddyfile"))


def test_containers_run_without_root_and_write_nowhere_but_to_their_volumes() -> None:
    assert re.search(r"^USER [1-9][0-9]*:[1-9][0-9]*$", containerfile(), re.MULTILINE)
    for name, service in compose()["services"].items():
        if name.startswith("ostiary"):
            assert service["read_only"] is True
            assert "tmpfs" not in service
            assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_a_pod_of_kubernetes_is_given_what_the_server_understands(kind: str, tmp_path: Path) -> None:
    spec, container, environment = pod(kind)
    assert set(environment) - OF_OTHERS <= find_settings()
    assert container["args"][0] in main.load_all()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert container["image"] == f"ostiary:{version}"

    mounts = {each["name"]: each for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in spec["volumes"]}
    assert set(mounts) == set(volumes)
    [secrets] = [name for name, volume in volumes.items() if "secret" in volume]
    assert mounts[secrets]["readOnly"] is True
    assert not volumes[secrets]["secret"]["defaultMode"] & 0o007
    given = {"DATABASE_URL": "postgresql://ostiary@db/ostiary", "ADMIN_PASSWORD": "correct horse battery"}
    shown = volumes[secrets]["secret"].get("items", [{"key": name, "path": name} for name in given])
    files = {f"{mounts[secrets]['mountPath']}/{each['path']}": given[each["key"]] for each in shown}
    for name, value in environment.items():
        if name.endswith("_FILE"):
            assert files[value] == given[name.removesuffix("_FILE")]
            (tmp_path / name).write_text(files[value])
            environment[name] = str(tmp_path / name)
    settings = Settings.from_environment(environment)
    assert isinstance(settings.database, PostgreSQLDatabase), "the image names a SQLite file"
    assert (settings.admin_password is not None) == (kind == "Job"), "nobody else needs it"

    if kind == "Deployment":
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        assert settings.bind == f"0.0.0.0:{ports['http']}"
        assert settings.metrics_bind == f"0.0.0.0:{ports['metrics']}"
        claims = {name: volume["persistentVolumeClaim"] for name, volume in volumes.items() if name == "data"}
        assert str(settings.data_dir) == mounts["data"]["mountPath"]
        hashes = settings.password_hashing_threads * _MOST_BYTES
        needed = hashes + _AT_A_TIME * MOST_MEMORY_BYTES + 200 * 2**20
        assert needed < int(container["resources"]["limits"]["memory"].removesuffix("Mi")) * 2**20
        assert claims["data"]["claimName"] == kubernetes("PersistentVolumeClaim")["metadata"]["name"]

    of_all = spec["securityContext"]
    user = (str(of_all["runAsUser"]), str(of_all["runAsGroup"]))
    assert re.findall(r"^USER (\d+):(\d+)$", containerfile(), re.MULTILINE) == [user]
    assert of_all["runAsNonRoot"] is True
    limits = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}
    assert container["securityContext"] == {**limits, "capabilities": {"drop": ["ALL"]}}
    assert spec["automountServiceAccountToken"] is False


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_kubernetes_knows_every_field_of_its_files(version: str) -> None:
    for each in kubernetes_objects():
        if each["apiVersion"].startswith("gateway."):
            continue  # no kind of Kubernetes itself
        validate(each, version, strict=True)
        with pytest.raises(ValidationError):
            validate({**each, "spec": {**each["spec"], "replica": 2}}, version, strict=True)


def test_kubernetes_asks_the_server_for_what_it_answers(tmp_path: Path) -> None:
    _, container, environment = pod("Deployment")
    probes = {kind: container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")}
    kept = {name: environment[name] for name in ("PUBLIC_URL", "TRUST_PROXY", "LOG_FORMAT")}
    door = tmp_path / "door"
    with Machine(tmp_path, BIND=f"unix:{door}", **kept).start() as process:
        assert environment["PUBLIC_URL"] in process.out.readline()
        # The kubelet knows a pod by its address alone.
        transport = httpx.HTTPTransport(uds=str(door))
        with httpx.Client(transport=transport, base_url="http://10.244.1.7:8000") as kubelet:
            for probe in probes.values():
                assert probe["httpGet"]["port"] == "http"
                assert kubelet.get(probe["httpGet"]["path"]).status_code == 200
    assert [probes[kind]["httpGet"]["path"] for kind in ("readiness", "liveness")] == ["/readyz", "/healthz"]
    assert probes["readiness"]["timeoutSeconds"] > _TIMEOUT_SECONDS
    longest_start = _MOST_LOCK_ATTEMPTS * (_LOCK_TIMEOUT_MS / 1000 + _PAUSE_SECONDS)
    assert probes["startup"]["periodSeconds"] * probes["startup"]["failureThreshold"] > longest_start


def test_what_kubernetes_selects_is_the_pods_that_serve() -> None:
    template = kubernetes("Deployment")["spec"]["template"]
    labels, container = template["metadata"]["labels"], template["spec"]["containers"][0]
    ports = {each["name"] for each in container["ports"]}
    kinds = ("Service", "NetworkPolicy", "PodDisruptionBudget")
    service, policy, budget = (kubernetes(kind)["spec"] for kind in kinds)
    selectors = [kubernetes("Deployment")["spec"]["selector"], policy["podSelector"], budget["selector"]]
    assert [each["matchLabels"] for each in selectors] == [labels] * 3
    assert service["selector"] == labels
    assert not labels.items() <= kubernetes("Job")["spec"]["template"]["metadata"]["labels"].items()
    assert {each["targetPort"] for each in service["ports"]} == {"http"}
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports
    assert 0 < budget["minAvailable"] < kubernetes("Deployment")["spec"]["replicas"]


def test_nginx_takes_as_much_as_the_server_and_waits_for_a_long_list_and_sends_no_post_twice() -> None:
    [kibibytes] = re.findall(r"^ *large_client_header_buffers \d+ (\d+)k;", NGINX_CONF, re.MULTILINE)
    [head_bytes] = [each.default for each in fields(DoorLimits) if each.name == "head_bytes"]
    assert int(kibibytes) * 1024 == head_bytes
    [mebibytes] = re.findall(r"^ *client_max_body_size (\d+)m;", NGINX_CONF, re.MULTILINE)
    assert int(mebibytes) * 2**20 >= max(LONGEST_IMPORT, *UPLOAD_LIMITS.values())
    assert re.findall(r"^ *proxy_next_upstream (.*);", NGINX_CONF, re.MULTILINE) == ["error timeout"]
    [seconds] = re.findall(r"proxy_read_timeout (\d+)s", NGINX_CONF)
    assert int(seconds) >= 300, "an export of 400,000 entries takes 75"


def test_the_route_leads_from_the_public_address_to_the_service() -> None:
    route, service = kubernetes("HTTPRoute")["spec"], kubernetes("Service")
    _, _, environment = pod("Deployment")
    assert [f"https://{host}" for host in route["hostnames"]] == [environment["PUBLIC_URL"]]
    [rule] = route["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
    [port] = service["spec"]["ports"]
    assert rule["backendRefs"] == [{"name": service["metadata"]["name"], "port": port["port"]}]
    [seconds] = re.findall(r"proxy_read_timeout (\d+)s", NGINX_CONF)
    assert rule["timeouts"] == {"request": f"{seconds}s"}
    [parent] = route["parentRefs"]
    [proxy] = kubernetes("NetworkPolicy")["spec"]["ingress"][0]["from"]
    assert proxy["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] == parent["namespace"]


def test_the_page_asks_of_a_gateway_what_nginx_is_set_to() -> None:
    table = (ROOT / "docs" / "operating.md").read_text().partition("| It must | Because |")[2]
    for directive, words in (
        ("keepalive_timeout", r"after (\d+) s at most"),
        ("large_client_header_buffers", r"request heads of (\d+) KiB"),
        ("proxy_buffer_size", r"answers of (\d+) KiB"),
        ("client_max_body_size", r"bodies of (\d+) MiB"),
        ("proxy_read_timeout", r"wait (\d+) s for"),
    ):
        [value] = re.findall(rf"^ *{directive} (?:4 )?(\d+)[skm];$", NGINX_CONF, re.MULTILINE)
        assert re.findall(words, table) == [value], directive


def test_nginx_listens_on_both_protocols() -> None:
    ports = re.findall(r"^ *listen (\[::\]:)?(\d+)(.*);$", NGINX_CONF, re.MULTILINE)
    four = [(port, more) for six, port, more in ports if not six]
    assert [(port, more) for six, port, more in ports if six] == four
    assert four


def test_no_log_of_a_container_fills_the_disk() -> None:
    for name, service in compose()["services"].items():
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name


def test_the_unit_of_the_book_follows_the_trail_of_the_unit_that_is_shipped() -> None:
    book = (ROOT / "docs" / "operating.md").read_text()
    [text] = re.findall(r"```ini\n(# /etc/systemd/system/ostiary-audit\.service.*?)```", book, re.DOTALL)
    follower, shipped = read_unit(text), unit()
    for name in ("DynamicUser", "EnvironmentFile", "StateDirectoryMode", "UMask"):
        assert follower[name] == shipped[name], name
    assert follower["User"] == ["ostiary"], "the name of a dynamic user is that of its unit"
    assert set(shipped["StateDirectory"]) < set(follower["StateDirectory"][0].split())
    database = {each for each in shipped["Environment"] if each.startswith(("DATA_DIR=", "DATABASE_URL="))}
    assert set(follower["Environment"]) == database
    assert set(follower["LoadCredential"]) < set(shipped["LoadCredential"])
    words = follower["ExecStart"][0].split()
    assert words[0] == shipped["ExecStart"][0].split()[0]
    assert Path(words[-1]).parent.name in follower["StateDirectory"][0].split()


def test_proxies_close_idle_connections_before_ostiary_does_and_ask_whether_it_is_ready() -> None:
    [idle_seconds] = [each.default for each in fields(DoorLimits) if each.name == "idle_seconds"]
    assert isinstance(idle_seconds, float)
    [by_nginx] = re.findall(r"keepalive_timeout (\d+)s", NGINX_CONF)
    caddyfile = (DEPLOY / "Caddyfile").read_text()
    [by_caddy] = re.findall(r"keepalive (\d+)s", caddyfile)
    assert re.findall(r"health_uri (.*)", caddyfile) == ["/readyz"]
    assert max(float(by_nginx), float(by_caddy)) < idle_seconds


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "ostiary.service").read_text().replace("/opt/ostiary/bin/ostiary", "/bin/true")
    (tmp_path / "ostiary.service").write_text(text)
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(text)
    assert set(parsed.sections()) == {"Unit", "Service", "Install"}
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "ostiary.service")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert [line for line in ran.stderr.splitlines() if "ostiary.service" in line] == []


def test_the_socket_is_where_the_proxy_asks() -> None:
    [address] = re.findall(r"^ListenStream=(\S+)$", (DEPLOY / "ostiary.socket").read_text(), re.MULTILINE)
    assert f"    server {address} " in NGINX_CONF


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sockets_that_systemd_hands_over_are_served_on_unnamed(workers: str, tmp_path: Path) -> None:
    """Systemd has only `ostiary.socket`: `BIND` is the unit's, and another process listens there by now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        machine = Machine(tmp_path, BIND=f"127.0.0.1:{port}", WORKERS=workers, LOG_LEVEL="info")
        handing = (
            f"import os, sys; {listener.fileno()} == 3 or os.dup2({listener.fileno()}, 3);"
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
            "os.execv(sys.executable, [sys.executable, '-m', 'ostiary_web', 'serve'])"
        )
        command, environment = [sys.executable, "-c", handing], {**os.environ, **machine.environment}
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with Process(command, env=environment, pass_fds=[listener.fileno()], **streams) as server:
            assert httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=30).status_code == 200
            server.terminate()
            _, log = server.communicate(timeout=30)
    assert "serves on the sockets that were handed over, and not on BIND" in log


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked_for = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    asked = set(re.findall(r"\b(?:ostiary|process)_[a-z_]+\b", asked_for))
    metrics = Metrics()
    for name in ("turns_waiting", "hashes_waiting", "text_messages_unfinished", "connections_open"):
        metrics.add_gauge(f"ostiary_{name}", "", list)
    there = set(re.findall(r"# TYPE (\S+)", metrics.write_exposition()))
    there |= {f"{name}_bucket" for name in there}
    assert asked
    assert asked <= there
