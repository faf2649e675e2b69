"""The real application over a store that fails at any one statement, or may only be read.

The answer is always 500 or 503, and never a success. It is never an `invalid_*`, for which a third party
would throw its tokens away. Nothing of the request is kept, and the same request works as soon as the store
does.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import apsw
import httpx
import pytest

from tests.support.callers import Api, Registered, authorization, exchange_of, sso
from tests.support.connections import Door
from tests.support.served import Serve, Served, on_disk

UNLIMITED: Final = {"RATE_LIMIT_SCALE": "1000", "GUESS_LIMIT_SCALE": "1000"}
MOST_STATEMENTS: Final = 60
"""More statements than any operation needs: an operation that never succeeds is not asked for ever."""


@dataclass
class Breaker:
    """A trace of every statement of every connection, which fails one of them if it is armed."""

    connections: list[apsw.Connection] = field(default_factory=list)
    left: int | None = None
    broken: str | None = None
    """The statement that was failed."""

    def meet(self, connection: apsw.Connection) -> None:
        self.connections.append(connection)
        connection.exec_trace = self._before

    def arm(self, place: int) -> None:
        self.left, self.broken = place, None

    def _before(self, cursor: Any, statement: str, bindings: Any) -> bool:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                self.left, self.broken = None, statement
                raise apsw.IOError("disk I/O error")
        return True

    def pragma(self, name: str, value: int) -> None:
        """Set a pragma on every connection that is still open."""
        for connection in self.connections:
            try:
                connection.pragma(name, value)
            except apsw.ConnectionClosedError:
                continue


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
    drawn: int = 0

    def new_name(self) -> str:
        self.drawn += 1
        return f"name-{self.drawn}"

    async def person(self) -> Api:
        api = self.served.api()
        await api.sign_in("anna", "anna's password")
        return api

    async def somebody(self, *, has_consented: bool = False) -> str:
        name = self.new_name()
        user_id = await self.served.user(name)
        if has_consented:
            await self.served.tokens(self.client, name, "anna's password")
        return user_id


_TOKENS = ("redeem", "refresh", "retry", "client_credentials")
AT_THE_TOKEN_SERVICE = (*_TOKENS, "introspect", "revoke", "user_info")
OF_A_PERSON = ("approve", "consent_page", "change_password", "sign_in", "refresh_login")
_PEOPLE, _CLIENTS, _MACHINE = "/api/iam/users", "/api/oauth/clients", ["client_credentials"]
OF_AN_ADMINISTRATOR: Final[dict[str, tuple[str, str, object]]] = {
    "register_client": ("POST", _CLIENTS, {"clientId": "NEW", "name": "x", "grantTypes": _MACHINE}),
    "change_user": ("PUT", f"{_PEOPLE}/SOMEBODY", {"name": "NEW", "roleIds": ["super_admin"]}),
    "delete_users": ("POST", f"{_PEOPLE}/batch-delete", {}),
    "withdraw_grant": ("DELETE", f"{_PEOPLE}/SOMEBODY/grants/app", None),
    "list_users": ("GET", _PEOPLE, None),
}
"""Method, path and body; NEW stands for a name that is not taken yet."""
OPERATIONS = (*AT_THE_TOKEN_SERVICE, *OF_A_PERSON, *OF_AN_ADMINISTRATOR)
QUESTIONS = ("introspect", "user_info", "list_users")


async def ready_at_the_token_service(home: Household, operation: str) -> Ask:
    """Prepare an operation; return the request, which is then sent once or twice."""
    api = home.served.api()
    pair = await home.served.tokens(home.client, "anna", "anna's password")
    access, refresh = pair["access_token"], pair["refresh_token"]
    if operation == "user_info":
        return lambda: api.call("GET", "/api/oauth2/userinfo", token=access)
    if operation == "introspect":
        return lambda: api.service("introspect", home.client, token=access)
    if operation == "revoke":
        return lambda: api.service("revoke", home.client, token=refresh)
    form = {"grant_type": "refresh_token", "refresh_token": refresh}
    if operation == "redeem":
        form = exchange_of(await home.served.code(await home.person()))
    elif operation == "client_credentials":
        form = {"grant_type": "client_credentials"}
    elif operation == "retry":
        assert (await api.service("token", home.client, **form)).status_code == 200
    return lambda: api.service("token", home.client, **form)


async def ready_of_a_person(home: Household, operation: str) -> Ask:
    api, nobody = await home.person(), home.served.api()
    anna = {"username": "anna", "password": "anna's password"}
    match operation:
        case "approve":
            await api.call("DELETE", "/api/auth/grants/app")
            return lambda: api.call("POST", "/api/oauth2/authorize", {**authorization(), "approve": True})
        case "consent_page":
            browser = await home.served.sign_in_browser(*anna.values())
            await home.served.code(api)
            return lambda: browser.get(sso())
        case "sign_in":
            return lambda: nobody.post("/api/auth/login", json=anna)
        case "refresh_login":
            refresh = (await nobody.sign_in(**anna))["refreshToken"]
            return lambda: nobody.post("/api/auth/refresh", json={"refreshToken": refresh})
        case _:
            name, old = home.new_name(), "the first password"
            await home.served.user(name, old)
            await nobody.sign_in(name, old)
            body = {"oldPassword": old, "newPassword": "the second password"}
            return lambda: nobody.call("PUT", "/api/auth/password", body)


async def ready(home: Household, operation: str) -> Ask:
    if operation in AT_THE_TOKEN_SERVICE:
        return await ready_at_the_token_service(home, operation)
    if operation in OF_A_PERSON:
        return await ready_of_a_person(home, operation)
    method, path, content = OF_AN_ADMINISTRATOR[operation]
    body = json.loads(json.dumps(content).replace("NEW", home.new_name()))
    if operation == "delete_users":
        body = {"ids": [await home.somebody(), await home.somebody()]}
    if "SOMEBODY" in path:
        path = path.replace("SOMEBODY", await home.somebody(has_consented=operation == "withdraw_grant"))
    return lambda: home.admin.call(method, path, body)


async def move_in(served: Served) -> Household:
    client = await served.client()
    await served.user()
    return Household(served, client, await served.administrator())


def must_be_a_failure(response: httpx.Response, what: str) -> None:
    """Fail unless the answer is a 500 or 503 in the envelope, or as a page."""
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
)
async def test_a_store_that_fails_at_any_one_statement_is_answered_as_a_failure_and_keeps_nothing(
    operation: str, door: Door, serve: Serve, breaker: Breaker
) -> None:
    async with serve(open_store=on_disk, **UNLIMITED) as served:
        home = await move_in(served)
        failed: list[str] = []
        for place in range(1, MOST_STATEMENTS):
            ask = await ready(home, operation)
            before = served.records()
            breaker.arm(place)
            response = await ask()
            breaker.left = None
            what = f"{operation} with statement {place} failing ({breaker.broken})"
            if breaker.broken is None:
                must_be_a_success(response, what)
                break
            failed.append(breaker.broken)
            if response.status_code < 400:
                # The failed statement only read what is shown beside the change. The change stands.
                must_be_a_success(response, what)
                assert served.records() != before, f"{what}: a success of which nothing stands"
                continue
            must_be_a_failure(response, what)
            assert served.records() == before, f"{what}: something of it was kept"
            must_be_a_success(await ask(), f"asked again after {what}")
        else:
            raise AssertionError(f"{operation} is never through")
        assert {statement.split()[0] for statement in failed} >= {"BEGIN", "SELECT"}


async def test_a_read_only_file_answers_questions_and_fails_changes(served: Served, breaker: Breaker) -> None:
    home = await move_in(served)
    for operation in OPERATIONS:
        ask = await ready(home, operation)
        before = served.records()
        breaker.pragma("query_only", 1)
        response = await ask()
        assert served.records() == before
        breaker.pragma("query_only", 0)
        (must_be_a_success if operation in QUESTIONS else must_be_a_failure)(response, operation)
        must_be_a_success(await ask(), f"{operation}, asked again")
        served.clock.wait(60)
