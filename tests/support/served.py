"""The application behind its front door, over a store of the test's own, without sockets.

    served.api()        a program: Bearer tokens, JSON, client secrets
    served.browser()    a browser: cookies, pages, forms

Time stands still until `served.clock` is set on, and passwords cost next to nothing.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import trio

from fuzz.shared.seeds import SeededEntropy
from ostiary_core.events import Event, Operator, UserRegistered
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.records import RECORD_TABLES, Record, Table
from ostiary_core.model.reply import UserKnown
from ostiary_core.texts import Languages
from ostiary_net.front_door import Guard
from ostiary_net.runtime.system import run_inline
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.ports import ReadingStore
from ostiary_net.turns.service import Service
from ostiary_net.upkeep.flushing import flush_refusals, flush_uses
from ostiary_net.upkeep.summarising import Summarising
from ostiary_web.app.asgi_app import make_door_limits
from ostiary_web.app.factory import Application
from ostiary_web.server.app_services import AppServices
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import make_policy
from ostiary_web.server.wiring import NO_UPKEEP, Dependencies, Upkeep
from ostiary_web.sheets.reader import ReadSheet, read_sheet_in_place
from ostiary_web.texts import LANGUAGES
from tests.support.callers import (
    ADMIN_PASSWORD,
    BASE,
    SOURCE,
    Api,
    Browser,
    Registered,
    app_of,
    authorization,
    exchange_of,
    in_query,
    registration,
)
from tests.support.connections import Door, OpenTransport, opened_door
from tests.support.stores import CHEAP, HandClock, PlainStore, origin

T = TypeVar("T")

OpenStore = Callable[[Settings], AbstractContextManager[Any]]
Serve = Callable[..., AbstractAsyncContextManager["Served"]]
"""Opens the application with settings of the test's own."""


def on_disk(settings: Settings) -> AbstractContextManager[Any]:
    """Open the real store on its file."""
    assert isinstance(settings.database, SQLiteFile)
    path = settings.database.path
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_empty_file())
    return SQLiteStore(path, policy=make_policy(settings))


@cache
def _empty_file() -> bytes:
    """Return a file of this release without records: its steps take longer than many a test."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "ostiary.db")
        SQLiteStore(path).close()
        return path.read_bytes()


@dataclass
class Served:
    """A running application and all its parts that a test may need."""

    app: Any
    application: Application
    services: AppServices
    store: Any
    clock: HandClock
    entropy_source: SeededEntropy
    open_transport: OpenTransport
    base: str = BASE

    @property
    def service(self) -> Service:
        return self.services.service

    def api(self, source: str = SOURCE, *, base: str | None = None, **headers: str) -> Api:
        return Api(transport=self.open_transport(source), base_url=base or self.base, headers=headers)

    def browser(self, source: str = SOURCE, *, base: str | None = None, **headers: str) -> Browser:
        return Browser(
            transport=self.open_transport(source),
            base_url=base or self.base,
            headers={"Accept": "text/html,*/*;q=0.8", "Accept-Language": "en-US", **headers},
        )

    async def sign_in_browser(self, *credentials: str) -> Browser:
        """Sign in at a new browser, as the first administrator by default."""
        browser = self.browser()
        await browser.sign_in(*credentials)
        return browser

    async def administrator(self) -> Api:
        """Sign the first administrator in; return the program that calls as this user."""
        api = self.api()
        await api.sign_in()
        return api

    async def decide(self, event: Event) -> Any:
        """Decide an event behind the interface; return the reply."""
        return (await self.service.decide(event, origin())).reply

    async def user(self, username: str = "anna", password: str = "anna's password", **fields: object) -> str:
        """Make an account without any role; return its identifier."""
        event = UserRegistered(
            caller=Operator(),
            fields={"username": username, "name": "Anna Ng", "mustChangePassword": False, **fields},
            password_hash=await self.services.passwords.hash(password),
            entropy=self.entropy_source.draw(),
        )
        reply = await self.decide(event)
        assert isinstance(reply, UserKnown), reply
        return reply.user.user_id

    async def client(self, client_id: str = "app", **fields: object) -> Registered:
        """Register a client with all grants over the interface."""
        api = await self.administrator()
        made = await api.succeed("POST", "/api/oauth/clients", registration(client_id, **fields), status=201)
        return Registered(client_id, made["secret"])

    async def code(self, api: Api, client_id: str = "app", **asked: str | None) -> str:
        """Give consent over the interface as the user who is signed in at `api`; return the code."""
        body = {**authorization(client_id, **asked), "approve": True}
        return in_query((await api.succeed("POST", "/api/oauth2/authorize", body))["redirectTo"], "code")

    async def tokens(self, client: Registered, username: str = "admin", password: str = "") -> dict[str, Any]:
        """Begin a session of the client for a user; return the token response."""
        api = self.api()
        await api.sign_in(username, password or ADMIN_PASSWORD)
        response = await api.service("token", client, **exchange_of(await self.code(api, client.client_id)))
        assert response.status_code == 200, response.text
        issued: dict[str, Any] = response.json()
        return issued

    async def summarise(self) -> None:
        """Count refusals and events as the server does every minute."""
        await flush_refusals(self.service.activity, self.store, self.clock, run_inline)
        await flush_uses(self.service.activity, self.service.turns)
        await Summarising(self.store, self.clock, run_sync=run_inline).summarise_once()

    def audit(self) -> tuple[AuditEntry, ...]:
        """Return the audit trail, the oldest entry first."""
        entries: tuple[AuditEntry, ...] = self.store.audit()
        return entries

    def records(self) -> dict[Table, frozenset[Record]]:
        """Return everything that is stored."""
        return {table: frozenset(self.store.records(table)) for table in RECORD_TABLES}


class _Applications:
    """One application for each environment: to compile its routes and pages takes longer than most tests.

    An application holds nothing but its settings and what is around it.
    """

    def __init__(self) -> None:
        self._made: dict[frozenset[tuple[str, str]], Application] = {}

    def __call__(
        self, settings: Settings, environment: Mapping[str, str], dependencies: Dependencies
    ) -> Application:
        kind = frozenset(environment.items())
        if kind not in self._made:
            self._made[kind] = Application(settings)
        application = self._made[kind]
        application.settings, application.dependencies = settings, dependencies
        return application


_application = _Applications()


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    open_store: OpenStore = on_disk,
    clock: HandClock | None = None,
    door: Door = "guard",
    read_sheet: ReadSheet = read_sheet_in_place,
    languages: Languages = LANGUAGES,
    upkeep: Upkeep = NO_UPKEEP,
    **environment: str,
) -> AsyncIterator[Served]:
    """Serve the application with these settings, and an administrator whose password is known."""
    given = {
        "DATABASE_URL": f"sqlite:///{folder / 'ostiary.db'}",
        "DATA_DIR": str(folder),
        "ADMIN_PASSWORD": ADMIN_PASSWORD,
        "SECOND_FACTOR_KEY": "the key of second factors in tests",
        **environment,
    }
    settings = replace(Settings.from_environment(given), languages=languages)
    set_by_hand, entropy_source = clock or HandClock(), SeededEntropy()
    opened: list[ReadingStore] = []

    @asynccontextmanager
    async def open_own_store(settings: Settings) -> AsyncIterator[Any]:
        with open_store(settings) as store:
            opened.append(store)
            yield store

    dependencies = Dependencies(
        clock=set_by_hand,
        entropy_source=entropy_source,
        open_store=open_own_store,
        hasher=CHEAP,
        run_sync=run_inline,
        run_turns=run_inline,
        read_sheet=read_sheet,
        upkeep=upkeep,
    )
    application = _application(settings, environment, dependencies)
    # No time is lost with the rest of a body that is refused.
    # Time for each answer on any machine: what is late is tried at the doors, by a virtual clock.
    limits = replace(make_door_limits(settings), linger_seconds=0.0)
    guarded = Guard(application, limits)
    async with application.open() as services, opened_door(door, guarded, services.service) as open_transport:
        guarded.started = replace(guarded.started, draw_trace_id=services.service.draw_trace_id)
        yield Served(
            app=guarded,
            application=application,
            services=services,
            store=opened[0],
            clock=set_by_hand,
            entropy_source=entropy_source,
            open_transport=open_transport,
            base=settings.public_url if settings.public_url and settings.public_path else BASE,
        )


def ask_once(folder: Path, ask: Callable[[Served], Awaitable[T]]) -> T:
    """Ask the application about what commands left in a folder."""

    async def run() -> T:
        async with serving(folder) as served:
            return await ask(served)

    return trio.run(run)


def in_memory(store: PlainStore | None = None) -> OpenStore:
    """Return a function that opens the reference store."""
    return lambda settings: nullcontext(store or PlainStore())


VARIABLE: Final = re.compile(r"<[^>]+>")


@cache
def rules(**environment: str) -> tuple[tuple[str, str], ...]:
    """List every method and path, with variable parts of a path in angle brackets."""
    return tuple(
        (method, str(rule.rule))
        for rule in app_of(**environment).url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    )


def fill_in(path: str, **parts: str) -> str:
    """Put identifiers into a path; `clients`, `roles` and `people` are those in the paths of such records."""
    record_id = parts["clients" if "/clients/" in path else "roles" if "/roles/" in path else "people"]
    for name, value in {**parts, "record_id": record_id, "item_id": record_id}.items():
        path = re.sub(f"<([a-z]+:)?{name}>", value, path)
    return VARIABLE.sub("1", path)


def routes(prefix: str = "/") -> list[tuple[str, str]]:
    """List every method and path, with a value for each variable part."""
    return [(method, VARIABLE.sub("1", path)) for method, path in rules() if path.startswith(prefix)]
