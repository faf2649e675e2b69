"""The lane remembers heads: one that comes again has the same meaning, and no secret is kept."""

import inspect
import re
from dataclasses import replace
from ipaddress import ip_network

import pytest

from ostiary_core.http import Request, form, sender
from ostiary_core.http.sender import sender_of
from ostiary_core.texts import LANGUAGES
from ostiary_net.front_door import heads as front_door_heads, source
from ostiary_net.front_door.limits import DoorLimits
from ostiary_net.lane import scanner
from ostiary_net.lane.heads import READ_FIELDS, HeadReader, PlainRequestHead
from ostiary_net.lane.parser import Need, RequestParser
from ostiary_net.lane.scanner import NOT_PLAIN
from tests.net.lane.twins import HOUSE, LIMITS, at_both, request

CLIENT = ("203.0.113.7", 4711)


def introspection(token: str, *fields: str) -> bytes:
    return request("/api/oauth2/introspect", f"token={token}", *fields)


class CountingHeads(HeadReader):
    """Counts the heads that were not known."""

    def __init__(self, limits: DoorLimits = LIMITS) -> None:
        super().__init__(limits, LANGUAGES)
        self.judged = 0

    def _judge(self, head: bytes, client: tuple[str, int] | None) -> PlainRequestHead | None:
        self.judged += 1
        return super()._judge(head, client)


def read(heads: HeadReader, data: bytes, client: tuple[str, int] = CLIENT) -> Request | Need:
    parser = RequestParser(heads, client)
    parser.feed(data)
    return parser.next_event()


@pytest.mark.parametrize(
    "trusted, lines, kept",
    [
        ("203.0.113.0/24", ["X-Request-ID: {}"], [b"1", b"2"]),
        ("203.0.113.0/24", ["x-request-id:{}"], [b"1", b"2"]),
        ("203.0.113.0/24", ["X-Request-ID: {}", "X-Request-ID: 3"], []),
        ("203.0.113.0/24", ["X-Request-ID: {}", "X-Request-ID: 3 4"], []),
        ("203.0.113.0/24", ["X-Request-ID: {} 3"], []),
        ("203.0.113.0/24", ["X-A: x-request-id: {}"], []),
        ("10.0.0.0/8", ["X-Request-ID: {}"], []),
        (None, ["X-Request-ID: {}"], []),
    ],
)
def test_a_head_is_known_by_any_request_id(trusted: str | None, lines: list[str], kept: list[bytes]) -> None:
    networks = () if trusted is None else (ip_network(trusted),)
    heads = CountingHeads(replace(LIMITS, trusted_proxies=networks))
    found: list[bytes] = []
    for number in "12":
        asking = read(heads, introspection(HOUSE.access, *(line.format(number) for line in lines)))
        assert isinstance(asking, Request)
        found += [value for name, value in asking.headers if name == b"x-request-id"]
    assert (found, heads.judged) == (kept, 1)


def test_a_head_that_comes_again_brings_its_own_body() -> None:
    bad = "x" * len(HOUSE.access)
    lane, plain = at_both(
        [introspection(HOUSE.access), introspection(bad), introspection(HOUSE.access) + introspection(bad)]
    )
    assert lane == plain
    answers = [b'"active":true' in answer for answer in lane.data.split(b"HTTP/1.1 200")[1:]]
    assert answers == [True, False, True, False]


def test_a_known_head_means_the_same_again() -> None:
    fields = ("User-Agent: shop/1", "Accept-Language: zh-CN", "Traceparent: 00-a-b-01")
    first, second, heads = introspection(HOUSE.access, *fields), HOUSE.refresh, CountingHeads()
    earlier = read(heads, first)
    later = read(heads, first.replace(HOUSE.access.encode(), second.encode()))
    assert heads.judged == 1
    assert isinstance(earlier, Request)
    assert isinstance(later, Request)
    assert (later.method, later.path, later.source) == (earlier.method, earlier.path, earlier.source)
    assert (later.path, later.source) == ("/api/oauth2/introspect", "203.0.113.7")
    whole = [
        (b"content-type", b"application/x-www-form-urlencoded"),
        (b"authorization", HOUSE.basic.encode()),
        (b"user-agent", b"shop/1"),
        (b"accept-language", b"zh-CN"),
    ]
    assert later.sender == earlier.sender == sender_of(whole).drop_secrets()
    assert later.headers == [(b"accept-language", b"zh-CN"), (b"traceparent", b"00-a-b-01")]
    assert later.body == f"token={second}".encode()


@pytest.mark.parametrize("name", ["Traceparent", "Tracestate", "X-Real-IP", "X-Hosts"])
def test_fields_that_nothing_reads_may_change(name: str) -> None:
    heads, found = CountingHeads(), []
    for value in ("1", "2, host: other", "3"):
        for fields in ([f"{name}: {value}"], [f"{name.lower()}: {value}", f"{name.upper()}: {value}"]):
            asking = read(heads, introspection(HOUSE.access, *fields))
            assert isinstance(asking, Request)
            found.append(asking.headers)
    assert heads.judged == 1
    traced = name == "Traceparent"
    assert found[2:4] == [[(b"traceparent", b"2, host: other")] * times * traced for times in (1, 2)]


@pytest.mark.parametrize("name", sorted(READ_FIELDS - NOT_PLAIN))
def test_a_field_that_is_read_makes_another_head(name: bytes) -> None:
    heads = CountingHeads()
    for count, value in enumerate(("1", "2"), 1):
        read(heads, introspection(HOUSE.access, f"{name.decode()}: {value}"))
        assert heads.judged == count


@pytest.mark.parametrize("value", ["", " x", "x ", "\t", "\x7f", "\xe9"])
def test_a_field_that_is_not_plain_is_not_left_out(value: str) -> None:
    heads = CountingHeads()
    assert isinstance(read(heads, introspection(HOUSE.access)), Request)
    data = introspection(HOUSE.access, "X-A: %").replace(b"%", value.encode("latin-1"))
    assert read(heads, data) is Need.HANDOVER
    assert heads.judged == 2


def test_every_field_that_is_read_is_listed() -> None:
    """The fields are taken from the source of all modules that see a head."""
    modules = (sender, form, front_door_heads, source, scanner)
    named = {
        value
        for module in modules
        for value in re.findall(r'\bb"([a-z][a-z-]{3,})"', inspect.getsource(module))
    }
    values = {b"http", b"https", b"keep-alive", b"basic", b"charset", b"gzip", b"identity"}
    assert {each.encode() for each in named} - READ_FIELDS == values


def test_a_head_without_room_replaces_the_one_not_used_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary_net.lane.heads._MOST_KNOWN", 3)
    data, heads = introspection(HOUSE.access), CountingHeads()
    read(heads, data)
    others = [(data, ("203.0.113.8", 4711)), (data.replace(b"id.example", b"id.exampla"), CLIENT)]
    for count, (other, client) in enumerate(others, 2):
        found = read(heads, other, client)
        assert isinstance(found, Request)
        assert found.source == client[0]
        assert heads.judged == count
    read(heads, data)
    read(heads, data, ("203.0.113.9", 4711))
    assert heads.judged == 4
    read(heads, data)
    assert heads.judged == 4
    read(heads, *others[0])
    assert heads.judged == 5


def test_a_known_head_waits_for_its_body_and_one_that_came_before_its_body_is_read_once() -> None:
    data, heads = introspection(HOUSE.access), CountingHeads()
    head, _, body = data.partition(b"\r\n\r\n")
    for judged in (1, 1):
        parser = RequestParser(heads, CLIENT)
        for piece, needed in ((head, Need.HEAD), (b"\r\n\r\n", Need.BODY), (body[:3], Need.BODY)):
            parser.feed(piece)
            assert parser.next_event() is needed
        parser.feed(body[3:])
        found = parser.next_event()
        assert isinstance(found, Request)
        assert found.body == body
        assert heads.judged == judged


def test_of_the_secret_nothing_but_a_digest_is_kept() -> None:
    heads = HeadReader(LIMITS, LANGUAGES)
    read(heads, introspection(HOUSE.access))
    held: list[object] = [*heads._known.items()]
    texts: list[str] = []
    while held:
        each = held.pop()
        texts.append(str(each))
        held += [getattr(each, name) for name in getattr(each, "__slots__", ())]
        held += each if isinstance(each, list | tuple) else ()
    told = "\n".join(texts)
    assert "app" in told, "the client is known"
    for secret in (HOUSE.secret, HOUSE.basic.removeprefix("Basic "), HOUSE.access):
        assert secret not in told
