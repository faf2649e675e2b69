"""The proxies of docs/deploy, the real programs with the real files: what passes through them, and what
`ostiary check --live` says of TRUST_PROXY when it is right and when it is not.

Of the files only addresses and certificates are changed. The server is asked from 127.0.0.2 by way of a proxy
that asks it from 127.0.0.1, so that the two can be told apart on one machine.
"""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fuzz.processes.server import Server
from tests.web.command_line.machine import Machine

DEPLOY: Final = Path(__file__).parents[3] / "docs" / "deploy"
NGINX: Final = shutil.which("nginx", path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
CADDY: Final = shutil.which("caddy")
PATIENCE_SECONDS: Final = 30
TEMPORARY: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""What nginx keeps folders for."""
CALLER: Final = "127.0.0.2"
PROXY: Final = "127.0.0.1"

needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not on this machine")
needs_caddy = pytest.mark.skipif(CADDY is None, reason="caddy is not on this machine")


@dataclass(frozen=True)
class Certificate:
    """For localhost, signed by itself."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Certificate(folder / "fullchain.pem", folder / "key.pem")
    made.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def changed(text: str, changes: dict[str, str]) -> str:
    """A file with some of its words changed, each of which it has."""
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """A program, once it takes connections; what it says is in `log`."""
    log = folder / "log"
    with log.open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while True:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, "it never took a connection"
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@contextmanager
def nginx(folder: Path, servers: Sequence[str], certificate: Certificate) -> Iterator[int]:
    """docs/deploy/nginx.conf; the port of https."""
    assert NGINX is not None
    plain, secure = free_port(), free_port()
    site = changed(
        (DEPLOY / "nginx.conf").read_text(),
        {
            "server 127.0.0.1:8000 max_fails=0;": " ".join(f"server {each} max_fails=0;" for each in servers),
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{secure} ssl",
            "/etc/ssl/id.example.com/fullchain.pem": str(certificate.certificate),
            "/etc/ssl/id.example.com/key.pem": str(certificate.key),
        },
    )
    (folder / "site.conf").write_text(site)
    # As root its workers would give root up, and with it these folders.
    user = "user root;" if os.geteuid() == 0 else ""
    folders = " ".join(f"{kind}_temp_path {kind};" for kind in TEMPORARY)
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid nginx.pid; error_log stderr;\n"
        f"events {{}} http {{ {folders} include {folder / 'site.conf'}; }}\n"
    )
    arguments = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run([*arguments, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    with running(arguments, folder, secure):
        yield secure


@contextmanager
def caddy(folder: Path, servers: Sequence[str], certificate: Certificate) -> Iterator[int]:
    """docs/deploy/Caddyfile; the port of https."""
    assert CADDY is not None
    port = free_port()
    site = changed(
        (DEPLOY / "Caddyfile").read_text(),
        {
            "id.example.com {": (
                f"https://localhost:{port} {{\n\ttls {certificate.certificate} {certificate.key}"
            ),
            "ostiary-1:8000 ostiary-2:8000": " ".join(servers),
        },
    )
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site)
    arguments = [CADDY, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with running(arguments, folder, port):
        yield port


OpenProxy = Callable[[Path, Sequence[str], Certificate], AbstractContextManager[int]]

PROXIES = [
    pytest.param(nginx, id="nginx", marks=needs_nginx),
    pytest.param(caddy, id="caddy", marks=needs_caddy),
]


@contextmanager
def behind(
    open_proxy: OpenProxy, folder: Path, certificate: Certificate, **settings: str
) -> Iterator[tuple[Machine, str]]:
    """A server behind a proxy: the machine, and where its callers find it."""
    with ExitStack() as stack:
        machine = Machine(folder, **settings)
        address = stack.enter_context(machine.serving())
        proxy_folder = folder / "proxy"
        proxy_folder.mkdir()
        port = stack.enter_context(open_proxy(proxy_folder, [address.removeprefix("http://")], certificate))
        machine.environment["PUBLIC_URL"] = f"https://localhost:{port}"
        machine.environment["SSL_CERT_FILE"] = str(certificate.certificate)
        yield machine, f"https://localhost:{port}"


def live(machine: Machine) -> dict[str, str]:
    """What `ostiary check` finds of a live request."""
    ran = machine.run("check", "--live", "--json")
    found: list[dict[str, str]] = json.loads(ran.out)["findings"]
    [finding] = [each for each in found if each["about"] == "live request"]
    assert ran.exit_code == (finding["level"] == "fault"), ran.out
    return finding


@pytest.mark.parametrize("open_proxy", PROXIES)
def test_the_server_learns_who_asks_and_how_through_a_proxy_as_documented(
    open_proxy: OpenProxy, tmp_path: Path, certificate: Certificate
) -> None:
    with behind(open_proxy, tmp_path, certificate, TRUST_PROXY=PROXY) as (machine, address):
        known = ssl.create_default_context(cafile=str(certificate.certificate))
        transport = httpx.HTTPTransport(verify=known, local_address=CALLER)
        with httpx.Client(transport=transport, base_url=address) as caller:
            content = {"username": "admin", "password": machine.environment["ADMIN_PASSWORD"]}
            login = caller.post("/api/auth/login", json=content, headers={"X-Forwarded-For": "192.0.2.9"})
            assert login.status_code == 200
            assert "Secure" in login.headers["Set-Cookie"], "the callers' side is https"
            bearer = {"Authorization": f"Bearer {login.json()['data']['accessToken']}"}
            caller.cookies.clear()
            online = caller.get("/api/monitor/online-users", headers=bearer).json()["data"]["items"]
            picture = caller.post("/api/auth/login", content=b"x" * 2_000_000)
        assert [row["ip"] for row in online] == [CALLER]
        assert picture.status_code == 413


@pytest.mark.parametrize("open_proxy", PROXIES)
def test_a_live_request_finds_that_trust_proxy_is_right(
    open_proxy: OpenProxy, tmp_path: Path, certificate: Certificate
) -> None:
    with behind(open_proxy, tmp_path, certificate, TRUST_PROXY=PROXY) as (machine, _):
        finding = live(machine)
        assert finding == {
            "level": "fine",
            "about": "live request",
            "text": f"was seen to come from {CALLER}, as it did",
        }
        clients = [each["clientId"] for each in machine.script("client", "list")["items"]]
        assert not [name for name in clients if name.startswith("ostiary-check")], "it leaves no client"


@pytest.mark.parametrize("open_proxy", PROXIES)
@pytest.mark.parametrize(
    "trusted, level, words",
    [
        ("", "fault", f"was taken to come from {PROXY}, which is the proxy's: TRUST_PROXY must hold it"),
        ("10.0.0.5", "fault", f"was taken to come from {PROXY}, which is the proxy's"),
        ("127.0.0.0/8", "warning", f"asked from {CALLER}, whose word TRUST_PROXY believes"),
    ],
)
def test_a_live_request_finds_that_trust_proxy_is_wrong(
    open_proxy: OpenProxy, tmp_path: Path, certificate: Certificate, trusted: str, level: str, words: str
) -> None:
    with behind(open_proxy, tmp_path, certificate, TRUST_PROXY=trusted) as (machine, _):
        finding = live(machine)
    assert finding["level"] == level
    assert words in finding["text"]


def caddy_version() -> tuple[int, ...]:
    """What `caddy version` says, without what stands behind the three numbers; zeros where there is none."""
    if CADDY is None:
        return (0, 0, 0)
    said = subprocess.run([CADDY, "version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0, 0, 0)


NEVER_TWICE: Final = pytest.mark.skipif(
    caddy_version() <= (2, 11, 1), reason="a POST is not tried again (caddyserver/caddy#7546)"
)


@pytest.mark.parametrize(
    "open_proxy",
    [
        pytest.param(nginx, id="nginx", marks=needs_nginx),
        pytest.param(caddy, id="caddy", marks=[needs_caddy, NEVER_TWICE]),
    ],
)
def test_instances_behind_a_proxy_are_replaced_one_by_one_and_nobody_notices(
    open_proxy: OpenProxy, tmp_path: Path, certificate: Certificate
) -> None:
    answered: Counter[int] = Counter()
    lost: list[str] = []
    over = threading.Event()
    with ExitStack() as stack:
        instances = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            settings = {
                "DATABASE_URL": f"sqlite:///{tmp_path / 'ostiary.db'}",
                "BIND": f"127.0.0.1:{free_port()}",
                "TRUST_PROXY": PROXY,
            }
            instance = stack.enter_context(Server(tmp_path / name, settings=settings))
            instance.start_and_wait()
            instances.append(instance)
        (tmp_path / "proxy").mkdir()
        servers = [f"127.0.0.1:{instance.port}" for instance in instances]
        port = stack.enter_context(open_proxy(tmp_path / "proxy", servers, certificate))
        secret = Machine(tmp_path).client()
        known = ssl.create_default_context(cafile=str(certificate.certificate))

        def ask() -> None:
            with httpx.Client(
                verify=known, base_url=f"https://localhost:{port}", auth=("app", secret)
            ) as caller:
                while not over.is_set():
                    try:
                        form = {"grant_type": "client_credentials"}
                        answered[caller.post("/api/oauth2/token", data=form, timeout=60).status_code] += 1
                    except httpx.TransportError as error:
                        lost.append(repr(error))

        callers = [threading.Thread(target=ask) for _ in range(4)]
        for thread in callers:
            thread.start()
        try:
            for instance in instances:
                assert instance.stop() == 0
                instance.start_and_wait()
            before, until = answered.total(), time.monotonic() + PATIENCE_SECONDS
            while answered.total() < before + 20 and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            over.set()
            for thread in callers:
                thread.join(PATIENCE_SECONDS)
    assert lost == []
    assert set(answered) == {200}
    assert answered.total() > 40


@needs_caddy
def test_caddy_takes_the_file_as_it_is(tmp_path: Path) -> None:
    assert CADDY is not None
    ran = subprocess.run(
        [CADDY, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")],
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


# --- without a proxy


def test_a_server_that_believes_its_callers_is_at_fault(tmp_path: Path) -> None:
    with Machine(tmp_path, TRUST_PROXY=CALLER).serving() as address:
        finding = live(Machine(tmp_path, PUBLIC_URL=address))
    assert finding["level"] == "fault"
    assert "which it made up: TRUST_PROXY holds more than the proxy" in finding["text"]


def test_a_server_that_is_not_there_is_at_fault(tmp_path: Path) -> None:
    machine = Machine(tmp_path, PUBLIC_URL=f"http://localhost:{free_port()}")
    assert machine.run("migrate").exit_code == 0
    finding = live(machine)
    assert finding["level"] == "fault"
    assert "does not answer: ConnectError" in finding["text"]


def test_a_server_on_another_database_is_at_fault(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    with Machine(tmp_path / "there").serving() as address:
        machine = Machine(tmp_path / "here", PUBLIC_URL=address)
        assert machine.run("migrate").exit_code == 0
        finding = live(machine)
    assert finding["level"] == "fault"
    assert "it has another database" in finding["text"]


def test_without_a_public_url_nobody_is_asked(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.run("migrate").exit_code == 0
    assert live(machine)["level"] == "fault"
    assert machine.script("client", "list")["total"] == 2, "the built-in ones alone"
