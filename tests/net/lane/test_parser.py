"""The parser without a socket: h11 reads each request that it takes in the same way, in whatever pieces it
comes; all other bytes are handed over as they are."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import h11
import pytest
from hypothesis import given, strategies as st

from ostiary_core.http import Request
from ostiary_core.texts import LANGUAGES
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.parser import Need, RequestParser
from ostiary_net.lane.scanner import read_plain_head
from tests.net.lane.test_both_doors import ASKED, ELSEWHERE, SMUGGLED, conversations
from tests.net.lane.twins import LIMITS

CLIENT = ("203.0.113.7", 4711)


def parser_of(*pieces: bytes) -> RequestParser:
    """Return a parser that was fed all these pieces."""
    parser = RequestParser(HeadReader(LIMITS, LANGUAGES), CLIENT)
    for piece in pieces:
        parser.feed(piece)
    return parser


def read_all(pieces: Sequence[bytes]) -> tuple[list[Request], bool, bytes]:
    """Assert that h11 finds every request that the parser finds."""
    parser, requests, is_handed_over = parser_of(), [], False
    for piece in pieces:
        parser.feed(piece)
        while not is_handed_over and isinstance(event := parser.next_event(), Request):
            requests.append(event)
        is_handed_over = is_handed_over or event is Need.HANDOVER
    return requests, is_handed_over, parser.take_unread()


@pytest.mark.parametrize("data", ELSEWHERE.values(), ids=ELSEWHERE)
def test_requests_for_the_application_are_handed_over_untouched(data: bytes) -> None:
    parser = parser_of(data)
    assert parser.next_event() is Need.HANDOVER
    assert parser.next_event() is Need.HANDOVER, "asked again, it says the same"
    assert parser.take_unread() == data
    parser.feed(ASKED["profile"])
    assert isinstance(parser.next_event(), Request), "and what follows is a new beginning"


def test_a_server_under_a_path_has_its_operations_there_alone() -> None:
    heads = HeadReader(replace(LIMITS, public_path="/auth"), LANGUAGES)
    for data, prefix in product(ASKED.values(), (b"/auth", b"", b"/auth/auth")):
        expected = parser_of(data).next_event() if prefix == b"/auth" else Need.HANDOVER
        sent = data.replace(b" /api/", b" %s/api/" % prefix)
        for cut in (12, 25, len(sent) - 1):
            parser = RequestParser(heads, CLIENT)
            parser.feed(sent[:cut])
            assert (event := parser.next_event()) in (Need.HEAD, Need.BODY, expected)
            parser.feed(sent[cut:])
            assert event is Need.HANDOVER or parser.next_event() == expected


def as_h11_reads(data: bytes) -> tuple[h11.Request, bytes, bytes]:
    """The request, its body, and what h11 leaves unread behind it; one empty line before is ignored."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data.removeprefix(b"\r\n"))
    request = connection.next_event()
    assert isinstance(request, h11.Request)
    body = b""
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert connection.their_state is h11.DONE
    return request, body, connection.trailing_data[0]


def assert_h11_reads_the_same(data: bytes) -> None:
    """Every request that the parser finds is what h11 finds there."""
    parser = parser_of(data)
    while isinstance(found := parser.next_event(), Request):
        request, body, rest = as_h11_reads(data)
        assert (request.method, request.target) == (found.method.encode(), found.path.encode())
        assert request.http_version == b"1.1"
        head = data.removeprefix(b"\r\n")
        plain = read_plain_head(head[: head.index(b"\r\n\r\n") + 4])
        assert plain is not None
        assert list(request.headers) == plain.fields
        assert body == found.body
        assert rest == data[len(data) - len(rest) :]
        data = rest
    assert parser.take_unread() == data


@given(conversations())
def test_whatever_the_parser_takes_h11_reads_the_same(pieces: list[bytes]) -> None:
    assert_h11_reads_the_same(b"".join(pieces))


@given(
    data=st.sampled_from([*ASKED.values(), *SMUGGLED.values()]),
    at=st.integers(0, 400),
    damage=st.binary(max_size=3),
    removed=st.integers(0, 3),
)
def test_what_the_parser_takes_h11_reads_the_same(data: bytes, at: int, damage: bytes, removed: int) -> None:
    assert_h11_reads_the_same(data[:at] + damage + data[at + removed :])


@given(conversations())
def test_a_stream_in_pieces_gives_the_same_events_as_whole(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    requests, is_handed_over, unread = read_all([data])
    for cut in (pieces, [data[at : at + 1] for at in range(len(data))]):
        assert read_all(cut) == (requests, is_handed_over, unread)


def test_a_request_that_is_not_whole_is_waited_for() -> None:
    data = ASKED["active access token"]
    head_end = data.index(b"\r\n\r\n") + 4
    for cut in range(len(data)):
        parser = parser_of(data[:cut])
        assert parser.next_event() is (
            Need.REQUEST if not cut else Need.HEAD if cut < head_end else Need.BODY
        )
        assert parser.has_unread == (cut > 0)
        assert parser.take_unread() == data[:cut]


def test_a_beginning_that_cannot_become_plain_is_handed_over_at_once() -> None:
    assert parser_of(b"POST /api/oauth2/authorize").next_event() is Need.HANDOVER
    assert parser_of(b"GET /").next_event() is Need.HEAD
    assert parser_of(b"GET /x").next_event() is Need.HANDOVER
    assert parser_of(b"\r\n\r").next_event() is Need.HANDOVER
    assert parser_of(b"\r\n").next_event() is Need.REQUEST


def test_a_head_is_waited_for_up_to_the_greatest_length_of_any() -> None:
    beginning = b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nX: "
    assert parser_of(beginning.ljust(16 * 1024, b"a")).next_event() is Need.HEAD
    assert parser_of(beginning.ljust(16 * 1024 + 1, b"a")).next_event() is Need.HANDOVER
    whole = b"GET /api/oauth2/userinfo HTTP/1.1\r\nHost: a\r\n\r\n"
    parser = parser_of(whole, beginning.ljust(16 * 1024, b"a"))
    assert isinstance(parser.next_event(), Request)
    assert parser.next_event() is Need.HEAD
