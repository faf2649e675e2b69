"""What the lane remembers of heads: they mean the same again, and nothing of a secret is kept."""

from ostiary_net.lane.calls import KnownHeads, judged
from ostiary_net.lane.plain import PlainRequest, read_plain
from tests.net.lane.twins import HOUSE, RULES, at_both, request

PEER = b"203.0.113.7"
CLIENT = ("203.0.113.7", 4711)


def asked(token: str, *fields: tuple[str, str]) -> bytes:
    return request("/api/oauth2/introspect", f"token={token}", *fields)


def known(data: bytes) -> KnownHeads:
    """The head of one request."""
    heads, plain = KnownHeads(), read_plain(data)
    assert isinstance(plain, PlainRequest)
    call = judged(plain, RULES, CLIENT)
    assert call is not None
    heads.keep(call, data[: -len(plain.body)], PEER)
    return heads


def test_a_head_that_comes_again_brings_its_own_body() -> None:
    wrong = "x" * len(HOUSE.access)
    lane, plain = at_both([asked(HOUSE.access), asked(wrong), asked(HOUSE.access) + asked(wrong)])
    assert lane == plain
    answers = [b'"active":true' in answer for answer in lane.data.split(b"HTTP/1.1 200")[1:]]
    assert answers == [True, False, True, False]


def test_it_means_what_it_meant() -> None:
    first, second = asked(HOUSE.access, ("User-Agent", "shop/1"), ("Accept-Language", "zh-CN")), HOUSE.refresh
    plain = read_plain(first)
    assert isinstance(plain, PlainRequest)
    judgement = judged(plain, RULES, CLIENT)
    assert judgement is not None
    later = first.replace(HOUSE.access.encode(), second.encode())
    call = known(first).recall(b"..." + later + b"more", 3, PEER)
    assert call is not None
    assert (call.operation, call.path, call.source) == (judgement.operation, judgement.path, judgement.source)
    assert call.sender == judgement.sender
    assert call.body == f"token={second}".encode()
    assert call.end == 3 + len(later)


def test_another_peer_another_head_and_a_body_that_is_not_there_are_not_known() -> None:
    data = asked(HOUSE.access)
    heads = known(data)
    assert heads.recall(data, 0, b"203.0.113.8") is None
    assert heads.recall(data.replace(b"id.example", b"id.exampla"), 0, PEER) is None
    for end in range(len(data)):
        assert heads.recall(data[:end], 0, PEER) is None


def test_of_the_secret_nothing_but_a_digest_is_kept() -> None:
    heads = known(asked(HOUSE.access))
    (kept,) = heads._known.items()
    held, texts = [*kept], []
    while held:
        each = held.pop()
        texts.append(str(each))
        held += [getattr(each, name) for name in getattr(each, "__slots__", ())]
        held += each if isinstance(each, list | tuple) else ()
    told = "\n".join(texts)
    assert "app" in told, "the client is known"
    for secret in (HOUSE.secret, HOUSE.basic.removeprefix("Basic "), HOUSE.access):
        assert secret not in told
