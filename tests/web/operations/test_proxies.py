"""Real proxies with the files of docs/deploy: requests pass through, and `ostiary check --live` judges
TRUST_PROXY.

The tests change only addresses and certificates in the files. Callers use the address 127.0.0.2 and the proxy
uses 127.0.0.1, so that one machine has two different addresses.
"""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import httpx
import pytest
from cryptography import x509

from tests.support.callers import forms_in
from tests.support.processes import Certificate, ForkedServer, Machine, certify, free_port, wait_until

DEPLOY: Final = Path(__file__).parents[3] / "docs" / "deploy"
NGINX: Final = shutil.which("nginx", path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
CADDY: Final = shutil.which("caddy")
PATIENCE_SECONDS: Final = 30
TEMPORARY: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""Kinds of temporary files for which nginx keeps a folder each."""
PICTURE: Final = Path(__file__).parents[1] / "account" / "photographs" / "progressive.jpg"
CALLER: Final = "127.0.0.2"
PROXY: Final = "127.0.0.1"

needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not on this machine")
needs_caddy = pytest.mark.skipif(CADDY is None, reason="caddy is not on this machine")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certify(tmp_path_factory.mktemp("certificate"))


def change_words(text: str, changes: dict[str, str]) -> str:
    """Return a text with some words replaced; fail if it lacks one of them."""
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """Run a program, with its output in `log`; begin once it takes connections."""
    log = folder / "log"
    with log.open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:

            def takes_connections() -> bool:
                assert process.poll() is None, log.read_text()
                with socket.socket() as caller:
                    return caller.connect_ex(("127.0.0.1", port)) == 0

            wait_until(takes_connections)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@contextmanager
def nginx(
    place: Path, servers: Sequence[str], certificate: Certificate, path: str = "/", to: str = "http://ostiary"
) -> Iterator[int]:
    """Run nginx with docs/deploy/nginx.conf for paths below `path`; yield its port for https."""
    assert NGINX is not None
    plain, secure = free_port(), free_port()
    site = change_words(
        (DEPLOY / "nginx.conf").read_text(),
        {
            "server 127.0.0.1:8000 max_fails=0;": " ".join(f"server {each} max_fails=0;" for each in servers),
            "location / {": f"location {path} {{",
            "proxy_pass http://ostiary;": f"proxy_pass {to};",
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen [::]:80;": "",  # not each machine of the tests has IPv6
            "listen [::]:443 ssl http2;": "",
            "listen 443 ssl": f"listen 127.0.0.1:{secure} ssl",
            "/etc/ssl/id.example.com/fullchain.pem": str(certificate.certificate),
            "/etc/ssl/id.example.com/key.pem": str(certificate.key),
        },
    )
    (place / "site.conf").write_text(site)
    # As root its workers would give root up, and with it these folders.
    user = "user root;" if os.geteuid() == 0 else ""
    folders = " ".join(f"{kind}_temp_path {kind};" for kind in TEMPORARY)
    (place / "nginx.conf").write_text(
        f"{user} daemon off; pid nginx.pid; error_log stderr;\n"
        f"events {{}} http {{ {folders} include {place / 'site.conf'}; }}\n"
    )
    arguments = [NGINX, "-p", str(place), "-c", str(place / "nginx.conf")]
    checked = subprocess.run([*arguments, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    with running(arguments, place, secure):
        yield secure


@contextmanager
def caddy(folder: Path, servers: Sequence[str], certificate: Certificate, path: str = "/") -> Iterator[int]:
    """Run Caddy with docs/deploy/Caddyfile for paths below `path`; yield its port for https."""
    assert CADDY is not None
    port = free_port()
    site = change_words(
        (DEPLOY / "Caddyfile").read_text(),
        {
            "id.example.com {": (
                f"https://localhost:{port} {{\n\ttls {certificate.certificate} {certificate.key}"
            ),
            "reverse_proxy ostiary-1:8000 ostiary-2:8000 {": f"reverse_proxy {path}* {' '.join(servers)} {{",
        },
    )
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site)
    arguments = [CADDY, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with running(arguments, folder, port):
        yield port


OpenProxy = Callable[..., AbstractContextManager[int]]

PROXIES = [
    pytest.param(nginx, id="nginx", marks=needs_nginx),
    pytest.param(caddy, id="caddy", marks=needs_caddy),
]


@contextmanager
def behind(
    open_proxy: OpenProxy, folder: Path, certificate: Certificate, trusted: str = PROXY, path: str = "/"
) -> Iterator[tuple[Machine, str]]:
    """Run a server behind a proxy, at a path of it; yield its machine and the address for callers.

    A server at `/` has no setting for its address: it learns from the proxy that its callers use TLS.
    """
    inside = f"127.0.0.1:{free_port()}"
    (folder / "proxy").mkdir()
    with open_proxy(folder / "proxy", [inside], certificate, path=path) as port:
        address = f"https://localhost:{port}{path.removesuffix('/')}"
        known = {} if path == "/" else {"PUBLIC_URL": address, "API_DOCS_ENABLED": "true"}
        machine = Machine(folder, BIND=inside, TRUST_PROXY=trusted, **known)
        with machine.serving():
            machine.environment |= {"PUBLIC_URL": address, "SSL_CERT_FILE": str(certificate.certificate)}
            context = ssl.create_default_context(cafile=str(certificate.certificate))
            wait_until(lambda: httpx.get(f"{address}/healthz", verify=context).status_code == 200)
            yield machine, address


@pytest.fixture(scope="module", params=PROXIES)
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, certificate: Certificate
) -> Iterator[tuple[Machine, str]]:
    """Run a server behind each proxy as documented."""
    with behind(request.param, tmp_path_factory.mktemp("site"), certificate) as made:
        yield made


@pytest.fixture
def known(certificate: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate.certificate))


def live(machine: Machine, tls: str | None = None) -> dict[str, str]:
    """Return the finding of `ostiary check` about a live request; its text about TLS begins with `tls`."""
    ran = machine.run("check", "--live", "--json")
    found: list[dict[str, str]] = json.loads(ran.out)["findings"]
    [finding] = [each for each in found if each["about"] == "live request"]
    assert ran.exit_code == (finding["level"] == "fault"), ran.out
    said = [(each["level"], each["text"][: len(tls or "")]) for each in found if each["about"] == "TLS"]
    assert said == ([] if tls is None else [("warning", tls)])
    return finding


def test_the_server_learns_through_a_proxy_who_asks(site: tuple[Machine, str], known: ssl.SSLContext) -> None:
    machine, address = site
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


def test_a_live_request_finds_trust_proxy_right(site: tuple[Machine, str], certificate: Certificate) -> None:
    machine, _ = site
    ends = x509.load_pem_x509_certificate(certificate.certificate.read_bytes()).not_valid_after_utc
    finding = live(machine, f"TLSv1.3; the certificate ends {ends:%Y-%m-%dT%H:%M:%S}")
    assert finding["level"] == "fine"
    assert f"the server saw the right address, {CALLER}" in finding["text"]
    clients = [each["clientId"] for each in machine.script("client", "list")["items"]]
    assert not [name for name in clients if name.startswith("ostiary-check")], "it leaves no client"


@needs_nginx
@pytest.mark.parametrize(
    "trusted, level, words",
    [
        ("10.0.0.5", "fault", f"the server saw {PROXY}, which is the proxy's: add it to TRUST_PROXY"),
        ("127.0.0.0/8", "warning", f"asked from {CALLER}, which TRUST_PROXY trusts"),
    ],
)
def test_a_live_request_finds_trust_proxy_wrong(
    tmp_path: Path, certificate: Certificate, trusted: str, level: str, words: str
) -> None:
    with behind(nginx, tmp_path, certificate, trusted) as (machine, _):
        finding = live(machine, "TLSv1.3")
    assert (finding["level"], words in finding["text"]) == (level, True), finding


def test_a_long_consent_request_leads_to_a_sign_in(site: tuple[Machine, str], known: ssl.SSLContext) -> None:
    """The redirect holds the whole request, so that its head is longer than most proxies expect."""
    for size in (1_000, 7_000, 14_000):
        state = "%C3%A4" * (size // 6)
        asked = httpx.get(f"{site[1]}/sso?response_type=code&client_id=app&state={state}", verify=known)
        assert asked.status_code == 303, (size, asked.text)
        assert len(asked.headers["location"]) > size


@pytest.mark.parametrize("open_proxy", PROXIES)
def test_people_and_backends_find_the_server_under_a_path(
    open_proxy: OpenProxy, tmp_path: Path, certificate: Certificate, known: ssl.SSLContext
) -> None:
    """tests/web/test_public_path.py follows the links of pages under a path."""
    with behind(open_proxy, tmp_path, certificate, path="/auth/") as (machine, address):
        assert live(machine, tls="TLS")["level"] == "fine"
        with httpx.Client(verify=known, follow_redirects=True, headers={"Origin": "null"}) as visitor:
            page = visitor.get(f"{address}/account?x=1")
            [form] = [form for form in forms_in(page) if "username" in form.fields]
            filled = {"username": "admin", "password": machine.environment["ADMIN_PASSWORD"]}
            account = visitor.post(urljoin(address, form.action), data={**form.fields, **filled})
            assert (account.status_code, str(account.url)) == (200, f"{address}/account?x=1")
            [form] = [form for form in forms_in(account) if form.action.endswith("/account/picture")]
            file = {"file": ("me.jpg", PICTURE.read_bytes())}
            shown = visitor.post(urljoin(address, form.action), data=form.fields, files=file)
            [picture] = re.findall('<img class="picture" src="([^"]+)"', shown.text)
            assert visitor.get(urljoin(address, picture)).headers["content-type"] == "image/jpeg"
            assert visitor.get(f"{address}/api/docs-json").json()["servers"] == [{"url": "/auth"}]


@needs_nginx
def test_a_proxy_that_takes_the_path_off_is_at_fault(tmp_path: Path, certificate: Certificate) -> None:
    with behind(partial(nginx, to="http://ostiary/"), tmp_path, certificate, path="/auth/") as (machine, _):
        finding = live(machine)
    assert finding["level"] == "fault"
    assert "the proxy must pass the path on unchanged" in finding["text"]


def caddy_version() -> tuple[int, ...]:
    """Return the three numbers of `caddy version`; zeros without Caddy."""
    if CADDY is None:
        return (0, 0, 0)
    said = subprocess.run([CADDY, "version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0, 0, 0)


NEVER_TWICE: Final = pytest.mark.skipif(
    caddy_version() <= (2, 11, 1), reason="a POST is not tried again (caddyserver/caddy#7546)"
)


@pytest.mark.parametrize("open_proxy", [PROXIES[0], pytest.param(caddy, marks=[needs_caddy, NEVER_TWICE])])
def test_a_replacement_loses_nothing(
    open_proxy: OpenProxy, tmp_path: Path, certificate: Certificate, known: ssl.SSLContext
) -> None:
    """Two instances behind a proxy are replaced one by one, and callers lose no request."""
    answered: Counter[int] = Counter()
    lost: list[str] = []
    over = threading.Event()
    for name in ("one", "two", "proxy"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        instances = []
        for name in ("one", "two"):
            given = {"DATABASE_URL": f"sqlite:///{tmp_path}/ostiary.db", "BIND": f"127.0.0.1:{free_port()}"}
            given["TRUST_PROXY"] = PROXY
            instance = stack.enter_context(ForkedServer(tmp_path / name, settings=given))
            instance.start_and_wait()
            instances.append(instance)
        servers = [f"127.0.0.1:{instance.port}" for instance in instances]
        port = stack.enter_context(open_proxy(tmp_path / "proxy", servers, certificate))
        secret = Machine(tmp_path).client()

        def ask() -> None:
            address, form = f"https://localhost:{port}/api/oauth2/token", {"grant_type": "client_credentials"}
            with httpx.Client(verify=known, auth=("app", secret), timeout=60) as caller:
                while not over.is_set():
                    try:
                        answered[caller.post(address, data=form).status_code] += 1
                    except httpx.TransportError as error:
                        lost.append(repr(error))

        with ThreadPoolExecutor() as callers:
            for _ in range(4):
                callers.submit(ask)
            try:
                for instance in instances:
                    assert instance.stop() == 0
                    instance.start_and_wait()
                before = answered.total()
                wait_until(lambda: answered.total() >= before + 20)
            finally:
                over.set()
    assert lost == []
    assert set(answered) == {200}
    assert answered.total() > 40


def test_a_live_request_names_what_is_wrong_with_the_server(tmp_path: Path) -> None:
    def look(name: str, words: str, **settings: str) -> str:
        (tmp_path / name).mkdir(exist_ok=True)
        machine = Machine(tmp_path / name, **settings)
        assert machine.run("migrate").exit_code == 0
        finding = live(machine)
        assert (finding["level"], words in finding["text"]) == ("fault", True), finding
        assert machine.script("client", "list")["total"] == 2, "the built-in ones alone"
        return finding["text"]

    with Machine(tmp_path, TRUST_PROXY=CALLER).serving() as address:
        assert "TRUST_PROXY covers more than the proxy" in look("", "believed a forged", PUBLIC_URL=address)
        look("here", "it has another database", PUBLIC_URL=address)
    look("away", "does not answer: ConnectError", PUBLIC_URL=f"http://localhost:{free_port()}")
    look("nameless", "PUBLIC_URL")
