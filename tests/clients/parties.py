"""The parties of a test with a foreign client: a server in its own process, a registered client, a user."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import httpx

from fuzz.processes.server import ADMIN_PASSWORD, Server
from ostiary_net.front_door.listeners import open_listeners
from tests.support.asks import VERIFIER
from tests.support.callers import REDIRECT_URI, Registered, forms_in, registration
from tests.support.processes import ForkedServer
from tests.support.stores import lent_schema

PATIENCE_SECONDS: Final = 30
"""How long a busy machine may take; nothing here waits for a time to pass."""


class House:
    """A running server, and everything secret that went over the wire."""

    def __init__(self, server: Server, database: str | None = None) -> None:
        self.server = server
        self.base = f"http://127.0.0.1:{server.port}"
        self.database = database
        """The address of its database, if that is no file."""
        self.secrets = {ADMIN_PASSWORD, VERIFIER}

    def http(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.base, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False)

    def register(self, client_id: str, redirect_uri: str = REDIRECT_URI) -> Registered:
        """Register a client as the administrator."""
        with self.http() as http:
            login = http.post("/api/auth/login", json={"username": "admin", "password": ADMIN_PASSWORD})
            tokens = login.json()["data"]
            bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
            asked = registration(client_id, redirectUris=[redirect_uri])
            response = http.post("/api/oauth/clients", json=asked, headers=bearer)
            assert response.status_code == 201, response.text
        secret = response.json()["data"]["secret"]
        self.secrets |= {tokens["accessToken"], tokens["refreshToken"], secret}
        return Registered(client_id, secret)

    def approve(self, address: str, username: str = "admin", password: str = ADMIN_PASSWORD) -> str:
        """Open an address, sign in and approve as a user; return the address to which the browser is sent."""
        with self.http(Accept="text/html", Origin="null") as browser:
            page = browser.get(browser.get(address.removeprefix(self.base)).headers["location"])
            (form,) = [form for form in forms_in(page) if form.action == "/login"]
            filled = {**form.fields, "username": username, "password": password}
            consent = browser.get(browser.post(form.action, data=filled).headers["location"])
            self.secrets |= {value for name, value in browser.cookies.items() if name != "ostiary_language"}
            (form,) = [form for form in forms_in(consent) if form.buttons]
            result = browser.post(form.action, data={**form.fields, "decision": "approve"})
            assert result.status_code == 303, result.text
            return str(result.headers["location"])


@contextmanager
def open_house(folder: Path, way: str = "serve") -> Iterator[House]:
    """Serve an empty database: by `serve`, by plain `hypercorn`, or by two workers on `postgresql`."""
    with ExitStack() as stack:
        settings, database = {}, None
        if way == "postgresql":
            database = settings["DATABASE_URL"] = stack.enter_context(lent_schema())
        if way == "hypercorn":
            [listener] = stack.enter_context(open_listeners("127.0.0.1:0"))
            os.set_inheritable(listener.fileno(), True)
            bind = ("--worker-class", "trio", "--bind", f"fd://{listener.fileno()}")
            program = ("hypercorn", *bind, "ostiary_web.asgi:app")
            server: Server = Server(folder, program=program, inherits=[listener.fileno()])
            server.start()
            # A client that connects before it serves waits in the kernel's queue.
            server.port = listener.getsockname()[1]
        else:
            server = ForkedServer(folder, workers=2 if database else 1, settings=settings)
            server.start_and_wait()
        with server:
            yield House(server, database)
            server.stop()
