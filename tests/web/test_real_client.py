"""The whole flow with a client that nobody here wrote, over real HTTP, against every way of serving.

ostiary serve
hypercorn --worker-class trio ostiary_web.asgi:app
ostiary serve, two workers of it, on PostgreSQL
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

from ostiary_net.front_door.listeners import open_listeners
from ostiary_net.sql.columns import TABLES
from tests.net.postgres.schemas import lent_schema
from tests.net.store.stores import POSTGRESQL
from tests.web.served import ADMIN_PASSWORD, REDIRECT_URI, VERIFIER, Registered, forms_in, in_query

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 30
"""How long a busy machine may take; nothing here waits for a time to pass."""


@dataclass
class Server:
    """A server process, where it listens, and everything secret that went over the wire."""

    process: subprocess.Popen[bytes]
    folder: Path
    port: int
    address: str | None = None
    """Of its database, where that is no file."""
    secrets: set[str] = field(default_factory=lambda: {ADMIN_PASSWORD, VERIFIER})

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stored(self) -> bytes:
        """All that is in its database, as it lies there."""
        if self.address is None:
            files = [path for path in self.folder.iterdir() if path.name.startswith("ostiary.db")]
            return b"".join(path.read_bytes() for path in files)
        with psycopg.connect(self.address) as connection:
            names = [*(stored.name for stored in TABLES.values()), "audit"]
            rows = [connection.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in names]
        return repr(rows).encode()

    def http(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.base, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False)

    def said(self) -> str:
        """All that the process wrote, on standard output and standard error."""
        return "".join((self.folder / name).read_text() for name in ("out", "err"))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def started(way: str, folder: Path) -> Iterator[Server]:
    """A server of its own database, once it answers."""
    with lent_schema(POSTGRESQL) if way == "postgresql" and POSTGRESQL else nullcontext() as address:
        server = launched(way, folder, address)
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.stop()


def launched(way: str, folder: Path, address: str | None) -> Server:
    environment = {
        **os.environ,
        "DATABASE_URL": address or f"sqlite:///{folder / 'ostiary.db'}",
        "WORKERS": "2" if address else "1",
        "DATA_DIR": str(folder),
        "ADMIN_PASSWORD": ADMIN_PASSWORD,
        "LOG_LEVEL": "debug",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONUNBUFFERED": "1",
        "BIND": "127.0.0.1:0",
    }
    out, err = (folder / "out").open("wb"), (folder / "err").open("wb")
    with out, err, open_listeners("127.0.0.1:0") as [listener]:
        if way != "hypercorn":
            argv, fds = ["-m", "ostiary_web", "serve"], []
        else:
            os.set_inheritable(listener.fileno(), True)
            bind = ["--worker-class", "trio", "--bind", f"fd://{listener.fileno()}"]
            argv, fds = ["-m", "hypercorn", *bind, "ostiary_web.asgi:app"], [listener.fileno()]
        process = subprocess.Popen(
            [sys.executable, *argv], cwd=ROOT, env=environment, stdout=out, stderr=err, pass_fds=fds
        )
        server = Server(process, folder, listener.getsockname()[1], address)
    if way != "hypercorn":
        server.port = int(
            eventually(server, lambda: re.search(r"serves http://127\.0\.0\.1:(\d+)\n", server.said()))[1]
        )
    eventually(server, lambda: answers(server))
    return server


def answers(server: Server) -> bool:
    try:
        with server.http() as http:
            return http.get("/").status_code == 200
    except httpx.TransportError:
        return False


def eventually(server: Server, look: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        assert server.process.poll() is None, server.said()
        time.sleep(0.02)
    pytest.fail(f"the server is not ready: {server.said()}")


_on_postgresql = pytest.param(
    "postgresql",
    marks=pytest.mark.skipif(
        POSTGRESQL is None,
        reason="OSTIARY_TEST_POSTGRES names no server (postgresql://user@host:port/database)",
    ),
)


@pytest.fixture(scope="module", params=["serve", "hypercorn", _on_postgresql])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(way: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started(way, tmp_path_factory.mktemp(way)) as running:
        yield running


def registered(server: Server, client_id: str) -> Registered:
    """A client, registered by the administrator."""
    with server.http() as http:
        login = http.post("/api/auth/login", json={"username": "admin", "password": ADMIN_PASSWORD})
        tokens = login.json()["data"]
        server.secrets |= {tokens["accessToken"], tokens["refreshToken"]}
        body = {
            "clientId": client_id,
            "name": "The App",
            "redirectUris": [REDIRECT_URI],
            "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
            "scopes": ["user.read"],
        }
        bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
        response = http.post("/api/oauth/clients", json=body, headers=bearer)
        assert response.status_code == 201, response.text
        secret = response.json()["data"]["secret"]
    server.secrets.add(secret)
    return Registered(client_id, secret)


def oauth(server: Server, client: Registered, method: str = "client_secret_basic") -> Any:
    """Authlib's client."""
    session = OAuth2Session(
        client.client_id,
        client.secret,
        scope="user.read",
        redirect_uri=REDIRECT_URI,
        code_challenge_method="S256",
        token_endpoint_auth_method=method,
    )
    session.trust_env = False
    return session


def approved(server: Server, address: str) -> str:
    """Where a user's browser ends up who signs in and says yes."""
    with server.http(Accept="text/html") as browser:
        page = browser.get(browser.get(address).headers["location"])
        (form,) = [form for form in forms_in(page) if form.action == "/login"]
        filled = {**form.fields, "username": "admin", "password": ADMIN_PASSWORD}
        signed_in = browser.post(form.action, data=filled, headers={"Origin": "null"})
        consent = browser.get(signed_in.headers["location"])
        server.secrets |= {value for name, value in browser.cookies.items() if name != "ostiary_language"}
        (form,) = [form for form in forms_in(consent) if form.buttons]
        filled = {**form.fields, "decision": "approve"}
        result = browser.post(form.action, data=filled, headers={"Origin": "null"})
        assert result.status_code == 303, result.text
        return str(result.headers["location"])


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_authlib_goes_the_whole_way(server: Server, method: str) -> None:
    client = registered(server, method)
    session = oauth(server, client, method)
    token_url = f"{server.base}/api/oauth2/token"

    address, state = session.create_authorization_url(f"{server.base}/sso", code_verifier=VERIFIER)
    landed = approved(server, address.removeprefix(server.base))
    assert in_query(landed, "state") == state
    first = session.fetch_token(token_url, authorization_response=landed, code_verifier=VERIFIER)
    assert (first["token_type"], first["expires_in"], first["scope"]) == ("Bearer", 1800, "user.read")

    profile = session.get(f"{server.base}/api/oauth2/userinfo").json()["data"]
    assert (profile["username"], profile["name"]) == ("admin", "admin")

    old = first["refresh_token"]
    second = session.refresh_token(token_url, refresh_token=old)
    assert second["access_token"] != first["access_token"]
    retried = session.refresh_token(token_url, refresh_token=old)
    assert [retried[name] for name in ("access_token", "refresh_token")] == [
        second[name] for name in ("access_token", "refresh_token")
    ]

    known = introspected(server, session, second["access_token"])
    assert (known["active"], known["sub"], known["client_id"]) == (True, profile["sub"], method)
    assert introspected(server, session, first["access_token"]) == {"active": False}

    revoked = session.revoke_token(f"{server.base}/api/oauth2/revoke", token=second["refresh_token"])
    assert (revoked.status_code, revoked.content) == (200, b"")
    assert introspected(server, session, second["access_token"]) == {"active": False}
    with pytest.raises(OAuthError, match="invalid_grant"):
        session.refresh_token(token_url, refresh_token=second["refresh_token"])
    server.secrets |= {in_query(landed, "code")}
    server.secrets |= {pair[name] for pair in (first, second) for name in ("access_token", "refresh_token")}


def introspected(server: Server, session: Any, token: str) -> Any:
    return session.introspect_token(f"{server.base}/api/oauth2/introspect", token=token).json()


def test_authlib_gets_a_machines_token(server: Server) -> None:
    session = oauth(server, registered(server, "machine"))
    issued = session.fetch_token(f"{server.base}/api/oauth2/token", grant_type="client_credentials")
    server.secrets.add(issued["access_token"])
    assert "refresh_token" not in issued
    known = introspected(server, session, issued["access_token"])
    assert known["active"] is True
    assert "sub" not in known
    assert session.get(f"{server.base}/api/oauth2/userinfo").json()["code"] == "B4003"


def test_authlib_is_told_what_is_wrong(server: Server) -> None:
    client = registered(server, "careless")
    token_url = f"{server.base}/api/oauth2/token"
    with pytest.raises(OAuthError, match="invalid_client"):
        oauth(server, Registered("careless", "wrong")).fetch_token(token_url, grant_type="client_credentials")
    with pytest.raises(OAuthError, match="invalid_grant"):
        oauth(server, client).fetch_token(token_url, code="x" * 43, code_verifier=VERIFIER)
    with pytest.raises(OAuthError, match="unsupported_grant_type"):
        oauth(server, client).fetch_token(token_url, username="admin", password=ADMIN_PASSWORD)


def test_no_secret_is_in_the_log_or_on_the_disk(server: Server) -> None:
    """Last in this module: it looks at what the others left behind."""
    said = server.said()
    assert "session-started" in said, "there is a log to look at"
    on_disk = server.stored()
    assert b"https://app.example" in on_disk, "there is a store to look at"
    assert len(server.secrets) > 15
    for secret in server.secrets:
        assert secret not in said
        assert secret.encode() not in on_disk
