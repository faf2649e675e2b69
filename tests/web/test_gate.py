"""Every route has a gate: for callers who may not pass, the server does no work; all others get through.

The tests call every route of the interface and of the pages: as a user who has all permissions except that of
the route, as a user who must change the password first, and as a visitor who is not signed in. The command
line asks for no permission, as its user controls the machine.
"""

import re
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import httpx
import pytest
from quart import Quart, Response
from quart_trio.wrappers.request import TrioBody

from ostiary_core.events import AccountRequested, AdministratorRefused, Event
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.policy import SecondFactorFor
from ostiary_core.model.reply import AccountKnown
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.turns.service import Service
from ostiary_web.http import gate
from ostiary_web.http.gate import (
    BEFORE_PASSWORD_CHANGE,
    BEFORE_SECOND_FACTOR,
    CLOSED_TO_OTHER_SITES,
    LOGIN_TOKEN,
    SUPER_ADMINISTRATOR,
    Gate,
    GatedRoutes,
    gate_of,
    handler_of,
    is_limited,
)
from ostiary_web.pages.routes import PageRoutes
from tests.rows import row
from tests.support import asks, story
from tests.support.callers import APP, Api, Browser, expect_refusal, forms_in
from tests.support.files import sheet_of
from tests.support.people import holder_of
from tests.support.served import Served, in_memory, serving
from tests.support.stores import PlainStore

# --- the routes


@dataclass(frozen=True, order=True)
class Route:
    """A method and a path with its variable parts in angle brackets."""

    path: str
    method: str
    is_page: bool
    gate: Gate = field(compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def address(self) -> str:
        """Return the path with the name of a record that does not exist."""
        # Without a query, `/sso` cannot be answered.
        return "/sso?client_id=nobody" if self.path == "/sso" else re.sub("<[^>]+>", "nobody", self.path)


@cache
def routes() -> tuple[Route, ...]:
    """Return every route of the application."""
    found = []
    for rule in APP.url_map.iter_rules():
        of_rule = gate_of(APP.view_functions[rule.endpoint])
        is_page = isinstance(APP.blueprints.get(rule.endpoint.partition(".")[0]), PageRoutes)
        path = re.sub(r"<[^:<>]+:([^<>]+)>", r"<\1>", str(rule.rule))
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            assert of_rule is not None
            found.append(Route(path, method, is_page, of_rule))
    return tuple(sorted(found))


def with_permission() -> Iterator[tuple[Route, Permission]]:
    """Yield the routes of the administration, each with the permission that opens it."""
    for route in routes():
        if route.gate.permission is not None:
            yield route, route.gate.permission


_OF_RECORDS = """
list    GET API, GET API/options, GET API/export, GET API/<record_id>,
        GET PAGE, GET PAGE/<item_id>, GET PAGE/export
create  GET API/import-template, POST API, POST API/import,
        GET PAGE/import-template, GET PAGE/new, POST PAGE/new, GET PAGE/import, POST PAGE/import
update  PUT API/<record_id>, GET PAGE/<item_id>/edit, POST PAGE/<item_id>/edit
delete  DELETE API/<record_id>, POST API/batch-delete, GET PAGE/<item_id>/delete, POST PAGE/<item_id>/delete
"""
"""Routes that every resource has, by the last word of their permission."""

_OF_ONE = """
oauth.client.list    GET /api/oauth/clients/<client_id>/sessions
oauth.client.update  PUT /api/oauth/clients/<record_id>/enabled, POST /api/oauth/clients/<client_id>/secret,
    DELETE /api/oauth/clients/<client_id>/old-secret, POST /api/oauth/clients/<client_id>/force-logout,
    POST /admin/clients/<item_id>/enable, ASK /admin/clients/<item_id>/disable,
    ASK /admin/clients/<item_id>/reset-secret, ASK /admin/clients/<item_id>/end-old-secret,
    ASK /admin/clients/<item_id>/force-out, ASK /admin/selected/clients/enable,
    ASK /admin/selected/clients/disable
oauth.client.delete  ASK /admin/selected/clients/delete
iam.user.list    GET /api/iam/users/<user_id>/grants, GET /api/iam/users/<user_id>/failed-sign-ins,
    GET /api/iam/users/<user_id>/second-factor, POST /admin/people
iam.user.create  GET /api/iam/users/import/<run_id>, GET /admin/people/import/<run_id>
iam.user.update  PUT /api/iam/users/<record_id>/enabled, PUT /api/iam/users/<user_id>/password,
    POST /api/iam/users/<user_id>/force-logout, DELETE /api/iam/users/<user_id>/second-factor,
    POST /api/iam/users/<user_id>/unlock, POST /api/iam/users/<user_id>/invitation,
    ASK /admin/people/<item_id>/invite, ASK /admin/people/invitations,
    DELETE /api/iam/users/<user_id>/grants/<client_id>,
    POST /admin/people/<item_id>/enable, POST /admin/people/<item_id>/unlock,
    ASK /admin/people/<item_id>/disable, ASK /admin/people/<item_id>/reset-password,
    ASK /admin/people/<item_id>/reset-second-factor, ASK /admin/people/<item_id>/force-out,
    ASK /admin/people/<item_id>/applications/<client_id>/withdraw, ASK /admin/selected/users/enable,
    ASK /admin/selected/users/disable, ASK /admin/selected/users/roles, POST /api/iam/users/batch-roles,
    POST /api/iam/users/batch-invitation
iam.user.delete  ASK /admin/selected/users/delete
iam.role.list    GET /api/iam/permissions
iam.role.delete  ASK /admin/selected/roles/delete
monitor.online.list  GET /api/monitor/online-users, GET /api/monitor/overview, GET /admin, GET /admin/online,
    POST /admin/online, POST /api/monitor/overview/acknowledge, POST /admin/overview/acknowledge
monitor.online.kill  DELETE /api/monitor/online-users/<session_id>, ASK /admin/online/end
audit.read  GET /api/audit/events, GET /api/audit/events/export, GET /admin/audit, POST /admin/audit,
    GET /api/audit/sessions/<session_id>/explain, GET /admin/audit/export,
    GET /admin/audit/sessions/<session_id>
"""
"""Routes that only one resource has, by their permission. ASK stands for a GET and a POST of one question."""


def routes_in(listed: str) -> set[str]:
    """Return the routes of a list with commas, as methods with paths."""
    each = [route.strip() for route in listed.split(",")]
    return {route.replace("ASK", method) for route in each for method in ("GET", "POST")}


def lines_in(table: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the first word of each line that is not indented, and the routes behind it."""
    for line in re.findall(r"^\S.*(?:\n +.*)*", table, re.MULTILINE):
        name, _, listed = line.partition(" ")
        yield name, routes_in(listed)


PERMISSIONS = {(route, Permission(name)) for name, listed in lines_in(_OF_ONE) for route in listed} | {
    (route.replace("API", api).replace("PAGE", page), Permission(f"{what}.{name}"))
    for what, api, page in (
        ("oauth.client", "/api/oauth/clients", "/admin/clients"),
        ("iam.user", "/api/iam/users", "/admin/people"),
        ("iam.role", "/api/iam/roles", "/admin/roles"),
    )
    for name, listed in lines_in(_OF_RECORDS)
    for route in listed
}
"""The permission of every route, as the specification has it, written down a second time."""


_OF_NO_PERMISSION = """
LOGIN_TOKEN  POST /api/auth/logout, GET /api/oauth2/authorize
BEFORE_PASSWORD_CHANGE  GET /api/auth/me, PUT /api/auth/password, POST /api/oauth2/authorize,
    GET /password, GET /sso, POST /sso
BEFORE_SECOND_FACTOR  POST /api/auth/second-factor, PUT /api/auth/second-factor,
    GET /account/second-factor, POST /account/second-factor, POST /account/second-factor/confirm,
    GET /account/second-factor/set-up, GET /account/second-factor/recovery-codes.txt
SIGNED_IN  POST /api/auth/prove, PUT /api/auth/avatar, DELETE /api/auth/avatar, PUT /api/auth/phone,
    PUT /api/auth/locale, GET /api/auth/sign-ins, POST /api/auth/logout-elsewhere,
    GET /account/sessions/end-others, POST /account/sessions/end-others, GET /api/auth/tokens,
    POST /api/auth/tokens, DELETE /api/auth/tokens/<session_id>, GET /account/tokens, POST /account/tokens,
    GET /account/tokens/<session_id>/end, POST /account/tokens/<session_id>/end, PUT /api/auth/timezone,
    GET /api/auth/grants, DELETE /api/auth/grants/<client_id>, GET /account, POST /account/language,
    POST /account/zone, POST /account/picture, POST /account/picture/remove, GET /account/phone,
    POST /account/phone, POST /account/phone/code, GET /account/sessions,
    POST /account/sessions/<session_id>/end, GET /account/applications,
    GET /account/applications/<client_id>/withdraw, POST /account/applications/<client_id>/withdraw,
    GET /api/auth/second-factor, DELETE /api/auth/second-factor,
    POST /api/auth/second-factor/recovery-codes, POST /account/second-factor/recovery-codes,
    GET /account/second-factor/recovery-codes, POST /account/second-factor/remove
SUPER_ADMINISTRATOR  POST /api/monitor/force-logout-all, GET /admin/online/end-all,
    POST /admin/online/end-all
OPEN_TO_ALL  POST /api/oauth2/token, POST /api/oauth2/introspect, POST /api/oauth2/revoke,
    GET /api/oauth2/userinfo, GET /api/docs, GET /api/docs/<name>, GET /api/docs-json, GET /files/<name>,
    GET /healthz, GET /readyz, GET /, GET /language, POST /language, GET /brand/<name>, GET /static/<name>,
    GET /login, POST /login, POST /logout, GET /recover, POST /recover, GET /invitation, POST /invitation,
    POST /recover/password, POST /password, GET /login/second-factor, POST /login/second-factor,
    GET /login/recovery-codes.txt
CLOSED_TO_OTHER_SITES  POST /api/auth/login, POST /api/auth/login/second-factor,
    POST /api/auth/login/second-factor/set-up, POST /api/auth/refresh, POST /api/auth/sms-code,
    POST /api/auth/reset-password, POST /api/auth/invitation
"""
OTHERS = {getattr(gate, name): routes for name, routes in lines_in(_OF_NO_PERMISSION)}
"""The gate of every other route. Open routes check credentials of their own or show nothing."""


def test_every_route_has_the_gate_that_is_written_down() -> None:
    assert {(str(route), permission) for route, permission in with_permission()} == PERMISSIONS
    for kind, expected in OTHERS.items():
        assert {str(route) for route in routes() if route.gate == kind} == expected
    assert len(routes()) == len(PERMISSIONS) + sum(map(len, OTHERS.values()))


def test_every_permission_opens_something() -> None:
    assert {permission for _, permission in with_permission()} == set(Permission)


async def handler(context: object) -> Response:
    raise AssertionError("nobody gets here")


@pytest.mark.parametrize("kind", [GatedRoutes, PageRoutes])
def test_a_route_without_a_gate_does_not_start(kind: type[GatedRoutes]) -> None:
    with pytest.raises(TypeError, match="the route /x has no gate"):
        kind("x", __name__).get("/x")(handler)


@pytest.mark.parametrize("limit", [{}, {"limit": Operation.TOKEN}])
def test_the_view_of_a_route_knows_its_gate_its_handler_and_whether_it_counts(limit: dict[str, Any]) -> None:
    app, routes_of = Quart(__name__), GatedRoutes("x", __name__)
    routes_of.get("/x", gate=LOGIN_TOKEN, **limit)(handler)
    routes_of.get("/y", endpoint="named", gate=LOGIN_TOKEN)(handler)
    app.register_blueprint(routes_of)
    view = app.view_functions["x.handler"]
    assert (gate_of(view), handler_of(view), is_limited(view)) == (LOGIN_TOKEN, handler, bool(limit))
    assert "x.named" in app.view_functions


@pytest.mark.parametrize("kind", sorted({route.gate for route in routes()}, key=str))
def test_a_gate_names_what_it_refuses_with(kind: Gate) -> None:
    """The API document describes what a gate names."""
    user = story.given(asks.user()).user()
    anybody = AccountKnown(user=user, roles=(), permissions=(), session_id=None)
    met = {
        kind.refusal(None),
        kind.refusal(anybody),
        kind.refusal(replace(anybody, user=replace(user, must_change_password=True))),
        kind.refusal(replace(anybody, must_set_up_second_factor=True)),
    }
    if not kind.is_open:
        met |= {Why.NOT_SIGNED_IN, Why.ORIGIN_UNPROVEN}
    elif kind == CLOSED_TO_OTHER_SITES:
        met |= {Why.ORIGIN_UNPROVEN}
    assert set(kind.refusals) == met - {None}


# --- the work that a request makes


@dataclass
class Work:
    """The work that the server did for requests."""

    bodies: int = 0
    hashes: int = 0
    lists: int = 0
    reads: list[Event] = field(default_factory=list)
    writes: list[Event] = field(default_factory=list)

    def take(self) -> "Work":
        """Return the work that was done since the last call."""
        done = Work(self.bodies, self.hashes, self.lists, self.reads, self.writes)
        self.__init__()  # type: ignore[misc]
        return done


class CountingStore(PlainStore):
    """A store that counts the events that it is given to read and to write."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def turn(self, events: Sequence[Event], now: Instant, *origins: Any) -> list[Decision]:
        self._work.writes += events
        return super().turn(events, now, *origins)

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        self._work.reads += events
        return super(PlainStore, self).turn(events, now)


def counting(work: Work, what: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another and counts its calls."""

    def counted(*of: Any, **named: Any) -> Any:
        setattr(work, what, getattr(work, what) + 1)
        return original(*of, **named)

    return counted


class CountingBody(TrioBody):
    """A request's body that counts how often the application reads it."""

    work: Work

    def __await__(self) -> Generator[Any, None, Any]:
        self.work.bodies += 1
        return super().__await__()

    def __aiter__(self) -> TrioBody:
        self.work.bodies += 1
        super().__aiter__()
        return self


@dataclass
class Visitor:
    """A user with a program and a browser."""

    api: Api
    browser: Browser
    form_token: str = ""

    async def ask(self, route: Route) -> httpx.Response:
        """Send a right request to a route, with a form token on pages."""
        sent = right_content(route, route.address, route.path[1:].replace("/", "-"))
        if not route.is_page:
            return await self.api.call(route.method, route.address, **sent)
        return await submit(self.browser, route, route.address, sent, self.form_token)


async def submit(
    browser: Browser, route: Route, address: str, sent: dict[str, Any], form_token: str
) -> httpx.Response:
    """Send a form as a page of this server does."""
    if route.method == "POST":
        sent = {**sent, "data": {**sent.get("data", {}), "form_token": form_token}}
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    return await browser.request(route.method, address, headers=headers, **sent)


def right_content(route: Route, address: str, name: str, record_id: str = "nobody") -> dict[str, Any]:
    """Return the content of a right request: JSON, a form or a sheet, with `name` for a new record."""
    user = {"username": name, "name": "U", "password": "long enough"}
    new: dict[str, dict[str, Any]] = {
        "clients": {"clientId": name, "name": "C", "grantTypes": ["client_credentials"]},
        "roles": {"code": name, "name": "R"},
        **dict.fromkeys(("users", "people"), user),
    }
    parts, last = address.split("/"), address.rpartition("/")[2]
    record = new[next((part for part in parts if part in new), "users")]
    if route.method in ("GET", "DELETE"):
        return {}
    if last == "import":
        cells = [" ".join(each) if isinstance(each, list) else each for each in record.values()]
        return {"files": {"file": ("rows.xlsx", sheet_of([[*record], cells]))}, "data": {"mode": "insert"}}
    content: dict[str, Any] = record
    match route.method, last:
        case _, "batch-delete" | "batch-invitation":
            content = {"ids": [record_id]}
        case "POST", "batch-roles":
            content = {"ids": [record_id], "remove": ["super_admin"]}
        case "POST", "acknowledge":
            content = {"warning": "backup"}
        case "POST", "invitations":
            content = {"user_ids": record_id}
        case "PUT", "enabled":
            content = {"enabled": True}
        case _, "password" | "reset-password":
            content = {"password": "long enough"}
        case "POST", "edit":
            kept = {"clientId", "code", "password"}
            content = {field: value for field, value in record.items() if field not in kept}
        case "PUT", _ if route.gate.permission is not None:
            content = {"name": "Another"}
        case _ if route.gate.permission is not None and not route.is_page and last not in new:
            return {}
    return {"data": content} if route.is_page else {"json": content}


@dataclass
class House:
    """A server, its visitors, and the work that they make."""

    served: Served
    work: Work

    async def visitor(self, username: str, password: str) -> Visitor:
        """Return a user who is signed in with a program and with a browser."""
        api, browser = self.served.api(), self.served.browser()
        await api.sign_in(username, password)
        await browser.sign_in(username, password)
        [token, *_] = [form.fields["form_token"] for form in forms_in(await browser.get("/"))]
        return Visitor(api, browser, token)

    async def holder(self, name: str, permissions: Sequence[Permission]) -> Visitor:
        await holder_of(self.served, *permissions, username=name)
        return await self.visitor(name, "the holder's")

    async def costs(self, visitor: Visitor, route: Route) -> tuple[httpx.Response, Work]:
        """Return the answer to one request, and the work that it made."""
        self.work.take()
        return await visitor.ask(route), self.work.take()


@pytest.fixture
async def house(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    work = Work()
    monkeypatch.setattr(CountingBody, "work", work, raising=False)
    for owner, name, what in (
        (Passwords, "hash", "hashes"),
        (Passwords, "verify", "hashes"),
        (Service, "query", "lists"),
        (Service, "query_whole_lists", "lists"),
    ):
        monkeypatch.setattr(owner, name, counting(work, what, getattr(owner, name)))
    async with serving(
        tmp_path, open_store=in_memory(CountingStore(work)), RATE_LIMIT_SCALE="1000", GUESS_LIMIT_SCALE="1000"
    ) as served:
        monkeypatch.setattr(served.application.quart.request_class, "body_class", CountingBody)
        yield House(served, work)


def did_nothing(work: Work, route: Route, *reads: type[Event]) -> None:
    """Assert that the gate read who the caller is, and that the server did nothing else."""
    assert [type(event) for event in work.reads] == list(reads), route
    assert (work.bodies, work.hashes, work.lists, work.writes) == (0, 0, 0, []), route


def only_refused(work: Work, route: Route) -> None:
    """Assert that the server did nothing but record, once, that an administrator was refused."""
    assert [type(event) for event in work.writes] in ([], [AdministratorRefused]), route
    # A page reads the account for its navigation, and once more to judge its permissions.
    did_nothing(replace(work, writes=[]), route, *[AccountRequested] * (1 + route.is_page))


async def expect_closed(
    house: House, visitor: Visitor, route: Route, refusal: tuple[int, str], page: str, *reads: type[Event]
) -> None:
    """Assert that a call is refused, that a page leads to another page, and that the server did no work."""
    response, work = await house.costs(visitor, route)
    did_nothing(work, route, *reads)
    if not route.is_page:
        expect_refusal(response, *refusal)
        return
    assert response.status_code == 303
    assert response.headers["location"].replace("signed_out=1&", "").startswith(f"{page}?next=")


# --- every route is called


@row("General envelope and status codes", "403")
async def test_a_caller_without_the_permission_of_a_route_is_refused_and_costs_nothing(house: House) -> None:
    """Call each route as a user with every other permission.

    tests/web/test_single_permissions.py calls each route with its permission alone, for records that exist.
    """
    lacking = {}
    for each in Permission:
        others = [other for other in Permission if other != each]
        lacking[each] = await house.holder(f"lacks-{each.replace('.', '-')}", others)
    for route, permission in with_permission():
        response, work = await house.costs(lacking[permission], route)
        only_refused(work, route)
        if route.is_page:
            assert response.status_code == 403, route
        else:
            expect_refusal(response, 403, "A0403")


async def test_the_counters_see_a_body_that_is_read_and_a_password_that_is_hashed(house: House) -> None:
    """Without this, the tests that expect no work could not fail."""
    visitor = await house.holder("creator", [Permission.USER_CREATE])
    for route, _ in with_permission():
        if str(route) in ("POST /admin/people/new", "POST /api/iam/users/import"):
            _, work = await house.costs(visitor, route)
            assert (work.hashes, work.bodies > 0, work.writes != []) == (1, True, True), route


async def test_all_permissions_do_not_make_up_for_being_a_super_administrator(house: House) -> None:
    visitor = await house.holder("holds-all", list(Permission))
    for route in (route for route in routes() if route.gate == SUPER_ADMINISTRATOR):
        response, work = await house.costs(visitor, route)
        assert response.status_code == 403, route
        only_refused(work, route)


async def test_a_user_who_must_change_the_password_first_opens_nothing_else(house: House) -> None:
    await house.served.user("new", "first password", mustChangePassword=True)
    visitor = await house.visitor("new", "first password")
    for route in routes():
        if route.gate.is_open or route.gate in (LOGIN_TOKEN, BEFORE_PASSWORD_CHANGE):
            continue
        await expect_closed(house, visitor, route, (403, "A1004"), "/password", AccountRequested)


async def test_a_user_who_must_set_up_a_second_factor_first_opens_nothing_else(house: House) -> None:
    visitor = await house.holder("holds-all", list(Permission))
    new = {"name": "robot", "permissions": [Permission.USER_LIST], "expiresInDays": 1}
    robot = house.served.api()
    robot.token = (await visitor.api.call("POST", "/api/auth/tokens", new)).json()["data"]["token"]
    store = house.served.store
    store.policy = replace(store.policy, require_second_factor=SecondFactorFor.ADMINISTRATORS)
    for route in routes():
        if route.gate.is_open or route.gate in (LOGIN_TOKEN, BEFORE_PASSWORD_CHANGE, BEFORE_SECOND_FACTOR):
            continue
        refusal, page = (403, "A1009"), "/account/second-factor"
        await expect_closed(house, visitor, route, refusal, page, AccountRequested)
        if route.gate.permission is not None and not route.is_page:
            expect_refusal((await house.costs(Visitor(robot, visitor.browser), route))[0], *refusal)


async def test_a_visitor_who_is_not_signed_in_opens_nothing(house: House) -> None:
    for route in (route for route in routes() if not route.gate.is_open):
        stranger = Visitor(house.served.api(), house.served.browser())
        await expect_closed(house, stranger, route, (401, "A1001"), "/login")
