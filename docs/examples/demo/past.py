"""A past for the demonstration: people who sign in, day by day, until now.

Nothing is written as a row: a server whose clock is moved on decides every event at its instant, and does its
upkeep once an hour. The same seed and end make the same audit trail.
"""

import random
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from demo.protocol import Authorization
from demo.sample import DEMO_CLIENT, PASSWORD, fill
from ostiary_core import Entropy, Instant, Secret, events as e
from ostiary_core.model.audit import Origin
from ostiary_core.model.instant import DAY_SECONDS, SECOND_MS, Monotonic
from ostiary_core.model.reply import (
    CodeIssued,
    LoginIssued,
    PasswordOnFile,
    SecretIssued,
    TokensIssued,
    UserKnown,
)
from ostiary_net.runtime.system import run_inline
from ostiary_net.turns.ports import ServerStore
from ostiary_net.upkeep.flushing import flush_refusals, flush_uses
from ostiary_net.upkeep.summarising import Summarising
from ostiary_net.upkeep.sweeping import erase_salts
from ostiary_web.server.app_services import AppServices
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import open_store
from ostiary_web.server.wiring import NO_UPKEEP, Dependencies, open_services

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_HOUR_MS: Final = _HOUR * SECOND_MS
_PKCE: Final = Authorization(state="", verifier="the-verifier-of-everybody-in-the-past-of-this-demonstration")
_NEWCOMERS: Final = (
    *(("dave", "Dave Dixon"), ("erin", "Erin Evans"), ("frank", "Frank Foster"), ("grace", "Grace Green")),
    *(("zhangwei", "张伟"), ("liuyang", "刘洋"), ("chenjing", "陈静"), ("heidi", "Heidi Hall")),
)


class _Sender(NamedTuple):
    agent: str
    source: str


_BROWSERS: Final = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537 (KHTML, like Gecko) Chrome/130.0 Safari/537",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) AppleWebKit/605 (KHTML, like Gecko) Version/18 Safari/605",
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537 (KHTML, like Gecko) Chrome/130.0 Mobile Safari/537",
)
_BACKENDS: Final = {
    DEMO_CLIENT: _Sender("demo-shop/2.4", "192.0.2.10"),
    "intranet-wiki": _Sender("wiki/11.0", "192.0.2.11"),
    "report-runner": _Sender("reports/1.9", "192.0.2.12"),
}
_THIEF: Final = _Sender("curl/8.11.0", "198.51.100.66")


async def make_past(settings: Settings, callback: str, *, end: Instant, days: int, seed: int = 1) -> Secret:
    """Register everything so many days before `end`, and have it used till then; return the shop's secret."""
    machine = _Machine(Instant(end - days * DAY_SECONDS * SECOND_MS), random.Random(seed))  # noqa: S311
    settings = replace(settings, metrics_bind=None, otel_exporter_otlp_endpoint=None)
    async with open_store(settings) as store:
        dependencies = Dependencies(
            clock=machine,
            entropy_source=machine,
            open_store=lambda _: nullcontext(store),
            run_turns=run_inline,
            upkeep=NO_UPKEEP,
        )
        async with open_services(settings, dependencies) as services:
            secret = await fill(services, callback)
            if days:
                await _Past(services, store, machine, {DEMO_CLIENT: secret}, callback).live(end, days)
    return secret


@dataclass(slots=True)
class _Machine:
    """A clock that stands still until it is moved on, and seeded entropy."""

    at: Instant
    dice: random.Random

    def now(self) -> Instant:
        return self.at

    def monotonic(self) -> Monotonic:
        return Monotonic(self.at)

    def draw(self) -> Entropy:
        return Entropy(self.dice.randbytes(32))


_Story = AsyncGenerator[float, None]
"""What somebody does; yields the seconds until it goes on."""


@dataclass(slots=True)
class _Past:
    services: AppServices
    store: ServerStore
    machine: _Machine
    secrets: dict[str, Secret]
    callback: str
    user_ids: dict[str, str] = field(default_factory=dict)

    async def live(self, end: Instant, days: int) -> None:
        """Let all stories go on until `end`, each at its instants."""
        start, dice, order = self.machine.at, self.machine.dice, count()
        agenda: list[tuple[int, int, _Story]] = []

        def plan(at: float, story: _Story) -> None:
            heappush(agenda, (round(at), next(order), story))

        plan(start, self._keep_up())
        plan(start, self._administer(days))
        plan(start + _HOUR_MS, self._report())
        for begin in range(start + _HOUR_MS, end, _HOUR_MS):
            for _ in range(self._draw_visits(begin) + 2 * (begin >= end - 2 * _HOUR_MS)):
                plan(begin + dice.random() * _HOUR_MS, self._visit())
        while agenda[0][0] < end:
            at, _, story = heappop(agenda)
            self.machine.at = Instant(at)
            seconds = await anext(story, None)
            if seconds is not None:
                plan(at + seconds * SECOND_MS, story)
        for _, _, story in agenda:
            await story.aclose()
        self.machine.at = end
        await self._keep_up_once()

    def _draw_visits(self, begin: int) -> int:
        """Draw how many people come in an hour: most by day, few at night and at weekends (in UTC)."""
        likely = 2.2 if 7 <= begin // _HOUR_MS % 24 < 18 else 0.2
        is_weekend = (begin // _HOUR_MS // 24 + 3) % 7 >= 5
        return int((likely / 4 if is_weekend else likely) + self.machine.dice.random())

    async def _keep_up(self) -> _Story:
        while True:
            await self._keep_up_once()
            yield _HOUR

    async def _keep_up_once(self) -> None:
        """Do what a server does in the background."""
        machine, service = self.machine, self.services.service
        await erase_salts(service.turns, self.store, machine, run_inline)
        await flush_uses(service.activity, service.turns)
        await flush_refusals(service.activity, self.store, machine, run_inline)
        await Summarising(self.store, machine, run_sync=run_inline).summarise_once()

    async def _decide(self, kind: Callable[..., e.Event], by: _Sender, **asked: Any) -> Any:
        """Decide an event at the present instant; what every one of its kind has is filled in."""
        usual = {"user_agent": by.agent, "source": by.source, "entropy": self.machine.draw()}
        names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
        event = kind(**{name: usual[name] for name in usual.keys() & names}, **asked)
        trace_id = self.services.service.draw_trace_id()
        return (await self.services.service.decide(event, Origin(trace_id, by.source, by.agent))).reply

    async def _send(
        self, kind: Callable[..., e.Event], client_id: str, by: _Sender | None = None, **asked: Any
    ) -> Any:
        """Decide an event of a client, which authenticates itself."""
        secret, method = self.secrets[client_id], e.AuthenticationMethod.BASIC
        credentials = e.ClientCredentials(client_id=client_id, secret=secret, method=method)
        return await self._decide(kind, by or _BACKENDS[client_id], credentials=credentials, **asked)

    # --- people and their applications

    async def _sign_in(self, username: str, by: _Sender, *, is_right: bool = True) -> LoginIssued | None:
        on_file = await self._decide(e.PasswordHashRequested, by, of=username)
        assert isinstance(on_file, PasswordOnFile)
        tried = {"verified_against": on_file.password_hash, "password_matches": is_right}
        reply = await self._decide(e.SignInAttempted, by, username=username, **tried)
        return reply if isinstance(reply, LoginIssued) else None

    async def _visit(self) -> _Story:
        """Sign in, let an application in, which refreshes its tokens, and leave in some way."""
        dice = self.machine.dice
        username = dice.choice(("alice", "bob", "wangfang", "liwei", *self.user_ids))
        number = sum(username.encode())
        by = _Sender(
            _BROWSERS[(number + (dice.random() < 0.2)) % len(_BROWSERS)], f"203.0.113.{number % 200 + 10}"
        )
        for _ in range(dice.choice((0,) * 8 + (1, 3))):
            await self._sign_in(username, by, is_right=False)
            yield 9
        login = await self._sign_in(username, by)
        if login is None:
            return
        client_id = dice.choice((DEMO_CLIENT, DEMO_CLIENT, "intranet-wiki"))
        if username not in self.user_ids:
            # The shop asks these for consent when they try the demonstration.
            client_id = "intranet-wiki"
        yield dice.uniform(4, 20)
        code = await self._authorize(_caller(login), client_id, by)
        if code is None:
            return
        yield dice.uniform(1, 3)
        asked: dict[str, Any] = {"code": code, "redirect_uri": self._redirect_uri(client_id)}
        verifier = _PKCE.verifier if dice.random() < 0.98 else None
        tokens = await self._send(e.CodeRedeemed, client_id, **asked, code_verifier=verifier)
        is_stolen = dice.random() < 0.03
        for _ in range(dice.choice((1, 1, 2, 3, 5))):
            if not isinstance(tokens, TokensIssued):
                break
            yield dice.uniform(20, 29) * _MINUTE
            spent: dict[str, Any] = {"refresh_token": tokens.refresh_token, "scopes": None}
            tokens = await self._send(e.RefreshRequested, client_id, **spent)
            if dice.random() < 0.06:
                yield dice.uniform(1, 9)
                tokens = await self._send(e.RefreshRequested, client_id, **spent)
            if is_stolen:
                yield dice.uniform(2, 15) * _MINUTE
                await self._send(e.RefreshRequested, client_id, _THIEF, **spent)
            again = await self._decide(e.LoginRefreshed, by, refresh_token=login.tokens.refresh_token)
            login = again if isinstance(again, LoginIssued) else login
        await self._leave(login, client_id, tokens, by)

    async def _leave(self, login: LoginIssued, client_id: str, tokens: object, by: _Sender) -> None:
        way = self.machine.dice.random()
        if way < 0.35 and isinstance(tokens, TokensIssued):
            await self._send(e.RevocationRequested, client_id, token=tokens.refresh_token)
        if way < 0.5:
            await self._decide(e.SignedOut, by, caller=_caller(login))
        elif way < 0.54:
            await self._decide(e.OtherSessionsEnded, by, caller=_caller(login))
        elif way < 0.57:
            await self._decide(e.ConsentWithdrawn, by, caller=_caller(login), client_id=client_id)

    async def _authorize(self, caller: e.SignedIn, client_id: str, by: _Sender) -> Secret | None:
        parameters = e.AuthorizationParameters(
            response_type="code",
            client_id=client_id,
            redirect_uri=self._redirect_uri(client_id),
            code_challenge=_PKCE.challenge,
            code_challenge_method="S256",
        )
        for kind in (e.AutomaticConsentRequested, e.ConsentGiven):
            reply = await self._decide(kind, by, caller=caller, parameters=parameters)
            if isinstance(reply, CodeIssued):
                return Secret(parse_qs(urlsplit(reply.redirect_to.reveal()).query)["code"][0])
            if self.machine.dice.random() < 0.15:
                await self._decide(e.ConsentDenied, by, caller=caller, parameters=parameters)
                break
        return None

    def _redirect_uri(self, client_id: str) -> str:
        return self.callback if client_id == DEMO_CLIENT else "https://wiki.example.com/oauth/callback"

    async def _report(self) -> _Story:
        """Fetch a token for a program, every four hours."""
        while True:
            await self._send(e.ClientCredentialsRequested, "report-runner", scopes=None)
            yield 4 * _HOUR

    # --- an administrator

    async def _administer(self, days: int) -> _Story:
        """Do what an administrator does in a day, every day."""
        by = _Sender(_BROWSERS[2], "203.0.113.5")
        password_hash = await self.services.passwords.hash(PASSWORD)
        for day in range(days):
            yield _MINUTE
            login = await self._sign_in("admin", by)
            assert login is not None
            for kind, asked in self._find_tasks(day, password_hash):
                match await self._decide(kind, by, caller=_caller(login), **asked):
                    case SecretIssued(client=client, secret=secret):
                        self.secrets[client.client_id] = secret
                    case UserKnown(user=user):
                        self.user_ids[user.username] = user.user_id
            await self._decide(e.SignedOut, by, caller=_caller(login))
            yield DAY_SECONDS - _MINUTE

    def _find_tasks(
        self, day: int, password_hash: str
    ) -> Iterator[tuple[Callable[..., e.Event], dict[str, Any]]]:
        if day == 0:
            yield e.ClientSecretReset, {"client_id": "intranet-wiki"}
            yield e.ClientSecretReset, {"client_id": "report-runner"}
        if day % 3 == 0 and day // 3 < len(_NEWCOMERS):
            username, name = _NEWCOMERS[day // 3]
            user = {"username": username, "name": name, "mustChangePassword": False, "roleIds": []}
            yield e.UserRegistered, {"fields": user, "password_hash": password_hash}
        ids, is_first = self.user_ids, day < 10
        match day % 10:
            case 4 if "erin" in ids:
                yield e.UserForcedOut, {"user_id": ids["erin"]}
            case 5:
                permissions = [
                    "audit.read",
                    "monitor.online.list",
                    *(["oauth.client.list"] if is_first else []),
                ]
                yield e.RoleChanged, {"role_id": "auditor", "fields": {"permissions": permissions}}
            case 6:
                language = {"locale": "zh-CN" if is_first else "en-US"}
                yield e.UserChanged, {"user_id": ids["dave"], "fields": language}
            case 7 if "frank" in ids:
                yield e.UserEnabled if 10 <= day < 20 else e.UserDisabled, {"user_id": ids["frank"]}
            case 9:
                yield e.ClientForcedOut, {"client_id": "intranet-wiki"}


def _caller(login: LoginIssued) -> e.SignedIn:
    return e.SignedIn(access_token=login.tokens.access_token)
