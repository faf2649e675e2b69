"""Requests in order reach the application; all others are refused before."""

import pytest
import trio
import trio.testing
from quart_trio import QuartTrio

from ostiary_net.front_door.heads import is_host
from ostiary_net.front_door.limits import Receive, Scope, Send
from tests.net.front_door.conftest import Door, OpenDoor, answering_lifespan, whole_body

GET = b"GET / HTTP/1.1\r\nHost: door\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"POST /early HTTP/1.1\r\nHost: door\r\nContent-Length: 10\r\n\r\n", id="no body"),
        pytest.param(b"POST /early HTTP/1.1\r\nHost: door\r\nContent-Length: 10\r\n\r\nabc", id="part"),
        pytest.param(
            b"POST /early HTTP/1.1\r\nHost: door\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            id="chunks",
        ),
    ],
)
async def test_an_answer_ahead_of_the_body_closes_the_connection(door: Door, request_bytes: bytes) -> None:
    peer = await door.call(request_bytes)
    heard = await peer.hear(1)
    assert heard.startswith(b"HTTP/1.1 401")
    assert heard.lower().count(b"connection: close") == 1
    assert heard.endswith(b"who are you?")
    assert await peer.hear_end(3) == b""


async def test_an_answer_after_the_whole_body_keeps_the_connection_though_it_was_not_read(door: Door) -> None:
    peer = await door.call(b"POST /early HTTP/1.1\r\nHost: door\r\nContent-Length: 3\r\n\r\nabc" + GET)
    heard = await peer.hear()
    assert b"who are you?" in heard
    assert heard.endswith(b"hello")
    assert b"close" not in heard.lower()


async def test_a_chunked_body_is_413_when_it_passes_the_limit(door: Door) -> None:
    peer = await door.call(b"POST /small HTTP/1.1\r\nHost: door\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(6):
        await peer.say(b"14\r\n" + b"x" * 20 + b"\r\n")
        await trio.sleep(0.2)  # the door waits less before the application has the request
    heard = await peer.hear_end(5)
    assert heard.startswith(b"HTTP/1.1 413")
    assert heard.endswith(b"refused 413 at /small")


async def test_a_client_that_sends_on_after_a_413_reads_the_answer_and_no_reset(door: Door) -> None:
    peer = await door.call(b"POST /small HTTP/1.1\r\nHost: door\r\nContent-Length: 500000\r\n\r\n")
    for _ in range(5):
        await peer.say(bytes(100_000))
        await trio.sleep(0.1)
    assert (await peer.hear_end(5)).endswith(b"refused 413 at /small")


async def test_a_body_that_comes_slowly_still_reaches_the_application(door: Door) -> None:
    peer = await door.call(b"POST /echo HTTP/1.1\r\nHost: door\r\nContent-Length: 6\r\n\r\nabc")
    assert await peer.hear(3) == b""
    await peer.say(b"def")
    assert (await peer.hear()).endswith(b"abcdef")


async def test_a_client_that_waits_for_a_continue_gets_one(door: Door) -> None:
    peer = await door.call(
        b"POST /echo HTTP/1.1\r\nHost: door\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    )
    assert (await peer.hear()).startswith(b"HTTP/1.1 100")
    await peer.say(b"abc")
    assert (await peer.hear()).endswith(b"abc")


async def test_a_begun_answer_is_finished_though_its_request_turns_out_malformed(open_door: OpenDoor) -> None:
    has_begun, may_finish = trio.Event(), trio.Event()

    @answering_lifespan
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"12")]})
        await send({"type": "http.response.body", "body": b"who are", "more_body": True})
        has_begun.set()
        await may_finish.wait()
        await send({"type": "http.response.body", "body": b" you?"})

    door = await open_door(app)
    peer = await door.call(b"POST / HTTP/1.1\r\nHost: door\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    await has_begun.wait()
    await peer.say(b"no chunk\r\n")
    await trio.testing.wait_all_tasks_blocked()
    may_finish.set()
    assert (await peer.hear_end(5)).endswith(b"who are you?")


ECHO, SMALL = (b"POST /%s HTTP/1.1\r\nHost: door\r\n" % name for name in (b"echo", b"small"))
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    "asked, answers, end",
    [
        pytest.param(
            SMALL + b"Content-Length: 100\r\n\r\n" + b"x" * 100,
            *(1, b"\r\n\r\n" + b"x" * 100),
            id="a body as long as its path allows",
        ),
        pytest.param(
            SMALL + CHUNKED + b"\r\n64\r\n%s\r\n0\r\n\r\n" % (b"x" * 100),
            *(1, b"\r\n\r\n" + b"x" * 100),
            id="a chunked body as long as its path allows",
        ),
        pytest.param(
            ECHO + CHUNKED + b"Expect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            *(1, b"abc"),
            id="no continue is sent once the body is here",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: door\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" + GET,
            *(2, b"hello"),
            id="an upgrade to h2c is ignored",
        ),
    ],
)
async def test_requests_in_order_are_answered(door: Door, asked: bytes, answers: int, end: bytes) -> None:
    heard = await door.ask(asked)
    assert heard.startswith(b"HTTP/1.1 200")
    assert heard.count(b"HTTP/1.1") == answers
    assert heard.endswith(end)


BEHIND = b"GET /early HTTP/1.1\r\nHost: door\r\n\r\n"


HEADS = {
    "length and coding": (400, b"Host: door\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    "coding and length": (400, b"Host: door\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
    "two lengths": (400, b"Host: door\r\nContent-Length: 5\r\nContent-Length: 6\r\n"),
    "two lengths in one field": (400, b"Host: door\r\nContent-Length: 5, 6\r\n"),
    "signed length": (400, b"Host: door\r\nContent-Length: +5\r\n"),
    "negative length": (400, b"Host: door\r\nContent-Length: -1\r\n"),
    "unknown coding": (501, b"Host: door\r\nTransfer-Encoding: gzip, chunked\r\n"),
    "2 codings": (501, b"Host: door\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
    "space before the colon": (400, b"Host: door\r\nTransfer-Encoding : chunked\r\n"),
    "NUL in a field": (400, b"Host: door\r\nX: a\x00b\r\n"),
    "empty label": (400, b"Host: a..b\r\n"),
    "not ASCII": (400, b"Host: d\xc3\xb6\xc3\xb6r\r\n"),
    "empty host": (400, b"Host:\r\n"),
    "no host": (400, b""),
    "two hosts": (400, b"Host: door\r\nHost: door\r\n"),
    "head too long": (431, b"Host: door\r\nX: " + b"x" * 17_000 + b"\r\n"),
}


@pytest.mark.parametrize("status, head", HEADS.values(), ids=HEADS)
async def test_a_wrong_head_is_refused_with_all_behind_it(door: Door, status: int, head: bytes) -> None:
    peer = await door.call(b"POST /echo HTTP/1.1\r\n" + head + b"\r\n0\r\n\r\n" + BEHIND)
    heard = await peer.hear_end(5)
    assert heard.startswith(b"HTTP/1.1 %d" % status)
    assert b"refused %d" % status in heard
    assert b"connection: close" in heard
    assert heard.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "status, asked",
    [
        pytest.param(413, SMALL + b"Content-Length: 101\r\n\r\n", id="too long a body"),
        pytest.param(413, SMALL + CHUNKED + b"\r\n65\r\n" + b"x" * 101, id="too long a chunk"),
        pytest.param(400, ECHO + CHUNKED + b"\r\nxyz\r\n" + BEHIND, id="no chunk"),
        pytest.param(400, ECHO + CHUNKED + b"Expect: 100-continue\r\n\r\nxyz\r\n", id="no chunk as expected"),
        pytest.param(400, b"POST /echo HTTP/1.0\r\n" + CHUNKED + b"\r\n0\r\n\r\n", id="chunks in HTTP/1.0"),
        pytest.param(505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), id="HTTP/2 by prior knowledge"),
        pytest.param(
            403,
            b"GET / HTTP/1.1\r\nHost: door\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
            id="a websocket",
        ),
        *(
            pytest.param(400, b"GET " + target + b" HTTP/1.1\r\nHost: door\r\n\r\n", id=target.decode())
            for target in (b"*", b"door:443", b"ftp://door/", b"http://", b"http://u@door/", b"\\")
        ),
    ],
)
async def test_requests_out_of_order_are_refused_as_documented(door: Door, status: int, asked: bytes) -> None:
    peer = await door.call(asked)
    heard = await peer.hear_end(35)
    assert heard.startswith(b"HTTP/1.1 %d" % status)
    assert heard.count(b"HTTP/1.1") == 1
    if status in (400, 413):
        assert b"connection: close" in heard.lower()
        assert b"\r\n\r\nrefused %d at " % status in heard
        assert door.guarded.refused == {status: 1}


async def test_a_target_in_absolute_form_means_its_path_and_its_host(bare_door: Door) -> None:
    heard = await bare_door.ask(b"GET http://other:81/source?a HTTP/1.1\r\nHost: door\r\n\r\n")
    assert heard.endswith(b" http other:81")


async def test_a_raising_application_is_a_500(bare_door: Door, capsys: pytest.CaptureFixture[str]) -> None:
    peer = await bare_door.call(b"GET /raise HTTP/1.1\r\nHost: door\r\n\r\n")
    assert (await peer.hear_end(5)).endswith(b"refused 500 at /raise")
    logged = capsys.readouterr()
    assert "unexpected error" in logged.out + logged.err
    assert "a secret" not in logged.out + logged.err


async def test_a_fault_in_quart_itself_is_named_and_ends_neither_the_server_nor_the_others(
    open_door: OpenDoor, capsys: pytest.CaptureFixture[str]
) -> None:
    app = QuartTrio("door")

    class Broken:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    door = await open_door(app)
    app.url_map = Broken()  # type: ignore[assignment]
    assert b"500" in await door.ask(GET, 5)
    assert b"500" in await door.ask(GET, 5)
    logged = capsys.readouterr()
    assert (logged.out + logged.err).count("cause=RuntimeError") == 2


def test_a_host_is_a_name_or_an_address_with_an_optional_port() -> None:
    for value in (
        *(b"id.example.com", b"id.example.com.", b"my_service-1:8000", b"xn--dr-xka.example"),
        *(b"127.0.0.1:80", b"[2001:db8::1]:8443", b"door:"),
    ):
        assert is_host(value), value
    for value in (
        *(b"", b".", b"a..b", b"a/b", b"a b", b"a,b", b"user@door", b"a" * 64, b"a." * 128),
        *(b"[::1", b"::1", b"[::g]", b"door:99999", b"door:x"),
    ):
        assert not is_host(value), value


@pytest.mark.parametrize("fault", ["", "raises", "never answers", "answers in part"])
async def test_a_refusal_is_the_applications_page_or_the_doors_own(open_door: OpenDoor, fault: str) -> None:
    """The page is asked for a body that is too large, and for one that comes too slowly while it is read."""

    @answering_lifespan
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        status = scope.get("ostiary.refused")
        body = await whole_body(receive)
        if fault == "raises":
            raise ZeroDivisionError
        if fault == "never answers":
            await trio.sleep_forever()
        content = b"a page for %d with %d bytes" % (status or 200, len(body))
        fields = [(b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": content, "more_body": fault == "answers in part"})

    def has_page(status: int, scope: Scope) -> bool:
        return (b"accept", b"text/html") in scope["headers"]

    door = await open_door(app, has_page=has_page)
    head = b"POST /small HTTP/1.1\r\nHost: door\r\nContent-Length: %d\r\n"
    for length, status in ((1_000, 413), (10, 408)):
        page = await door.call(head % length + b"Accept: text/html\r\n\r\nx")
        heard = await page.hear_end()
        assert heard.startswith(b"HTTP/1.1 %d" % status)
        said = b"refused %d at /small" % status if fault else b"a page for %d with 0 bytes" % status
        assert heard.endswith(said)
        assert b"connection: close" in heard
        data = await (await door.call(head % length + b"\r\nx")).hear_end()
        assert data.endswith(b"refused %d at /small" % status)


async def test_an_application_that_answers_after_a_refusal_is_not_heard(open_door: OpenDoor) -> None:
    @answering_lifespan
    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"too late", "more_body": False})

    door = await open_door(stubborn)
    peer = await door.call(b"POST /x HTTP/1.1\r\nHost: door\r\nContent-Length: 9\r\n\r\nabc")
    heard = await peer.hear_end(60)
    assert heard.startswith(b"HTTP/1.1 408")
    assert b"too late" not in heard


async def test_an_answer_that_does_not_begin_in_time_is_a_failure(open_door: OpenDoor) -> None:
    """A handler may wait for anything (READINGS 47)."""

    @answering_lifespan
    async def stuck(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep_forever()

    door = await open_door(stuck)
    peer = await door.connect()
    began = trio.current_time()
    await peer.say(b"GET /stuck HTTP/1.1\r\nHost: door\r\n\r\n")
    heard = await peer.hear_end()
    assert heard.startswith(b"HTTP/1.1 500")
    assert b"refused 500 at /stuck" in heard
    assert trio.current_time() - began < 10 + door.guarded.limits.linger_seconds
    assert (door.guarded.late, door.guarded.refused) == (1, {500: 1})


async def test_an_answer_that_has_begun_may_take_its_time(open_door: OpenDoor) -> None:
    @answering_lifespan
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await trio.sleep(30)
        await send({"type": "http.response.body", "body": b"done"})

    door = await open_door(slow)
    peer = await door.call(b"GET /slow HTTP/1.1\r\nHost: door\r\n\r\n")
    assert (await peer.hear(60)).endswith(b"done")
