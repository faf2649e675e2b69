"""Whoever may not do something makes the server neither read what they sent nor hash a password in it."""

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest
from argon2 import PasswordHasher
from quart_trio.wrappers.request import TrioBody

from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.system import run_inline
from ostiary_web.app import create_app
from ostiary_web.resources.access import permission_of
from ostiary_web.settings import Settings
from tests.net.rooms import CHEAP, SeededEntropy
from tests.web.resources.sheets import sheet_of
from tests.web.served import Api, Browser, Served, forms_in

PASSWORD = "long enough"


@dataclass
class Work:
    """What requests made the server do."""

    hashes: int = 0
    bodies: int = 0


class CountingHasher(PasswordHasher):
    """As quick as that of other tests."""

    def __init__(self, work: Work) -> None:
        super().__init__(CHEAP.time_cost, CHEAP.memory_cost, CHEAP.parallelism, type=CHEAP.type)
        self._work = work

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        self._work.hashes += 1
        return super().hash(password, salt=salt)


@pytest.fixture
def work(served: Served, monkeypatch: pytest.MonkeyPatch) -> Work:
    counted = Work()

    class CountingBody(TrioBody):
        def __await__(self) -> Generator[Any, None, Any]:
            counted.bodies += 1
            return super().__await__()

        def __aiter__(self) -> TrioBody:
            counted.bodies += 1
            super().__aiter__()
            return self

    quart = served.application.quart
    passwords = Passwords(CountingHasher(counted), entropy_source=SeededEntropy(), run_sync=run_inline)
    monkeypatch.setitem(quart.extensions, "ostiary.passwords", passwords)
    monkeypatch.setattr(quart.request_class, "body_class", CountingBody)
    return counted


def changing_routes(prefix: str) -> list[tuple[str, str]]:
    """Every method and path of the administration that changes something."""
    app = create_app(Settings.from_environment({}))
    return sorted(
        (method, re.sub(r"<[^>]+>", "somebody", str(rule.rule)))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) & {"POST", "PUT", "DELETE"}
        if str(rule.rule).startswith(prefix)
        and (prefix == "/admin" or permission_of(app.view_functions[rule.endpoint]) is not None)
    )


PAGES = changing_routes("/admin")
INTERFACE = changing_routes("/api")


def test_the_walk_meets_the_routes_that_hash() -> None:
    assert {("POST", "/admin/people/new"), ("POST", "/admin/people/somebody/reset-password")} <= set(PAGES)
    assert {("POST", "/api/iam/users"), ("PUT", "/api/iam/users/somebody/password")} <= set(INTERFACE)
    assert {("POST", "/admin/people/import"), ("POST", "/admin/online/somebody/end")} <= set(PAGES)
    assert {("POST", "/api/iam/users/import")} <= set(INTERFACE)


def request_for(path: str, fields: dict[str, str]) -> dict[str, Any]:
    """What would be worth reading and hashing: a new account in a form, in a sheet or as JSON."""
    account = {"username": "new", "name": "New", "password": PASSWORD}
    if path.endswith("/import"):
        sheet = sheet_of([[*account], [*account.values()]])
        return {"files": {"file": ("rows.xlsx", sheet)}, "data": {"mode": "insert", **fields}}
    if path.endswith(("/reset-password", "/password")):
        account = {"password": PASSWORD}
    return {"json": account} if path.startswith("/api") else {"data": {**account, **fields}}


async def signed_in(served: Served, username: str, password: str) -> tuple[Browser, dict[str, str]]:
    """A browser, and the token that makes a form one of ours."""
    browser = served.browser()
    await browser.sign_in(username, password)
    token = next(
        form.fields["form_token"]
        for form in forms_in(await browser.get("/account"))
        if "form_token" in form.fields
    )
    return browser, {"form_token": token}


async def program(served: Served, username: str, password: str) -> tuple[Api, dict[str, str]]:
    api = served.api()
    await api.sign_in(username, password)
    return api, {}


async def ask(caller: Browser | Api, method: str, path: str, fields: dict[str, str]) -> int:
    options = request_for(path, fields)
    if isinstance(caller, Browser):
        response = await caller.request(
            method, path, headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"}, **options
        )
    else:
        response = await caller.call(method, path, **options)
    return response.status_code


@pytest.mark.parametrize("method, path", [*PAGES, *INTERFACE])
async def test_who_holds_no_permission_costs_neither_a_reading_nor_a_hash(
    served: Served, work: Work, method: str, path: str
) -> None:
    await served.user()
    log_in = program if path.startswith("/api") else signed_in
    caller, fields = await log_in(served, "anna", "anna's password")
    before, stored = (work.hashes, work.bodies), served.records()
    assert await ask(caller, method, path, fields) == 403
    assert (work.hashes, work.bodies) == before
    assert served.records() == stored


@pytest.mark.parametrize("path", ["/admin/people/new", "/admin/people/import", "/api/iam/users"])
async def test_the_same_request_of_an_administrator_is_read_and_hashed(
    served: Served, work: Work, path: str
) -> None:
    log_in = program if path.startswith("/api") else signed_in
    caller, fields = await log_in(served, "admin", "correct horse battery")
    before = work.hashes, work.bodies
    assert await ask(caller, "POST", path, fields) < 400
    assert work.hashes == before[0] + 1
    assert work.bodies > before[1]
