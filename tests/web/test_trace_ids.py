"""A request has one trace id, however it ends: the answer, the log and the audit trail have the same one."""

import json
import re
from collections.abc import MutableMapping
from typing import Any, Final

import httpx
import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from structlog.testing import capture_logs

from ostiary_core.http.endpoint import PendingRequest
from ostiary_core.throttling.rate_windows import RateWindows
from ostiary_net.front_door import patch_hypercorn
from ostiary_net.observability.request_ids import REQUEST_IDS
from ostiary_web.http import security_headers
from ostiary_web.http.context import RequestContext
from ostiary_web.pages import context
from ostiary_web.server.logs import configure_logs
from tests.support.callers import SOURCE, Api
from tests.support.connections import DOORS, connect_stream
from tests.support.served import Serve, Served
from tests.support.story import START

pytestmark = pytest.mark.parametrize("door", DOORS)

OF_THE_CLOCK: Final = START.to_bytes(6).hex()
"""The beginning of an id that the service drew, which alone uses the clock of the tests."""

Log = list[MutableMapping[str, Any]]


def find_quoted_id(answer: str) -> str:
    """Return the trace id that a failure quotes, in the envelope or on a page."""
    found = re.search(rf"\b{OF_THE_CLOCK}[0-9a-f]{{20}}\b", answer)
    assert found is not None, answer
    return found[0]


def break_down(*anything: object, **named: object) -> Any:
    raise RuntimeError("secret detail")


def expect_failure(served: Served, response: httpx.Response, log: Log, *kinds: str) -> None:
    """Assert that a request failed unexpectedly, and that log and trail have the id that it quotes."""
    trace_id = find_quoted_id(response.text)
    assert (response.status_code, "secret detail" in response.text) == (500, False)
    told = [entry for entry in log if entry["event"] == "unexpected error"]
    assert told
    assert {entry["trace_id"] for entry in told} == {trace_id}
    assert all(entry["cause"].endswith("Error") and entry["where"] for entry in told)
    assert {entry["trace_id"] for entry in log if "trace_id" in entry} == {trace_id}
    assert [entry.kind.value for entry in served.audit() if entry.trace_id == trace_id] == list(kinds)


async def test_a_token_request_that_fails_before_or_after_its_decision(
    served: Served, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await served.client()
    for owner, name, path, kinds in (
        (PendingRequest, "answer", "token", ["session-started"]),
        (PendingRequest, "answer", "token?by=the-application", ["session-started"]),
        (PendingRequest, "answer", "userinfo", []),
        (RateWindows, "admit", "token", []),
    ):
        with monkeypatch.context() as patch, capture_logs() as log:
            patch.setattr(owner, name, break_down)
            if path == "userinfo":
                response = await api.call("GET", "/api/oauth2/userinfo")
            else:
                response = await api.service(path, client, grant_type="client_credentials")
        expect_failure(served, response, log, *kinds)


WRONG = {"username": "admin", "password": "not the password"}


async def test_a_page_and_its_error_page_both_fail(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = served.browser()
    form = await browser.get("/login")
    monkeypatch.setattr(context, "render_template", break_down)
    with capture_logs() as log:
        response = await browser.submit(form, WRONG)
    expect_failure(served, response, log, "sign-in-failed")


@pytest.mark.parametrize(
    "owner, name, value", [(RequestContext, "failure", break_down), (security_headers, "_FIELDS", None)]
)
async def test_an_answer_that_fails_after_its_decision_or_on_its_way_out(
    served: Served, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, value: Any
) -> None:
    monkeypatch.setattr(owner, name, value)
    with capture_logs() as log:
        response = await served.api().post("/api/auth/login", json=WRONG)
    expect_failure(served, response, log, "sign-in-failed")


async def test_a_refusal_is_in_the_log_under_what_it_quotes(served: Served) -> None:
    asked: list[tuple[int, str, dict[str, Any]]] = [
        (404, "GET /api/nothing", {}),
        (405, "DELETE /api/auth/login", {}),
        (413, "POST /api/auth/login", {"content": bytes(1024 * 1024)}),
        (400, "GET /api/auth/me", {"headers": {"Host": "two words"}}),
        (401, "GET /api/auth/me", {}),
        (401, "GET /api/oauth2/userinfo", {}),
    ]
    for status, endpoint, options in asked:
        with capture_logs() as log:
            response = await served.api().request(*endpoint.split(), **options)
        assert response.status_code == status, endpoint
        [told] = [entry for entry in log if "trace_id" in entry]
        assert told["trace_id"] == find_quoted_id(response.text) == response.json()["traceId"], endpoint


async def test_what_is_no_http_is_in_the_log_under_what_its_refusal_quotes(served: Served) -> None:
    patch_hypercorn()
    with capture_logs() as log, trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            stream = connect_stream(served.app, nursery, Config(), WorkerContext(None))
            await stream.send_all(b"GET /healthz HTTP/1.1\r\nno field\r\n\r\n")
            heard = b"".join([data async for data in stream])
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert [entry["trace_id"] for entry in log] == [find_quoted_id(heard.decode())]


@pytest.mark.parametrize(
    "trusted, sent, logged",
    [
        *((SOURCE, [name], name) for name in ("01J-ab.c/d=e", "x" * 128)),
        *((SOURCE, sent, None) for sent in (["x" * 129], [""], ['a" level="error'], ["one", "two"])),
        *((elsewhere, ["one"], None) for elsewhere in ("10.0.0.0/8", "")),
    ],
)
async def test_the_log_has_what_a_trusted_proxy_calls_a_request(
    serve: Serve, capsys: pytest.CaptureFixture[str], trusted: str, sent: list[str], logged: str | None
) -> None:
    """The log has the name at every door, however the request ends, and not in lines of later requests."""
    fields = [("X-Request-ID", value) for value in sent]
    async with serve(TRUST_PROXY=trusted) as served:
        configure_logs("info", "json")
        api = served.api()
        await api.get("/api/oauth2/userinfo", headers=fields)
        await api.post("/api/oauth2/introspect", data={"token": "x"}, auth=("app", "wrong"), headers=fields)
        await api.get("/api/auth/me", headers=fields)
        await api.post("/api/auth/login", content=bytes(70_000), headers=fields)
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        named = [line.get("request_id") for line in lines if line["event"].startswith("refused")]
        assert named == [logged] * 4
        await api.get("/api/oauth2/userinfo")
        assert "request_id" not in capsys.readouterr().err
        assert vars(REQUEST_IDS) == {"_by_trace_id": {}}, "an id is forgotten with its request"
