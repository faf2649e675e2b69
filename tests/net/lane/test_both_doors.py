"""The lane and plain ASGI answer every request alike, whether it comes whole or in pieces."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
import trio
from hypothesis import example, given, settings, strategies as st
from trio.testing import MockClock

from ostiary_core.http import RateWindows, TokenEndpoint
from ostiary_web.app.asgi_app import make_door_limits
from tests.net.lane.twins import HOUSE, SETTINGS, Heard, at_both, mask_answer, open_twin, request
from tests.support.connections import Kind
from tests.support.languages import THREE

TOKEN, INTROSPECT, REVOKE = "/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/revoke"
USERINFO = "/api/oauth2/userinfo"


def userinfo(token: str, *fields: str) -> bytes:
    return request(USERINFO, "", f"Authorization: Bearer {token}", *fields, method="GET", authorized=False)


def of_type(body: str, parameters: bytes) -> bytes:
    """Return an introspection whose content type has parameters."""
    return request(INTROSPECT, body).replace(b"coded\r", b"coded" + parameters + b"\r")


FORM = f"client_id=app&client_secret={HOUSE.secret}"
ASKED = {
    "active access token": request(INTROSPECT, f"token={HOUSE.access}"),
    "active refresh token": request(INTROSPECT, f"token={HOUSE.refresh}"),
    "machine token": request(INTROSPECT, f"token={HOUSE.machine}&token_type_hint=x"),
    "unknown token": request(INTROSPECT, "token=unknown"),
    "no token": request(INTROSPECT),
    "form authentication": request(INTROSPECT, f"{FORM}&token={HOUSE.access}", authorized=False),
    "two authentications": request(INTROSPECT, f"{FORM}&token=x"),
    "no authentication": request(INTROSPECT, "token=x", authorized=False),
    "client credentials": request(TOKEN, "grant_type=client_credentials"),
    "wide scope": request(TOKEN, "grant_type=client_credentials&scope=everything"),
    "refresh": request(TOKEN, f"grant_type=refresh_token&refresh_token={HOUSE.refresh}"),
    "bad code": request(TOKEN, "grant_type=authorization_code&code=x&redirect_uri=https://a&code_verifier=v"),
    "no grant": request(TOKEN),
    "unknown grant": request(TOKEN, "grant_type=password"),
    "wrong secret": request(TOKEN, "client_id=app&client_secret=x&grant_type=password", authorized=False),
    "repeated field": request(TOKEN, "grant_type=a&grant_type=a"),
    "array field": request(TOKEN, "grant_type=a&code[]=x"),
    "broken escape": request(TOKEN, "grant_type=%zz"),
    "NUL": request(TOKEN, "grant_type=%00"),
    "not UTF-8": request(TOKEN, "grant_type=%ff"),
    "revoke": request(REVOKE, f"token={HOUSE.refresh}"),
    "revoke nothing": request(REVOKE, "token=unknown"),
    "revoke without token": request(REVOKE),
    "profile": userinfo(HOUSE.access),
    "profile in Chinese": userinfo("unknown", "Accept-Language: zh-CN"),
    "machine profile": userinfo(HOUSE.machine),
    "profile of nobody": request(USERINFO, method="GET", authorized=False),
    "profile by Basic": request(USERINFO, method="GET"),
    "keep-alive": request(INTROSPECT, "token=x", "Connection: Keep-Alive"),
    "two user agents": request(TOKEN, "grant_type=x", "User-Agent: a", "User-Agent: b"),
    "type with a parameter": of_type(f"token={HOUSE.access}", b" ; x=y"),
    "type with a charset": of_type(f"token={HOUSE.access}", b' ; charset="UTF-8"'),
    "type with another charset": of_type("token=x", b" ; charset=utf-16"),
    "another charset and more than ASCII": of_type("token=x&x=\xe9", b" ; charset=ISO-8859-1"),
    "content coding": request(INTROSPECT, "token=x", "Content-Encoding: gzip"),
    "no content coding": request(INTROSPECT, f"token={HOUSE.access}", "Content-Encoding: identity"),
    "two content types": request(TOKEN, "grant_type=x", "Content-Type: text/plain"),
}
"""Plain requests: the lane answers all of these."""

ELSEWHERE = {
    "close": request(INTROSPECT, "token=x", "Connection: close"),
    "wrong method": request(TOKEN, method="GET"),
    "post to userinfo": request(USERINFO, "a=b"),
    "head": request(USERINFO, method="HEAD"),
    "query": request(INTROSPECT + "?a=b", "token=x"),
    "slash at the end": request(INTROSPECT + "/", "token=x"),
    "escaped path": request("/api/oauth2/%74oken", "grant_type=x"),
    "nothing there": request("/api/oauth2/nothing", "a=b"),
    "another route": request("/api/auth/me", method="GET"),
    "a browser's cookie": request(USERINFO, "", "Cookie: ostiary_access=x", method="GET", authorized=False),
    "expectation": request(INTROSPECT, "token=x", "Expect: 100-continue"),
    "upgrade": request(INTROSPECT, "token=x", "Upgrade: h2c", "Connection: Upgrade"),
    "chunked": request(INTROSPECT, "", "X: y").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    + b"7\r\ntoken=x\r\n0\r\n\r\n",
    "get with a body": request(USERINFO, "abc", "Content-Length: 3", method="GET"),
    "HTTP/1.0": request(INTROSPECT, "token=x").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "absolute form": request("http://id.example/api/oauth2/introspect", "token=x"),
    "body too long": request(INTROSPECT, "token=" + "x" * 65_536),
    "head too long": request(INTROSPECT, "token=x", "X: " + "x" * 17_000),
    "odd but good field": request(INTROSPECT, "token=x", "x_y.z!: \t a \t"),
    "Latin-1": request(INTROSPECT, "token=x", "User-Agent: caf\xe9"),
    "empty field": request(INTROSPECT, "token=x", "X: "),
    "type with a tab": of_type("token=x", b"\t;\tcharset=utf-8"),
}

_REST = b"GET /api/auth/me HTTP/1.1\r\nHost: id.example\r\n\r\n"


def smuggle(*lines: bytes, body: bytes = b"0\r\n\r\n") -> bytes:
    """Return a request for a path of the lane with these lines in its head, and a second one behind it."""
    head = (f"POST {INTROSPECT} HTTP/1.1".encode(), b"Host: id.example", *lines)
    return b"\r\n".join(head) + b"\r\n\r\n" + body + _REST


SMUGGLED = {
    "length and coding": smuggle(b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    "coding and length": smuggle(b"Transfer-Encoding: chunked", b"Content-Length: 5"),
    "two lengths": smuggle(b"Content-Length: 5", b"Content-Length: 0"),
    "equal lengths": smuggle(b"Content-Length: 5", b"Content-Length: 5"),
    "list of lengths": smuggle(b"Content-Length: 5, 5"),
    "list of other lengths": smuggle(b"Content-Length: 5, 6"),
    "signed length": smuggle(b"Content-Length: +5"),
    "negative length": smuggle(b"Content-Length: -5"),
    "hexadecimal length": smuggle(b"Content-Length: 0x5"),
    "underscored length": smuggle(b"Content-Length: 1_0"),
    "length with a space": smuggle(b"Content-Length: 5 5"),
    "leading zeros": smuggle(b"Content-Length: 0005"),
    "endless length": smuggle(b"Content-Length: " + b"9" * 30),
    "empty length": smuggle(b"Content-Length:"),
    "length too short": smuggle(b"Content-Length: 2"),
    "no length": smuggle(),
    "space before the colon": smuggle(b"Content-Length : 5"),
    "tab before the colon": smuggle(b"Transfer-Encoding\t: chunked"),
    "space before the name": smuggle(b" Content-Length: 5"),
    "folded length": smuggle(b"Content-Length:", b" 5"),
    "folded coding": smuggle(b"Transfer-Encoding:", b"\tchunked"),
    "folded at the start": smuggle(b"X: a", b"  b", b"Content-Length: 5"),
    "bare LF between fields": smuggle(b"X: a\nContent-Length: 5"),
    "bare LF at the end": smuggle(b"Content-Length: 5").replace(b"5\r\n\r\n", b"5\n\n"),
    "bare LF in the request line": smuggle(b"Content-Length: 5").replace(b"1.1\r\n", b"1.1\n", 1),
    "bare CR in a value": smuggle(b"X: a\rContent-Length: 5"),
    "NUL in a value": smuggle(b"X: a\x00b", b"Content-Length: 5"),
    "NUL in a name": smuggle(b"X\x00: a", b"Content-Length: 5"),
    "control in a value": smuggle(b"X: a\x01b", b"Content-Length: 5"),
    "form feed in a value": smuggle(b"X: a\x0cb", b"Content-Length: 5"),
    "no colon": smuggle(b"X", b"Content-Length: 5"),
    "empty name": smuggle(b": a", b"Content-Length: 5"),
    "name with brackets": smuggle(b"Content-Length[]: 9", b"Content-Length: 5"),
    "name with underscore": smuggle(b"Content_Length: 9", b"Content-Length: 5"),
    "name not ASCII": smuggle(b"X\xe9: a", b"Content-Length: 5"),
    "coding in capitals": smuggle(b"Transfer-Encoding: CHUNKED"),
    "coding identity": smuggle(b"Transfer-Encoding: identity", b"Content-Length: 5"),
    "coding with a parameter": smuggle(b"Transfer-Encoding: chunked;a=b"),
    "coding twice": smuggle(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "coding with vertical tab": smuggle(b"Transfer-Encoding: \x0bchunked"),
    "chunk size signed": smuggle(b"Transfer-Encoding: chunked", body=b"+1\r\na\r\n0\r\n\r\n"),
    "chunk size prefixed": smuggle(b"Transfer-Encoding: chunked", body=b"0x1\r\na\r\n0\r\n\r\n"),
    "chunk size endless": smuggle(b"Transfer-Encoding: chunked", body=b"f" * 40 + b"\r\n"),
    "chunk extension": smuggle(b"Transfer-Encoding: chunked", body=b"1;a=b\r\na\r\n0\r\n\r\n"),
    "chunk with bare LF": smuggle(b"Transfer-Encoding: chunked", body=b"1\na\n0\n\n"),
    "chunk too long": smuggle(b"Transfer-Encoding: chunked", body=b"1\r\nab\r\n0\r\n\r\n"),
    "trailer": smuggle(b"Transfer-Encoding: chunked", body=b"0\r\nContent-Length: 9\r\n\r\n"),
    "expectation": smuggle(b"Expect: 100-continue", b"Content-Length: 5"),
    "close": smuggle(b"Connection: close", b"Content-Length: 5"),
    "close among others": smuggle(b"Connection: keep-alive, close", b"Content-Length: 5"),
    "two hosts": smuggle(b"Host: other", b"Content-Length: 5"),
    "bad host": smuggle(b"Content-Length: 5").replace(b"Host: id.example", b"Host: a..b", 1),
    "no host": smuggle(b"Content-Length: 5").replace(b"Host: id.example\r\n", b"", 1),
    "absolute form": smuggle(b"Content-Length: 5").replace(b" /api", b" http://other/api", 1),
    "absolute form elsewhere": smuggle(b"Content-Length: 5").replace(b" /api", b" ftp://other/api", 1),
    "authority form": smuggle(b"Content-Length: 5").replace(INTROSPECT.encode(), b"id.example:443", 1),
    "lower-case version": smuggle(b"Content-Length: 5").replace(b"HTTP/1.1", b"http/1.1", 1),
    "HTTP/1.2": smuggle(b"Content-Length: 5").replace(b"HTTP/1.1", b"HTTP/1.2", 1),
    "HTTP/2.0": smuggle(b"Content-Length: 5").replace(b"HTTP/1.1", b"HTTP/2.0", 1),
    "two spaces": smuggle(b"Content-Length: 5").replace(b" HTTP", b"  HTTP", 1),
    "tab for a space": smuggle(b"Content-Length: 5").replace(b"POST ", b"POST\t", 1),
    "space at the end": smuggle(b"Content-Length: 5").replace(b"1.1\r\n", b"1.1 \r\n", 1),
    "lower-case method": smuggle(b"Content-Length: 5").replace(b"POST", b"post", 1),
    "empty line before": b"\r\n" + smuggle(b"Content-Length: 5"),
    "end of line behind": request(INTROSPECT, "token=x") + b"\r\n" + _REST,
    "prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _REST,
}
ALL = {
    **{f"asked: {name}": data for name, data in ASKED.items()},
    **{f"elsewhere: {name}": data for name, data in ELSEWHERE.items()},
    **{f"smuggled: {name}": data for name, data in SMUGGLED.items()},
}


BEHIND_HTTPS = make_door_limits(replace(SETTINGS, public_url="https://id.example"))
"""Limits of a server whose users come over https."""

ANSWER = re.compile(rb"HTTP/1\.1 [2-5].*?\r\n\r\n", re.DOTALL)


@pytest.mark.parametrize("data", ALL.values(), ids=ALL)
def test_a_request_is_answered_alike_at_both_doors(data: bytes) -> None:
    """Every answer has these fields once (RFC 6797 §7.1, READINGS 45); a connection's last says `close`."""
    through_lane, plain = at_both([data], limits=BEHIND_HTTPS)
    assert through_lane == plain
    assert plain.data.startswith(b"HTTP/1.1 ")
    heads = ANSWER.findall(plain.data)
    assert heads
    for head in map(bytes.lower, heads):
        assert head.count(b"\r\nx-content-type-options: nosniff\r\n") == 1
        assert head.count(b"\r\nstrict-transport-security: max-age=31536000\r\n") == 1
        is_last = head.count(b"\r\nconnection: close\r\n") == 1
        assert head.count(b"\r\nconnection: keep-alive\r\n") == (not is_last)
        assert head.count(b"\r\nkeep-alive: timeout=75\r\n") == (not is_last)


EMPTY_LINE = b"\r\n"


@pytest.mark.parametrize("name", ["active access token", "profile", "another route", "chunked"])
def test_an_empty_line_before_a_request_is_ignored(name: str) -> None:
    """Some clients send an empty line behind a body (RFC 9112 §2.2, READINGS 61); two are refused."""
    data = (ASKED | ELSEWHERE)[name]
    alone, _ = at_both([data, data])
    for sent in (
        [EMPTY_LINE + data, EMPTY_LINE + data],
        [data + EMPTY_LINE, data + EMPTY_LINE],
        [data, EMPTY_LINE, data],
        [data + b"\r", b"\n" + data],
        [data + EMPTY_LINE + data],
        [b"\r", b"\n", data[:20], data[20:] + EMPTY_LINE[:1], b"\n" + data],
    ):
        through_lane, plain = at_both(sent)
        assert through_lane == plain == alone, sent
    for sent in ([data + 2 * EMPTY_LINE + data], [data, EMPTY_LINE, EMPTY_LINE, data], [data + b"\n" + data]):
        through_lane, plain = at_both(sent)
        assert through_lane == plain
        assert plain.data.count(b"HTTP/1.1 400 ") == 1, sent
        assert plain.closed, sent


def test_failures_have_texts_in_a_third_language_at_both_doors() -> None:
    made_up = "Accept-Language: fr, qaa"
    once = request(INTROSPECT, "token=x", made_up)
    too_large = request("/api/auth/login", "", made_up).replace(b"-Length: 0", b"-Length: 9999999")
    lane, plain = at_both(
        [userinfo("unknown", made_up), once, once, too_large],
        endpoint=lambda: TokenEndpoint(RateWindows(scale=0), THREE),
        limits=make_door_limits(replace(SETTINGS, languages=THREE)),
    )
    assert lane == plain
    assert [json.loads(body)["msg"] for body in re.findall(rb'\{"code".*\}', lane.data)] == [
        "«You are not signed in, or the token is not valid.»",
        "«Too many requests. Try again in a moment.»",
        "«The body is too large.»",
    ]


@pytest.mark.parametrize("data", SMUGGLED.values(), ids=SMUGGLED)
def test_a_smuggled_request_is_treated_alike_behind_one_that_the_lane_answers(data: bytes) -> None:
    through_lane, plain = at_both([ASKED["active access token"] + data])
    assert through_lane == plain
    assert plain.data.count(b"HTTP/1.1 200") >= 1


CARRIED = ASKED["active access token"]
LOGIN = request("/api/auth/login", CARRIED.decode())
CHUNKED_HEAD = ELSEWHERE["chunked"].split(b"7\r\n")[0]


@pytest.mark.parametrize(
    "pieces, answered",
    [
        pytest.param([LOGIN], 0, id="whole"),
        pytest.param([LOGIN.removesuffix(CARRIED), CARRIED], 0, id="on its own"),
        pytest.param([LOGIN.removesuffix(CARRIED), CARRIED, CARRIED], 1, id="on its own, and one behind it"),
        pytest.param([CHUNKED_HEAD, b"%x\r\n" % len(CARRIED), CARRIED, b"\r\n0\r\n\r\n"], 0, id="as a chunk"),
        pytest.param([b"GET /api/auth/me HTTP/1.1\r\nX: ", CARRIED], 0, id="in a field"),
    ],
)
def test_a_plain_request_inside_another_one_is_not_answered(pieces: Sequence[bytes], answered: int) -> None:
    through_lane, plain = at_both(pieces)
    assert through_lane == plain
    assert through_lane.data.count(b'"active":true') == answered


TORN = ("active access token", "client credentials", "revoke nothing", "profile")


@pytest.mark.parametrize("name", TORN)
def test_a_request_torn_at_any_byte_is_answered_alike(name: str) -> None:
    data = ASKED[name]

    async def ask(lane: bool, kind: Kind) -> list[Heard]:
        heard: list[Heard] = []
        async with open_twin(lane=lane, kind=kind) as door:
            for cut in range(len(data) + 1):
                line = await door.call(data[:cut], data[cut:])
                answer = await line.hear(0.1)
                await line.stream.aclose()
                heard.append(Heard(mask_answer(answer.data), answer.closed))
        return heard

    async def ask_all() -> tuple[list[Heard], list[Heard], list[Heard]]:
        return await ask(True, Kind.SOCKETS), await ask(True, Kind.MEMORY), await ask(False, Kind.MEMORY)

    resting, reading, plain = trio.run(ask_all, clock=MockClock(autojump_threshold=0))
    assert resting == reading == plain
    assert set(plain) == {plain[0]}
    assert plain[0].data.startswith(b"HTTP/1.1 200")


FIELDS = (
    *("User-Agent: one/1", "user-agent: two/2", "Accept: */*", "Accept-Language: zh-CN", "Cookie: a=b"),
    *("Connection: keep-alive", "Connection: close", "Content-Length: 3", "Transfer-Encoding: chunked"),
    *("Expect: 100-continue", "X-Odd_name: a", "X: a\tb ", "Host: other", "X-Forwarded-For: 192.0.2.99"),
    f"Authorization: Bearer {HOUSE.access}",
)


@st.composite
def generate_request(draw: st.DrawFn) -> bytes:
    """Draw a request for one of the four operations, most parts of which are good."""
    path = draw(st.sampled_from([TOKEN, INTROSPECT, REVOKE, USERINFO, INTROSPECT + "?a", "/x"]))
    method = draw(st.sampled_from(["GET", "POST"] if path != USERINFO else ["GET", "GET", "POST"]))
    tokens = [HOUSE.access, HOUSE.refresh, HOUSE.machine, HOUSE.code]
    values = st.sampled_from([*tokens, "client_credentials", "refresh_token", "x", "%00"])
    names = st.sampled_from(["grant_type", "token", "refresh_token", "code", "scope", "client_id", "a[b]"])
    body = "&".join(f"{name}={value}" for name, value in draw(st.lists(st.tuples(names, values), max_size=4)))
    fields = draw(st.lists(st.sampled_from(FIELDS), max_size=3))
    return request(path, body, *fields, method=method, authorized=draw(st.booleans()))


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Draw one to three requests behind each other, perhaps with a damaged byte, cut into pieces anywhere."""
    data = b"".join(draw(st.lists(generate_request(), min_size=1, max_size=3)))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        damage = draw(st.sampled_from([b"", b"\n", b"\r", b"\r\n", b" ", b"\x00", b":", b"9", b"\xff"]))
        data = data[:at] + damage + data[at + 1 :]
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=3)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@settings(max_examples=80)
@given(pieces=conversations())
@example(pieces=[ASKED["active access token"] * 3])
@example(pieces=[ASKED["refresh"] * 2])
@example(pieces=[ELSEWHERE["another route"] + b"\r\n", b"\r\n" + ASKED["refresh"]])
@example(pieces=[ELSEWHERE["chunked"] + ASKED["active access token"] + ELSEWHERE["close"]])
def test_any_conversation_goes_alike(pieces: Sequence[bytes]) -> None:
    through_lane, plain = at_both(pieces)
    assert through_lane == plain
