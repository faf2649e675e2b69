"""Text messages: requests to a gateway and their retries, the outbox file, and jobs in the background.

A script says how the gateway answers each request.
"""

import json
import os
import re
import ssl
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY, Mock

import certifi
import httpx
import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from fuzz.shared.seeds import SeededEntropy
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.secret import Secret
from ostiary_net.runtime.outbound import read_route
from ostiary_net.runtime.system import run_inline
from ostiary_net.runtime.text_messages import (
    Gateway,
    NotDelivered,
    Outbox,
    TextMessage,
    TextMessages,
    open_gateway,
    open_text_messages,
)

CODE = "491625"
TOKEN = "gateway-token-8d1f"
PHONE = "+8613800000000"
URL = "http://127.0.0.1/send?key=url-key"
MESSAGE = TextMessage(
    phone=PHONE,
    purpose=TextCodePurpose.RESET_PASSWORD,
    code=Secret(CODE),
    text=f"验证码 {CODE}",
    at=Instant(1_800_000_000_123),
)


# --- a gateway


Answer = tuple[int, Mapping[str, Any]] | None
"""Status and header fields; None closes the connection without an answer."""


@dataclass
class Room:
    """A gateway client, the requests that it sent, and its pauses between attempts."""

    gateway: Gateway
    asked: list[httpx.Request]
    pauses: list[float]


@asynccontextmanager
async def gateway_at(
    *script: int | Answer, token: str | None = TOKEN, attempt_seconds: float = 30.0, silent: bool = False
) -> AsyncIterator[Room]:
    """Yield a client of a gateway that gives these answers, the last for ever, or no answer if `silent`."""
    answers: list[Answer] = [(step, {}) if isinstance(step, int) else step for step in script]
    asked: list[httpx.Request] = []
    pauses: list[float] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if silent:
            await trio.sleep_forever()
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        if given is None:
            raise httpx.RemoteProtocolError(f"nothing came from {request.url}")
        return httpx.Response(given[0], headers=given[1])

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        secret = None if token is None else Secret(token)
        gateway = Gateway(
            client, URL, lambda: secret, SeededEntropy(), attempt_seconds=attempt_seconds, pause=pause
        )
        yield Room(gateway, asked, pauses)


async def test_a_gateway_is_sent_number_purpose_and_text_once_each_under_its_own_key() -> None:
    async with gateway_at(202, 299) as room:
        await room.gateway.deliver(MESSAGE)
        await room.gateway.deliver(MESSAGE)
    for got in room.asked:
        assert str(got.url) == URL
        assert json.loads(got.content) == {
            "phone": PHONE,
            "purpose": "reset-password",
            "text": f"验证码 {CODE}",
        }
        assert got.headers["content-type"] == "application/json"
        assert got.headers["authorization"] == f"Bearer {TOKEN}"
        assert re.fullmatch("[0-9a-f]{32}", got.headers["idempotency-key"])
    assert len({got.headers["idempotency-key"] for got in room.asked}) == 2
    async with gateway_at(200, token=None) as room:
        await room.gateway.deliver(MESSAGE)
    assert "authorization" not in room.asked[0].headers


@pytest.mark.parametrize("passing", [500, 502, 503, 429, None], ids=str)
async def test_failures_that_may_pass_are_retried_each_time_later_under_one_key(passing: int | None) -> None:
    async with gateway_at(passing, passing, passing, 200) as room:
        await room.gateway.deliver(MESSAGE)
    assert len(room.asked) == 4
    assert room.pauses == [0.5, 1.0, 2.0]
    assert len({request.headers["idempotency-key"] for request in room.asked}) == 1
    assert len({request.content for request in room.asked}) == 1


@pytest.mark.parametrize(
    "script, named, told",
    [
        (503, {}, "status 503"),
        (None, {}, "RemoteProtocolError"),
        (200, {"silent": True, "attempt_seconds": 0.05}, "no answer in time"),
    ],
)
async def test_after_four_tries_it_is_given_up(script: int | None, named: dict[str, Any], told: str) -> None:
    async with gateway_at(script, **named) as room:
        with pytest.raises(NotDelivered, match=f"{told}, after 4 attempts"):
            await room.gateway.deliver(MESSAGE)
    assert len(room.asked) == 4


@pytest.mark.parametrize("status", [199, 300, 301, 307, 400, 401, 403, 404, 422, 499])
async def test_refusals_are_not_tried_again_and_no_redirect_is_followed(status: int) -> None:
    async with gateway_at((status, {"Location": "/elsewhere"})) as room:
        with pytest.raises(NotDelivered, match=f"status {status}"):
            await room.gateway.deliver(MESSAGE)
    assert len(room.asked) == 1
    assert room.pauses == []


@pytest.mark.parametrize(
    "retry_after, pause",
    [("7", 7.0), ("0", 0.5), ("9" * 8, 30.0), ("soon", 0.5), ("-3", 0.5), ("9" * 9, 0.5), ("\xb2", 0.5)],
)
async def test_a_gateway_is_left_alone_as_it_says_within_reason(retry_after: str, pause: float) -> None:
    async with gateway_at((429, {"Retry-After": retry_after.encode("latin-1")}), 200) as room:
        await room.gateway.deliver(MESSAGE)
    assert room.pauses == [pause]


@pytest.mark.parametrize("script", [(503,), (None,), (400,)], ids=str)
async def test_no_code_number_token_or_address_is_in_the_error_or_the_log(script: tuple[Any, ...]) -> None:
    async with gateway_at(*script) as room:
        messages = TextMessages(room.gateway)
        with capture_logs() as logs:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(messages.run)
                await messages.send(ready(MESSAGE), "trace")
                messages.close()
        with pytest.raises(NotDelivered) as failed:
            await room.gateway.deliver(MESSAGE)
    (told,) = logs
    assert (told["event"], told["trace_id"], told["log_level"]) == ("text message not sent", "trace", "error")
    shown = f"{logs} {failed.value!r} {failed.value} {MESSAGE!r}"
    for secret in (CODE, TOKEN, PHONE, "url-key", "127.0.0.1"):
        assert secret not in shown
    assert (failed.value.__cause__ or failed.value.__context__) is None


async def test_a_token_that_is_changed_goes_with_the_next_message() -> None:
    tokens = [Secret("first"), None, Secret("second")]
    async with gateway_at(202) as room:
        gateway = replace(room.gateway, read_token=lambda: tokens.pop(0))
        for _ in range(3):
            await gateway.deliver(MESSAGE)
    assert [one.headers.get("Authorization") for one in room.asked] == ["Bearer first", None, "Bearer second"]


async def test_an_error_about_an_untrusted_certificate_says_what_to_do() -> None:
    fault = ssl.SSLCertVerificationError()
    fault.verify_message = "unable to get local issuer certificate"

    async def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"cannot reach {request.url}") from fault

    async with gateway_at(202) as room, httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        with pytest.raises(NotDelivered) as failed:
            await replace(room.gateway, client=client).deliver(MESSAGE)
    assert "certificate not trusted: unable to get local issuer certificate" in str(failed.value)
    assert "SSL_CERT_FILE" in str(failed.value)
    assert "url-key" not in str(failed.value)


PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.mark.parametrize(
    "url, variables, expected",
    [
        ("https://sms.example/", {"NO_PROXY": "localhost,::1,fd00::/8,[,*.a,10.0.0.0/99"}, None),
        ("https://sms.example/", {"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128"),
        ("https://sms.example/", {"HTTPS_PROXY": "http://p:1", "ALL_PROXY": "socks5://q:2"}, "http://p:1"),
        ("https://sms.example/", {"ALL_PROXY": "socks5://q:2", "no_proxy": ".example"}, None),
        ("https://[fd00::7]/", {"ALL_PROXY": "socks5://q:2", "NO_PROXY": "fd00::/8"}, None),
        ("https://10.1.2.3/", {"ALL_PROXY": "socks5://q:2", "NO_PROXY": "a.example 10.1.2.7/24"}, None),
        ("https://10.1.2.3/", {"ALL_PROXY": "http://q:2", "NO_PROXY": "10.1.2.4"}, "http://q:2"),
        ("https://asms.example/", {"ALL_PROXY": "http://q:2", "NO_PROXY": "sms.example"}, "http://q:2"),
        ("https://sms.example/", {"ALL_PROXY": "socks5://q:2", "NO_PROXY": "*"}, None),
        ("http://sms.example/", {"HTTPS_PROXY": "socks5://q:2", "SSL_CERT_FILE": "/gone"}, None),
        ("https://sms.example/", {"ALL_PROXY": "socks5://q:2", "NO_PROXY": "sms.example"}, None),
        ("https://sms.example./", {"ALL_PROXY": "http://q:2", "NO_PROXY": "."}, "http://q:2"),
        ("http://sms.example/", {"HTTP_PROXY": "http://q:2", "REQUEST_METHOD": "GET"}, None),
        ("https://sms.example/", {"HTTPS_PROXY": "http://q:2", "REQUEST_METHOD": "GET"}, "http://q:2"),
        ("https://sms.example/", {"SSL_CERT_FILE": "", "SSL_CERT_DIR": "/gone"}, None),
        ("https://sms.example/", {"ALL_PROXY": "socks5://me:word@q:2"}, "ALL_PROXY names a proxy of socks5"),
        ("https://sms.example/", {"https_proxy": "http://[q:2"}, "https_proxy is no URL"),
        ("https://sms.example/", {"HTTPS_PROXY": "http://q:word"}, "HTTPS_PROXY is no URL"),
        ("https://sms.example/", {"HTTPS_PROXY": "http://"}, "HTTPS_PROXY is no URL"),
        ("https://sms.example/", {"HTTPS_PROXY": "http://q:0"}, "HTTPS_PROXY is no URL"),
        ("https://sms.example/", {"SSL_CERT_FILE": "/gone"}, "SSL_CERT_FILE '/gone': No such file"),
        (
            "http://sms.example/",
            {"HTTP_PROXY": "https://q:2", "SSL_CERT_FILE": "/gone"},
            "SSL_CERT_FILE '/gone'",
        ),
        ("https://sms.example/", {"SSL_CERT_FILE": "/dev/null"}, "SSL_CERT_FILE '/dev/null' has no cert"),
        ("https://sms.example/", {"SSL_CERT_FILE": "/"}, "SSL_CERT_FILE '/'"),
    ],
)
async def test_variables_for_all_programs_keep_no_server_down(
    monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], expected: str | None
) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    opened = Mock(return_value=nullcontext())
    monkeypatch.setattr(httpx, "AsyncClient", opened)
    with capture_logs() as logs:
        async with open_gateway(url, lambda: None, SeededEntropy()) as gateway:
            assert not gateway.is_local
            if isinstance(gateway, Gateway):
                opened.assert_called_once_with(
                    proxy=expected, verify=ANY, timeout=10, follow_redirects=False, trust_env=False
                )
                assert logs == []
                return
            with pytest.raises(NotDelivered) as failed:
                await gateway.deliver(MESSAGE)
    assert expected is not None
    assert str(failed.value).startswith(expected)
    assert "word" not in str(failed.value)
    assert [(f"{line['setting']} {line['reason']}", line["event"]) for line in logs] == [
        (str(failed.value), "no text message can be sent")
    ]


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"SSL_CERT_DIR": "/those"}, {"cafile": None, "capath": "/those"}),
        ({"SSL_CERT_FILE": "/this", "SSL_CERT_DIR": "/those"}, {"cafile": "/this", "capath": None}),
        ({"SSL_CERT_FILE": ""}, {"cafile": certifi.where()}),
    ],
)
def test_authorities_are_those_of_the_environment_or_of_mozilla(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: dict[str, str | None]
) -> None:
    asked: list[dict[str, str | None]] = []
    monkeypatch.setattr(ssl, "create_default_context", lambda **named: asked.append(named))
    read_route("https://sms.example/", variables)
    assert asked == [expected]


# --- the outbox


async def test_without_a_gateway_messages_are_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "not yet" / "there" / "outbox.jsonl"
    await Outbox(path).deliver(replace(MESSAGE, code=None))
    async with open_text_messages(Outbox(path, run_inline)) as messages:
        await messages.send(ready(MESSAGE), "trace")
        lines = path.read_text(encoding="utf-8").splitlines()  # the line is written when `send` returns
    rest = f'"text": "验证码 {CODE}", "at": "2027-01-15T08:00:00.123Z"}}'
    for code, line in zip(("null", f'"{CODE}"'), lines, strict=True):
        assert line == f'{{"phone": "{PHONE}", "purpose": "reset-password", "code": {code}, {rest}'


@pytest.mark.parametrize("umask", [0o000, 0o077])
async def test_the_outbox_is_for_its_owners_eyes_only(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "outbox.jsonl"
    before, opened = os.umask(umask), os.listdir("/proc/self/fd")
    try:
        await Outbox(path, run_inline).deliver(MESSAGE)
        path.chmod(0o644)
        await Outbox(path, run_inline).deliver(MESSAGE)
    finally:
        os.umask(before)
    assert (stat.S_IMODE(path.stat().st_mode), os.listdir("/proc/self/fd")) == (0o600, opened)


async def test_an_outbox_that_cannot_be_written_is_logged_without_the_code(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    messages = TextMessages(Outbox(tmp_path / "file" / "outbox.jsonl", run_inline))
    with capture_logs() as logs:
        await messages.send(ready(MESSAGE), "trace")
    (told,) = logs
    assert (told["event"], told["cause"]) == ("text message not sent", "FileExistsError")
    assert CODE not in str(logs)


# --- jobs


def ready(message: TextMessage | None) -> Callable[[], Awaitable[TextMessage | None]]:
    """Return a job that has its message ready."""

    async def job() -> TextMessage | None:
        await trio.lowlevel.checkpoint()
        return message

    return job


class Far:
    """A delivery over a network that stands still until the gate is opened."""

    is_local = False

    def __init__(self) -> None:
        self.gate = trio.Event()
        self.delivered: list[TextMessage] = []

    async def deliver(self, message: TextMessage) -> None:
        await self.gate.wait()
        self.delivered.append(message)


async def test_a_job_that_fails_is_logged_by_name_and_the_next_is_run() -> None:
    far = Far()
    far.gate.set()

    async def broken() -> TextMessage | None:
        await trio.lowlevel.checkpoint()
        raise RuntimeError(f"the code is {CODE}")

    with capture_logs() as logs:
        async with open_text_messages(far) as messages:
            for _ in range(10):
                await messages.send(broken, "trace")
            await messages.send(ready(None), "a trace without message")
            await messages.send(ready(MESSAGE), "another trace")
    assert far.delivered == [MESSAGE]
    assert {(told["cause"], told["trace_id"]) for told in logs} == {("RuntimeError", "trace")}
    assert CODE not in str(logs)


async def test_the_queue_is_bounded_and_messages_that_do_not_fit_are_logged() -> None:
    far = Far()
    messages = TextMessages(far, most_waiting=3)
    with capture_logs() as logs:
        with trio.fail_after(10):
            for _ in range(5):
                await messages.send(ready(MESSAGE), "trace")
        found = [(told["cause"], told["trace_id"]) for told in logs]
        assert found == [("too many are waiting", "trace")] * 2
        far.gate.set()
        messages.close()
        await messages.run()
    assert len(far.delivered) == 3
    assert messages.count_unfinished() == 0


async def test_closing_gives_waiting_messages_a_moment_and_logs_those_left(autojump_clock: object) -> None:
    far = Far()
    with capture_logs() as logs:
        async with open_text_messages(far) as messages:
            for _ in range(6):
                await messages.send(ready(MESSAGE), "trace")
            await wait_all_tasks_blocked()
        await messages.send(ready(MESSAGE), "trace")
    told, late = logs
    assert (told["event"], told["cause"], told["messages"]) == (
        *("text messages not sent", "the server stopped", 6),
    )
    assert late["event"] == "text message not sent"
