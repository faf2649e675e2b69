"""A store that fails at any one statement, is full, or may only be read, behind the real application.

Whatever fails, the answer is the failure itself: a 500 or 503, never an `invalid_*` that would make a third
party throw its tokens away, and never a success. Nothing of the request is kept, and the same request works
as soon as the store does.
"""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import apsw
import httpx
import pytest

from tests.web.conftest import Serve
from tests.web.doors import Door
from tests.web.served import Api, Registered, Served, authorization, exchange_of, on_disk, sso

UNLIMITED: Final = {"RATE_LIMIT_SCALE": "1000"}
MOST_PAGES: Final = 4_294_967_294
MOST_UNTIL_FULL: Final = 40
"""How often an operation is done while what it needs still fits into pages that are there."""
MOST_STATEMENTS: Final = 60
"""More than any operation takes; one that is never through would otherwise be asked for ever."""


@dataclass
class Breaker:
    """Stands before every statement of every connection, and fails one of them where it is armed."""

    connections: list[apsw.Connection] = field(default_factory=list)
    left: int | None = None
    broken: str | None = None
    """The statement that was failed."""

    def meet(self, connection: apsw.Connection) -> None:
        self.connections.append(connection)
        connection.exec_trace = self._before

    def arm(self, place: int) -> None:
        self.left, self.broken = place, None

    def disarm(self) -> None:
        self.left = None

    def _before(self, cursor: Any, statement: str, bindings: Any) -> bool:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                self.left, self.broken = None, statement
                raise apsw.IOError("disk I/O error")
        return True

    def pragma(self, name: str, value: int) -> None:
        """Set it on every connection that is still open."""
        for connection in self.connections:
            try:
                connection.pragma(name, value)
            except apsw.ConnectionClosedError:
                continue


@pytest.fixture(autouse=True)
def nobody_else_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's twin would read the store, and meet the statement that is to fail here."""
    monkeypatch.setattr("tests.web.twins._SERVICE", re.compile(rb"(?!)"))


@pytest.fixture
def breaker() -> Iterator[Breaker]:
    breaker = Breaker()
    hooks: list[Any] = apsw.connection_hooks
    hooks.append(breaker.meet)
    yield breaker
    hooks.remove(breaker.meet)


Ask = Callable[[], Awaitable[httpx.Response]]


@dataclass
class Household:
    """A client, a person, and an administrator who is signed in."""

    served: Served
    client: Registered
    admin: Api
    user_id: str
    drawn: int = 0

    def new_name(self) -> str:
        self.drawn += 1
        return f"name-{self.drawn}"

    async def person(self) -> Api:
        api = self.served.api()
        await api.sign_in("anna", "anna's password")
        return api

    async def pair(self) -> dict[str, Any]:
        return await self.served.tokens(self.client, "anna", "anna's password")

    async def somebody(self) -> str:
        return await self.served.user(self.new_name())

    def admin_ask(self, method: str, path: str, json: object = None) -> Ask:
        return lambda: self.admin.call(method, path, json)

    def service_ask(self, operation: str, **form: str) -> Ask:
        api = self.served.api()
        return lambda: api.service(operation, self.client, **form)


Operation = Callable[[Household], Awaitable[Ask]]
"""Makes ready what is then asked, once or twice."""


# --- every operation


async def redeem(home: Household) -> Ask:
    code = await home.served.code(await home.person())
    return home.service_ask("token", **exchange_of(code))


async def refresh(home: Household) -> Ask:
    pair = await home.pair()
    return home.service_ask("token", grant_type="refresh_token", refresh_token=pair["refresh_token"])


async def retry(home: Household) -> Ask:
    pair = await home.pair()
    ask = home.service_ask("token", grant_type="refresh_token", refresh_token=pair["refresh_token"])
    assert (await ask()).status_code == 200
    return ask


async def client_credentials(home: Household) -> Ask:
    return home.service_ask("token", grant_type="client_credentials")


async def introspect(home: Household) -> Ask:
    return home.service_ask("introspect", token=(await home.pair())["access_token"])


async def revoke(home: Household) -> Ask:
    return home.service_ask("revoke", token=(await home.pair())["refresh_token"])


async def user_info(home: Household) -> Ask:
    token = (await home.pair())["access_token"]
    api = home.served.api()
    return lambda: api.call("GET", "/api/oauth2/userinfo", token=token)


async def check(home: Household) -> Ask:
    api = await home.person()
    return lambda: api.call("GET", "/api/oauth2/authorize", params=authorization())


async def approve(home: Household) -> Ask:
    api = await home.person()
    await api.call("DELETE", "/api/auth/grants/app")
    return lambda: api.call("POST", "/api/oauth2/authorize", {**authorization(), "approve": True})


async def consent_page(home: Household) -> Ask:
    browser = home.served.browser()
    await browser.sign_in("anna", "anna's password")
    assert (await home.served.code(await home.person())) != ""
    return lambda: browser.get(sso())


async def sign_in(home: Household) -> Ask:
    api, content = home.served.api(), {"username": "anna", "password": "anna's password"}
    return lambda: api.post("/api/auth/login", json=content)


async def refresh_login(home: Household) -> Ask:
    api = home.served.api()
    login = await api.sign_in("anna", "anna's password")
    return lambda: api.post("/api/auth/refresh", json={"refreshToken": login["refreshToken"]})


async def sign_out(home: Household) -> Ask:
    api = await home.person()
    return lambda: api.call("POST", "/api/auth/logout")


async def change_password(home: Household) -> Ask:
    api, name = home.served.api(), home.new_name()
    await home.served.user(name, "the first password")
    await api.sign_in(name, "the first password")
    content = {"oldPassword": "the first password", "newPassword": "the second password"}
    return lambda: api.call("PUT", "/api/auth/password", content)


async def withdraw(home: Household) -> Ask:
    await home.pair()
    api = await home.person()
    return lambda: api.call("DELETE", "/api/auth/grants/app")


async def register_client(home: Household) -> Ask:
    name = home.new_name()
    content = {"clientId": name, "name": name, "redirectUris": [], "grantTypes": ["client_credentials"]}
    return home.admin_ask(
        "POST", "/api/oauth/clients", {**content, "scopes": ["user.read"], "autoApproveScopes": []}
    )


async def change_client(home: Household) -> Ask:
    return home.admin_ask("PUT", "/api/oauth/clients/app", {"name": home.new_name()})


async def disable_client(home: Household) -> Ask:
    await home.admin.call("PUT", "/api/oauth/clients/spare/enabled", {"enabled": True})
    return home.admin_ask("PUT", "/api/oauth/clients/spare/enabled", {"enabled": False})


async def reset_secret(home: Household) -> Ask:
    return home.admin_ask("POST", "/api/oauth/clients/spare/secret", {"keepOldForSeconds": 60})


async def register_user(home: Household) -> Ask:
    name = home.new_name()
    return home.admin_ask(
        "POST", "/api/iam/users", {"username": name, "name": name, "password": "some password"}
    )


async def change_user(home: Household) -> Ask:
    content = {"name": home.new_name(), "roleIds": ["super_admin"]}
    return home.admin_ask("PUT", f"/api/iam/users/{await home.somebody()}", content)


async def disable_user(home: Household) -> Ask:
    return home.admin_ask("PUT", f"/api/iam/users/{await home.somebody()}/enabled", {"enabled": False})


async def force_out(home: Household) -> Ask:
    return home.admin_ask("POST", f"/api/iam/users/{await home.somebody()}/force-logout")


async def delete_users(home: Household) -> Ask:
    ids = [await home.somebody(), await home.somebody()]
    return home.admin_ask("POST", "/api/iam/users/batch-delete", {"ids": ids})


async def list_users(home: Household) -> Ask:
    return home.admin_ask("GET", "/api/iam/users")


async def end_session(home: Household) -> Ask:
    await home.pair()
    listed = (await home.admin.call("GET", "/api/monitor/online-users?clientId=app")).json()
    session = listed["data"]["items"][0]["id"]
    return home.admin_ask("DELETE", f"/api/monitor/online-users/{session}")


AT_THE_TOKEN_SERVICE = (redeem, refresh, retry, client_credentials, introspect, revoke, user_info)
OPERATIONS = (
    *AT_THE_TOKEN_SERVICE,
    *(check, approve, consent_page, sign_in, refresh_login, sign_out, change_password, withdraw),
    *(register_client, change_client, disable_client, reset_secret),
    *(register_user, change_user, disable_user, force_out, delete_users, list_users, end_session),
)
QUESTIONS = (introspect, user_info, check, list_users)
GROWING = (redeem, refresh, client_credentials, sign_in, register_client, register_user)
"""What adds records, and so must come to the end of the room."""


async def moved_in(served: Served) -> Household:
    client = await served.client()
    await served.client("spare")
    return Household(served, client, await served.administrator(), await served.user())


def must_be_a_failure(response: httpx.Response, what: str) -> None:
    """The 500 envelope, or a page that says as much."""
    assert response.status_code in (500, 503), f"{what}: {response.status_code} {response.text}"
    if response.headers["content-type"].startswith("application/json"):
        content = response.json()
        assert (content["code"], content["data"]) == ("A0500", None), what
        assert content["traceId"], what
    assert "set-cookie" not in response.headers, what


def must_be_a_success(response: httpx.Response, what: str) -> None:
    assert response.status_code in (200, 201, 303), f"{what}: {response.status_code} {response.text}"
    assert not response.headers.get("location", "").startswith("/login"), what


@pytest.mark.parametrize(
    "operation, door",
    [
        *((operation, "guard") for operation in OPERATIONS),
        # The lane leaves everything else to the door behind it.
        *((operation, "lane") for operation in AT_THE_TOKEN_SERVICE),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
async def test_a_store_that_fails_at_any_one_statement_is_told_as_a_failure_and_leaves_nothing(
    operation: Operation, door: Door, serve: Serve, breaker: Breaker
) -> None:
    async with serve(open_store=on_disk, **UNLIMITED) as served:
        home = await moved_in(served)
        failed: list[str] = []
        for place in range(1, MOST_STATEMENTS):
            ask = await operation(home)
            before = served.records()
            breaker.arm(place)
            response = await ask()
            breaker.disarm()
            what = f"{operation.__name__} with statement {place} failing ({breaker.broken})"
            if breaker.broken is None:
                must_be_a_success(response, what)
                break
            failed.append(breaker.broken)
            if response.status_code < 400:
                # What failed was only to be shown beside a change, and that stands.
                must_be_a_success(response, what)
                assert served.records() != before, f"{what}: a success of which nothing stands"
                continue
            must_be_a_failure(response, what)
            assert served.records() == before, f"{what}: something of it was kept"
            must_be_a_success(await ask(), f"asked again after {what}")
        else:
            raise AssertionError(f"{operation.__name__} is never through")
        assert {statement.split()[0] for statement in failed} >= {"BEGIN", "SELECT"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
async def test_a_file_that_may_only_be_read_answers_questions_and_refuses_changes_as_a_failure(
    operation: Operation, serve: Serve, breaker: Breaker
) -> None:
    async with serve(open_store=on_disk, **UNLIMITED) as served:
        home = await moved_in(served)
        ask = await operation(home)
        before = served.records()
        breaker.pragma("query_only", 1)
        response = await ask()
        assert served.records() == before
        breaker.pragma("query_only", 0)
        if operation in QUESTIONS:
            must_be_a_success(response, operation.__name__)
        else:
            must_be_a_failure(response, operation.__name__)
        must_be_a_success(await ask(), f"{operation.__name__}, asked again")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
async def test_on_a_full_disk_an_operation_is_done_or_said_to_have_failed(
    operation: Operation, serve: Serve, breaker: Breaker
) -> None:
    """The file may have no further page: what needs one fails, whatever it had written before it did."""
    async with serve(open_store=on_disk, **UNLIMITED) as served:
        home = await moved_in(served)
        failures = 0
        for _ in range(MOST_UNTIL_FULL if operation in GROWING else 2):
            ask = await operation(home)
            breaker.pragma("max_page_count", 1)  # SQLite takes it for the number of pages there are
            before = served.records()
            response = await ask()
            breaker.pragma("max_page_count", MOST_PAGES)
            if response.status_code < 400:
                must_be_a_success(response, operation.__name__)
                continue
            failures += 1
            must_be_a_failure(response, operation.__name__)
            assert served.records() == before, "something of it was kept"
            must_be_a_success(await ask(), f"{operation.__name__}, asked again")
            break
        assert failures or operation not in GROWING
