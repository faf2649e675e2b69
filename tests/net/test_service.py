"""Where events meet the rules: what the log is told, what it is never told, and what a failure answers."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import pytest
import trio
from structlog.testing import capture_logs

from ostiary_core import Secret
from ostiary_core.events import ClientRegistered, Operator, PasswordHashRequested
from ostiary_core.http import Answer, Request, userinfo
from ostiary_core.model.reply import SecretIssued
from ostiary_core.throttling.rate_windows import LIMITS, Operation
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.system import run_inline
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import open_turns
from tests.net.rooms import BreakingStore, HandClock, PlainStore, SeededEntropy, origin, registered

SOURCE = "203.0.113.7"
Headers = list[tuple[bytes, bytes]]


@asynccontextmanager
async def serving(store: PlainStore, metrics: Metrics | None = None) -> AsyncIterator[Service]:
    clock, metrics = HandClock(), metrics or Metrics()
    async with open_turns(store, clock, run_inline, metrics) as turns:
        yield Service(turns=turns, clock=clock, entropy_source=SeededEntropy(), metrics=metrics)


async def a_client(service: Service) -> Secret:
    fields = {"clientId": "app", "name": "App", "grantTypes": ["client_credentials"], "scopes": ["user.read"]}
    event = ClientRegistered(caller=Operator(), fields=fields, entropy=service.entropy())
    reply = (await service.decide(event, origin())).reply
    assert isinstance(reply, SecretIssued)
    return reply.secret


def posted(secret: str, language: str = "en") -> Headers:
    return [
        (b"content-type", b"application/x-www-form-urlencoded"),
        (b"authorization", b"Basic " + b64encode(f"app:{secret}".encode())),
        (b"accept-language", language.encode()),
    ]


def posting(operation: Operation, headers: Headers, body: bytes, source: str = SOURCE) -> Request:
    method, path = operation.value.split()
    return Request(method=method, path=path, headers=headers, body=body, source=source)


def for_userinfo(headers: Headers) -> Request:
    return Request(method="GET", path=userinfo.PATH, headers=headers, source=SOURCE)


async def token_service(
    service: Service, operation: Operation, secret: str, **form: str
) -> tuple[Answer, Mapping[str, Any]]:
    answer = await service.answer(
        posting(operation, posted(secret), urlencode(form).encode()), service.trace_id()
    )
    return answer, json.loads(answer.body or b"{}")


async def test_every_fact_is_in_the_log_with_its_trace_id_and_source() -> None:
    async with serving(PlainStore()) as service:
        with capture_logs() as log:
            await service.decide(registered("anna"), origin("a" * 32))
            decision = await service.decide(registered("ben"), origin("b" * 32))
    assert [(entry["event"], entry["trace_id"], entry["source"]) for entry in log] == [
        ("user-registered", "a" * 32, SOURCE),
        ("user-registered", "b" * 32, SOURCE),
    ]
    assert log[1]["user_id"] == decision.facts[0].user_id
    assert {entry["log_level"] for entry in log} == {"info"}


async def test_nothing_is_told_of_what_only_reads() -> None:
    async with serving(PlainStore()) as service:
        with capture_logs() as log:
            await service.decide(PasswordHashRequested(of="anna"), origin())
    assert log == []


async def test_the_audit_trail_and_the_log_have_the_request_under_one_trace_id() -> None:
    store = PlainStore()
    async with serving(store) as service:
        secret = (await a_client(service)).reveal()
        with capture_logs() as log:
            await token_service(service, Operation.TOKEN, secret, grant_type="client_credentials")
    (entry,) = log
    assert entry["event"] == "session-started"
    assert store.audit()[-1].trace_id == entry["trace_id"]
    assert store.audit()[-1].source == entry["source"] == SOURCE


@pytest.mark.parametrize(
    "operation, form",
    [
        (Operation.TOKEN, {"grant_type": "client_credentials"}),
        (Operation.INTROSPECT, {"token": "t" * 43}),
        (Operation.REVOKE, {"token": "t" * 43}),
    ],
    ids=["token", "introspect", "revoke"],
)
async def test_a_failing_turn_answers_500_under_a_trace_id_that_is_in_the_log(
    operation: Operation, form: dict[str, str]
) -> None:
    store = BreakingStore()
    async with serving(store) as service:
        secret = (await a_client(service)).reveal()
        store.broken, store.quoting = True, f"{secret} and {form}"
        with capture_logs() as log:
            answer, content = await token_service(service, operation, secret, **form)

    assert answer.status == 500
    assert (b"cache-control", b"no-store") in answer.headers
    assert (b"x-content-type-options", b"nosniff") in answer.headers
    assert set(content) == {"code", "msg", "data", "traceId"}
    assert (content["code"], content["data"]) == ("A0500", None)
    (entry,) = log
    assert (entry["event"], entry["log_level"], entry["cause"]) == ("turn failed", "error", "OSError")
    assert entry["trace_id"] == content["traceId"]
    assert any("rooms.py" in frame for frame in entry["where"])
    for told in (repr(log), answer.body.decode()):
        assert secret not in told
        assert "near" not in told, "the text of an error may quote a client"


async def test_user_info_fails_in_the_same_way() -> None:
    store = BreakingStore()
    store.broken = True
    async with serving(store) as service:
        with capture_logs() as log:
            headers = [(b"authorization", b"Bearer " + b"t" * 43), (b"accept-language", b"zh-CN")]
            answer = await service.answer(for_userinfo(headers), service.trace_id())
    content = json.loads(answer.body)
    assert (answer.status, content["code"], content["msg"]) == (500, "A0500", "服务器内部错误")
    assert [entry["trace_id"] for entry in log] == [content["traceId"]]
    assert "t" * 43 not in repr(log)


async def test_one_failing_turn_is_told_once_for_every_request_in_it() -> None:
    store = BreakingStore()
    store.broken = True
    failures = []

    async def ask(service: Service, trace_id: str) -> None:
        try:
            await service.decide(registered(f"user-{trace_id}"), origin(trace_id))
        except TurnFailed as failure:
            failures.append(failure)

    async with serving(store) as service:
        with capture_logs() as log:
            async with trio.open_nursery() as nursery:
                for number in range(5):
                    nursery.start_soon(ask, service, f"{number:032x}")
    assert len(failures) == 5
    assert {entry["trace_id"] for entry in log} == {f"{number:032x}" for number in range(5)}


async def test_no_token_or_secret_is_ever_logged() -> None:
    """Every answer of the token service, good and bad, while the log is read along."""
    with capture_logs() as log:
        async with serving(PlainStore()) as service:
            secret = (await a_client(service)).reveal()
            _, issued = await token_service(service, Operation.TOKEN, secret, grant_type="client_credentials")
            token = issued["access_token"]
            told = {secret, token, "wrong-secret-of-somebody", "code-of-somebody"}
            for form in (
                {"grant_type": "authorization_code", "code": "code-of-somebody"},
                {"grant_type": "refresh_token", "refresh_token": token},
                {"grant_type": token},
            ):
                await token_service(service, Operation.TOKEN, secret, **form)
            await token_service(service, Operation.TOKEN, "wrong-secret-of-somebody", **form)
            await token_service(service, Operation.INTROSPECT, secret, token=token)
            bearer = [(b"authorization", f"Bearer {token}".encode())]
            await service.answer(for_userinfo(bearer), service.trace_id())
            await token_service(service, Operation.REVOKE, secret, token=token)
    assert {entry["event"] for entry in log} >= {"client-registered", "session-started", "session-ended"}
    for value in told:
        assert value not in repr(log)


@pytest.mark.parametrize("operation", [Operation.TOKEN, Operation.INTROSPECT, Operation.REVOKE])
async def test_a_full_window_answers_429_in_the_envelope_and_asks_nobody(operation: Operation) -> None:
    store = PlainStore()
    async with serving(store) as service:
        for _ in range(LIMITS[operation]):
            assert service.seconds_to_wait(operation, SOURCE) == 0
        answer, content = await token_service(service, operation, "secret", token="t")
        other = await service.answer(
            posting(operation, posted("secret"), b"token=t", "203.0.113.8"), service.trace_id()
        )

    assert (answer.status, content["code"], content["data"]) == (429, "A0429", None)
    assert set(content) == {"code", "msg", "data", "traceId"}
    (retry_after,) = [value for name, value in answer.headers if name == b"retry-after"]
    assert 1 <= int(retry_after) <= 60
    assert other.status == 401
