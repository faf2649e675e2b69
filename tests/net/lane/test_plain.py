"""The scanner: what it takes, h11 takes and reads the same; what it does not take is left alone."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary_net.lane.plain import PlainRequest, Torn, read_plain
from tests.net.lane.test_both_doors import ASKED, ELSEWHERE, SMUGGLED, conversations


@pytest.mark.parametrize("data", ASKED.values(), ids=ASKED)
def test_what_backends_send_is_plain(data: bytes) -> None:
    request = read_plain(data)
    assert isinstance(request, PlainRequest)
    assert request.end == len(data)


@pytest.mark.parametrize("data", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_belongs_elsewhere_is_not_plain(data: bytes) -> None:
    if data is ELSEWHERE["head too long"]:
        pytest.skip("plain, and refused by the rule for heads")
    assert read_plain(data) is None


def as_h11_reads(data: bytes) -> tuple[h11.Request, bytes, bytes]:
    """The request, its body, and what h11 leaves unread behind it."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    request = connection.next_event()
    assert isinstance(request, h11.Request)
    body = b""
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert connection.their_state is h11.DONE
    return request, body, connection.trailing_data[0]


def the_same(data: bytes, start: int) -> None:
    """What the scanner finds at `start` is what h11 finds there."""
    found = read_plain(data, start)
    if not isinstance(found, PlainRequest):
        return
    request, body, rest = as_h11_reads(data[start:])
    assert request.method == (b"GET" if found.operation is None else b"POST")
    assert request.target == found.path.encode()
    assert request.http_version == b"1.1"
    assert list(request.headers) == found.fields
    assert body == found.body
    assert rest == data[found.end :]
    the_same(data, found.end)


@given(conversations())
def test_whatever_the_scanner_takes_h11_reads_the_same(pieces: list[bytes]) -> None:
    the_same(b"".join(pieces), 0)


@given(
    data=st.sampled_from([*ASKED.values(), *SMUGGLED.values()]),
    at=st.integers(0, 400),
    damage=st.binary(max_size=3),
    removed=st.integers(0, 3),
)
def test_whatever_the_scanner_takes_of_damaged_bytes_h11_reads_the_same(
    data: bytes, at: int, damage: bytes, removed: int
) -> None:
    the_same(data[:at] + damage + data[at + removed :], 0)


def test_a_request_that_is_not_whole_says_how_much_it_needs() -> None:
    data = ASKED["active access token"]
    head_end = data.index(b"\r\n\r\n") + 4
    for cut in range(len(data)):
        assert read_plain(data[:cut]) == Torn(cut + 1 if cut < head_end else len(data))


def test_what_cannot_become_plain_is_not_waited_for() -> None:
    assert read_plain(b"POST /api/oauth2/authorize") is None
    assert read_plain(b"GET /") == Torn(6)
    assert read_plain(b"GET /x") is None
    assert read_plain(b"\r\n") is None


def test_requests_one_behind_the_other_are_read_one_by_one() -> None:
    first, second = ASKED["active access token"], ASKED["profile"]
    found = read_plain(first + second)
    assert isinstance(found, PlainRequest)
    assert found.end == len(first)
    found = read_plain(first + second, found.end)
    assert isinstance(found, PlainRequest)
    assert found.operation is None


def test_a_head_without_an_end_is_not_waited_for_beyond_what_any_may_have() -> None:
    beginning = b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nX: "
    assert read_plain(beginning.ljust(16 * 1024, b"a")) == Torn(16 * 1024 + 1)
    assert read_plain(beginning.ljust(16 * 1024 + 1, b"a")) is None
    whole = b"GET /api/oauth2/userinfo HTTP/1.1\r\nHost: a\r\n\r\n"
    assert read_plain(whole + beginning.ljust(16 * 1024, b"a"), len(whole)) is not None
